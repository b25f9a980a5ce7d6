"""Fields of usage and acceptance whose absence is turned into 0 on the way to a number.

What SPD005 and SPD904 share; they differ in where the field comes from.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from otel_specdecode.lint._fields import default_of, field_name, is_zero
from otel_specdecode.lint._guards import is_field_replaced, is_guarded, is_replaced
from otel_specdecode.lint._naming import names_in
from otel_specdecode.lint._origin import Origin
from otel_specdecode.lint._presence import Presence
from otel_specdecode.lint._records import Records, reads_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_specdecode.lint.source import Source

FIELDS = frozenset(
    {"completion_tokens", "output_tokens", "num_accepted_draft_tokens"}
    | {"num_draft_tokens", "num_spec_steps", "draft_acceptance_rate"}
    | {"mean_acceptance_length", "accepted_draft_tokens", "acceptance_rate"}
    | {"acceptance_length", "num_accepted_tokens", "draft_n", "draft_n_accepted"}
    | {"spec_accept_rate", "spec_accept_length", "spec_num_correct_drafts"}
    | {"spec_num_proposed_drafts", "spec_verify_ct"}
    | {"accepted_prediction_tokens", "rejected_prediction_tokens"}
)
_PARTS = ("_tokens", "accept", "draft_n", "spec_")
"""Each field has one of these: fewer words to look for where there is none."""
_ZEROES = re.compile(r"\b0(?:\.0*)?\b")
_RECORDERS = frozenset(
    {"record", "observe", "inc", "set", "add", "set_attribute", "gauge", "histogram"}
    | {
        "increment",
        "incr",
        "log_metric",
        "log_metrics",
        "add_scalar",
        "labels",
        "count",
    }
)
_AGGREGATES = frozenset(
    {"sum", "fsum", "mean", "fmean", "average", "nanmean", "median", "quantiles"}
    | {"percentile", "quantile", "stdev", "std", "cumsum"}
)
_WRAPPERS = frozenset({"int", "float", "round", "max", "min", "abs"})
_DEPTH = 4


def may_apply(text: str) -> bool:
    """Whether a source can take such a field as zero; cheap, no parsing."""
    # Substrings first: an alternation of many words is ten times slower.
    return (
        any(part in text for part in _PARTS)
        and any(name in text for name in FIELDS)
        and bool(_ZEROES.search(text))
    )


@dataclass(frozen=True, slots=True)
class Zero:
    """A 0 in the place of a field that is missing.

    Attributes:
        node: the expression that is 0 where the field is missing.
        field: its name.
    """

    node: ast.expr
    field: str


def zeroes(source: Source, *, of_answers: bool) -> Iterator[Zero]:
    """Fields whose absence becomes 0 and reaches a rate, a sum or a metric.

    Args:
        source: the file.
        of_answers: those of a server's answers; else those of all other records,
            where the expression says that one may lack it.
    """
    flow = _Flow(source)
    records = Records(source)
    presence, origin = Presence(source, records), Origin(source, records)
    for node in source.nodes(ast.Call, ast.BoolOp, ast.IfExp):
        read = _taken_as_zero(node)
        if (
            read is not None
            and origin.is_answer(read) is of_answers
            and (of_answers or _says_missing(node))
            and not presence.is_there(node, read)
            and flow.reaches_number(node)
        ):
            yield Zero(node, field_name(read))
    for attempt in source.nodes(ast.Try):
        for value, read in _zeroed_in_handler(attempt):
            if origin.is_answer(read) is of_answers and flow.reaches_number(value):
                yield Zero(value, field_name(read))


def _says_missing(node: ast.expr) -> bool:
    """Whether the expression itself says that the field may be `None`.

    `row.get(field, 0)` may be no more than a habit; `row.get(field) or 0` is not.
    """
    match node:
        case ast.IfExp(test=ast.Call(func=ast.Name(id="hasattr"))):
            return False
        case ast.BoolOp() | ast.IfExp():
            return True
        case _:
            return False


def _taken_as_zero(node: ast.AST) -> ast.expr | None:
    """The field that an expression replaces by 0, if it is one of those."""
    match node:
        case ast.Call() if is_zero(default_of(node)):
            return _known(node)
        case ast.BoolOp(op=ast.Or(), values=[*fields, last]) if is_zero(last):
            return next((r for field in fields if (r := _known(field))), None)
        case ast.IfExp(test=test, body=body, orelse=orelse) if is_zero(orelse):
            return _known(body) if _is_about(test, body) else None
        case ast.IfExp(test=test, body=body, orelse=orelse) if is_zero(body):
            return _known(orelse) if _is_about(test, orelse) else None
        case _:
            return None


def _is_about(test: ast.expr, read: ast.expr) -> bool:
    """Whether a test asks for the field or its owner, not for something else."""
    return not names_in(test).isdisjoint(names_in(read) - {"self"})


def _known(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Name():
            return None
        case ast.Call(func=ast.Name(id=wrapper), args=[inner, *_]) if (
            wrapper in _WRAPPERS
        ):
            return _known(inner)
        case ast.BoolOp(op=ast.And(), values=[*_, inner]):
            return _known(inner)
        case _:
            return node if field_name(node) in FIELDS else None


def _zeroed_in_handler(node: ast.Try) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Zeros that a handler gives to the name which the body reads a field into."""
    fields = {
        target.id: read
        for statement in node.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and (read := _known(statement.value))
    }
    for handler in node.handlers:
        for statement in handler.body:
            if isinstance(statement, ast.Assign) and is_zero(statement.value):
                for target in statement.targets:
                    if isinstance(target, ast.Name) and target.id in fields:
                        yield statement.value, fields[target.id]


