"""Whether the zero that stands in for a field leaves anything out.

`row.get("completion_tokens", 0)` is no mistake where the row is a sum already, where
what lacks the field was sorted out before, or where the field is always there.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from otel_specdecode.lint._fields import default_of, field_name, is_zero, owner_of
from otel_specdecode.lint._guards import is_guarded
from otel_specdecode.lint._naming import names_in, reads_place, same_place
from otel_specdecode.lint._written import Written
from otel_specdecode.lint.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint._records import Records
    from otel_specdecode.lint.source import Source

_ROLLUP = re.compile(r"(?:^|_)requests?(?:_count)?$|^spend$")
"""Fields of a row that is a sum over requests already."""
_TOTALS = frozenset(
    "total totals cumulative accumulated aggregate aggregated sums running "
    "baseline prior previous prev existing merged combined overall lifetime acc agg "
    "tally".split()
)
"""What the program summed up itself, or where it stood before."""

_ENGINES, _COUNTS = "meta_info", frozenset({"completion_tokens"})
"""What SGLang says of an answer, and what it always says."""


class Presence:
    """What a file says of its fields: declared, filtered, summed up before."""

    def __init__(self, source: Source, records: Records) -> None:
        self._source = source
        self._records = records
        self._written = Written(source, records)

    def is_there(self, node: ast.expr, read: ast.expr) -> bool:
        """Whether the 0 that an expression replaces a field by leaves nothing out.

        Args:
            node: the whole expression.
            read: the field in it.
        """
        if self._is_called_a_total(node) or self._starts_a_sum(node):
            return True
        if self._records.says_there(read) or field_name(read) in self._sql_sums:
            return True
        receiver, field = _receiver(node), field_name(read)
        owner = owner_of(read)
        if owner is not None and field_name(owner) == _ENGINES and field in _COUNTS:
            return True
        if owner is not None and self._written.always_has(
            owner,
            field,
            is_number=default_of(node) is None,
            is_filled=is_guarded(self._source, node, field_name(owner)),
        ):
            return True
        return receiver is not None and (
            receiver in self._rollups or self._is_filtered(node, receiver, field)
        )

    @cached_property
    def _sql_sums(self) -> set[str]:
        """Columns that SQL sums up: `func.sum(Call.tokens).label("output_tokens")`."""
        return {
            call.args[0].value
            for call in self._source.calls.get("label", [])
            if isinstance(call.func, ast.Attribute)
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and isinstance(call.args[0].value, str)
            and "sum" in names_in(call.func.value)
        }

    @cached_property
    def _rollups(self) -> set[str | None]:
        """Variables that are rows of a table with a number of requests beside."""
        return {
            _receiver(node)
            for node in self._source.nodes(ast.Call, ast.BoolOp)
            if _ROLLUP.search(_zeroed_field(node))
        }

    def _is_called_a_total(self, node: ast.expr) -> bool:
        """Whether what lacks the field is a sum of the program's own."""
        field = _field_of(node)
        if isinstance(field, ast.Call) and isinstance(field.func, ast.Attribute):
            field = field.func
        owner = getattr(field, "value", None)
        if not isinstance(owner, ast.expr):
            return False
        names = {field_name(owner)}
        if isinstance(owner, ast.Name):
            for iterable in self._records.loops_over(owner):
                names |= names_in(iterable)
        return any(not _TOTALS.isdisjoint(words_of(name)) for name in names)

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        outer = self._source.parent(node)
        while outer is not None and not isinstance(
            outer, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            yield outer
            yield from getattr(outer, "generators", ())
            outer = self._source.parent(outer)

    def _starts_a_sum(self, node: ast.expr) -> bool:
        """Whether the 0 is what a sum begins with: `d[k] = d.get(k, 0) + n`.

        Or one that the largest so far is kept against: `n = max(n, u.get(k, 0))`.
        """
        field = _field_of(node)
        largest: list[ast.expr] = []
        for outer in self._around(node):
            if isinstance(outer, ast.Assign):
                return field is not None and any(
                    reads_place(field, target)
                    or any(same_place(each, target) for each in largest)
                    for target in outer.targets
                )
            if isinstance(outer, ast.Call) and field_name(outer.func) == "max":
                largest = outer.args
            if not isinstance(outer, ast.BinOp | ast.Call):
                return False
            if isinstance(outer, ast.BinOp) and not isinstance(outer.op, ast.Add):
                return False
        return False

    def _is_filtered(self, node: ast.AST, receiver: str, field: str) -> bool:
        """Whether it comes from a list of only those that have the field."""
        outer = self._source.parent(node)
        while outer is not None and not isinstance(outer, ast.stmt):
            for part in getattr(outer, "generators", ()):
                if isinstance(part.target, ast.Name) and part.target.id == receiver:
                    return self._keeps_only(part, field)
            outer = self._source.parent(outer)
        return False

    def _keeps_only(self, part: ast.comprehension, field: str) -> bool:
        tests = list(part.ifs)
        if isinstance(part.iter, ast.Name):
            for value in self._source.bindings.values_of(part.iter):
                for inner in getattr(value, "generators", ()):
                    tests += inner.ifs
        parts = [
            each
            for test in tests
            for each in (test.values if isinstance(test, ast.BoolOp) else [test])
        ]
        return any(
            isinstance(test, ast.Compare)
            and isinstance(test.ops[0], ast.IsNot)
            and field_name(test.left) == field
            for test in parts
        )


def _field_of(node: ast.AST) -> ast.expr | None:
    """The field that an expression replaces by 0: `r.x` or `r.get("x", 0)`."""
    match node:
        case ast.Call() if is_zero(default_of(node)):
            return node
        case ast.BoolOp(op=ast.Or(), values=[field, last]) if is_zero(last):
            return field
        case ast.IfExp(body=field, orelse=last) if is_zero(last):
            return field
        case _:
            return None


def _zeroed_field(node: ast.AST) -> str:
    field = _field_of(node)
    return field_name(field) if field is not None else ""


def _receiver(node: ast.AST) -> str | None:
    """The variable whose field is replaced by 0."""
    field = _field_of(node)
    if isinstance(field, ast.Call):
        field = field.func
    match field:
        case (
            ast.Attribute(value=ast.Name(id=name))
            | ast.Subscript(value=ast.Name(id=name))
        ):
            return name
        case _:
            return None