class _Flow:
    """Where a value goes: up the tree, and on through the names it is given."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def _reads(self) -> dict[str, list[ast.expr]]:
        """Where each name, attribute or key is read."""
        found: dict[str, list[ast.expr]] = {}
        for node in self._source.nodes(
            ast.Name, ast.Attribute, ast.Subscript, ast.Call
        ):
            stored = isinstance(getattr(node, "ctx", None), ast.Store)
            if not stored and (name := field_name(node)):
                found.setdefault(name, []).append(node)
        return found

    def reaches_number(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether a value goes into a rate, a sum or a metric."""
        child: ast.AST = node
        parent = self._source.parent(child)
        while parent is not None:
            verdict = self._step(child, parent, depth)
            if verdict is not None:
                return verdict and not self._is_guarded(node, depth)
            child, parent = parent, self._source.parent(parent)
        return False

    def _is_guarded(self, node: ast.expr, depth: int) -> bool:
        field = _taken_as_zero(node)
        name = field_name(field or node)
        # What is read after that is a 0 that is there.
        is_field = field is not None and depth == 0
        return bool(name) and is_guarded(self._source, node, name, is_field=is_field)

    def _step(self, child: ast.AST, parent: ast.AST, depth: int) -> bool | None:
        """What one step up says: yes, no, or go on (`None`)."""
        match parent:
            case ast.BinOp(op=ast.Div() | ast.FloorDiv()):
                return True
            case ast.AugAssign(op=ast.Add(), target=target):
                return not is_replaced(self._source, target)
            case ast.BoolOp(op=ast.Or(), values=values) if child is not values[-1]:
                return False  # where it is 0, the next one counts
            case ast.Call(func=function, args=args) if child is not function:
                into = self._into_call(function)
                if into is False and depth < _DEPTH:
                    return self._into_parameter(function, _position(child, args), depth)
                return into
            case ast.Compare() | ast.FormattedValue() | ast.Assert():
                return False
            case ast.IfExp(test=test) | ast.If(test=test) if child is test:
                return False
            case ast.While() | ast.Expr() | ast.FunctionDef() | ast.Module():
                return False
            case ast.Assign(targets=targets):
                return any(self._from_target(target, depth) for target in targets)
            case ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
                return self._from_target(target, depth)
            case ast.Return():
                return self._from_return(parent, depth)
            case ast.Dict(keys=keys, values=values):
                return self._from_dict(child, keys, values, depth)
            case ast.keyword(arg=str(name)) if depth < _DEPTH:
                call = self._source.parent(parent)
                if not isinstance(call, ast.Call) or is_field_replaced(
                    self._source, name
                ):
                    return False
                into = self._into_call(call.func)
                return (
                    bool(into)
                    or self._into_parameter(call.func, name, depth)
                    or self._read_elsewhere(name, depth, _reads_field)
                )
            case _:
                return None

    def _into_call(self, function: ast.expr) -> bool | None:
        name = field_name(function)
        if name in _AGGREGATES:
            return True
        if isinstance(function, ast.Attribute) and name in _RECORDERS:
            return True
        return None if name in _WRAPPERS else False

    def _into_parameter(self, function: ast.expr, place: int | str, depth: int) -> bool:
        """Follow an argument into the functions of the file that have this name."""
        name = field_name(function)
        is_method = isinstance(function, ast.Attribute)
        for node in self._source.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
            if node.name != name:
                continue
            named = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
            if isinstance(place, int):
                shifted = place + (is_method and named[:1] in (["self"], ["cls"]))
                if shifted >= len(named):
                    continue
                parameter = named[shifted]
            else:
                parameter = place
            reads = [
                read
                for read in self._reads.get(parameter, [])
                if isinstance(read, ast.Name)
                and self._source.bindings.is_within(read, node)
            ]
            if (
                reads
                and not is_replaced(self._source, reads[0])
                and any(self.reaches_number(read, depth + 1) for read in reads)
            ):
                return True
        return False

    def _from_target(self, target: ast.expr, depth: int) -> bool:
        if is_replaced(self._source, target):
            return False
        if isinstance(target, ast.Name):
            return self._read_here(target, depth)
        name = field_name(target)
        how = reads_key if isinstance(target, ast.Subscript) else _reads_attribute
        return bool(name) and self._read_elsewhere(name, depth, how)

    def _from_return(self, node: ast.AST, depth: int) -> bool:
        outer: ast.AST | None = node
        while outer is not None and not isinstance(
            outer, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            outer = self._source.parent(outer)
        if outer is None or depth >= _DEPTH:
            return False
        calls = self._source.calls.get(outer.name, [])
        return any(self.reaches_number(call, depth + 1) for call in calls)

    def _from_dict(
        self,
        child: ast.AST,
        keys: list[ast.expr | None],
        values: list[ast.expr],
        depth: int,
    ) -> bool:
        for key, value in zip(keys, values, strict=True):
            if value is child and isinstance(key, ast.Constant):
                return self._read_elsewhere(str(key.value), depth, reads_key)
        return False

    def _read_here(self, target: ast.Name, depth: int) -> bool:
        """Follow a variable through its own function, not others that use its name."""
        scope = self._source.bindings.scope_of(target)
        return depth < _DEPTH and any(
            isinstance(read, ast.Name)
            and self._source.bindings.is_within(read, scope)
            and self.reaches_number(read, depth + 1)
            for read in self._reads.get(target.id, [])
        )

    def _read_elsewhere(
        self, name: str, depth: int, how: Callable[[ast.expr], bool]
    ) -> bool:
        """Follow what is written under a name to where that is read in the same way."""
        if depth >= _DEPTH:
            return False
        reads = filter(how, self._reads.get(name, []))
        return any(self.reaches_number(read, depth + 1) for read in reads)


def _position(child: ast.AST, args: list[ast.expr]) -> int:
    return next(number for number, each in enumerate(args) if each is child)


def _reads_attribute(read: ast.expr) -> bool:
    return isinstance(read, ast.Attribute) or (
        isinstance(read, ast.Call) and isinstance(read.func, ast.Name)
    )


def _reads_field(read: ast.expr) -> bool:
    return not isinstance(read, ast.Name)
