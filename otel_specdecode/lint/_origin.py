"""Whether a field is one of a server's answer, or of a record of the program's own.

`usage.completion_tokens` is what a server said, or did not say. `row["output_tokens"]`
may be a row that the program itself wrote, with every key in it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint._fields import field_name, owner_of
from otel_specdecode.lint.words import words_of

if TYPE_CHECKING:
    from otel_specdecode.lint._records import Records
    from otel_specdecode.lint.source import Source

WIRE_FIELDS = frozenset(
    {"num_accepted_draft_tokens", "num_draft_tokens", "num_spec_steps"}
    | {"draft_n", "draft_n_accepted", "spec_accept_rate", "spec_accept_length"}
    | {"spec_num_correct_drafts", "spec_num_proposed_drafts", "spec_verify_ct"}
    | {"draft_acceptance_rate", "mean_acceptance_length"}
    | {"accepted_prediction_tokens", "rejected_prediction_tokens"}
)
"""Names that servers gave: who reads them reads an answer."""

_ANSWERS = frozenset(
    "usage usages response responses resp resps completion completions acompletion "
    "chunk chunks timings answer answers reply replies".split()
)
_OWN = frozenset(
    "row rows log logs record records stats statistics summary summaries daily "
    "monthly hourly weekly history report reports ledger db budget by session "
    "sessions per counter counters tracker bucket buckets rollup".split()
)
"""With one of these a name says what the program wrote down of answers."""
_DECODERS = frozenset(
    {"loads", "dict", "vars", "asdict", "model_dump", "to_dict", "cast", "getattr"}
)
_ORDERS = frozenset({"enumerate", "zip", "list", "sorted", "reversed"})
_DEPTH = 4
_MOST = 8
"""Expressions that a name is followed to."""


class Origin:
    """Where the objects of a file come from, as far as names and calls tell."""

    def __init__(self, source: Source, records: Records) -> None:
        self._source = source
        self._records = records

    def is_answer(self, read: ast.expr) -> bool:
        """Whether a field is one that a server sends, or that is declared optional."""
        if field_name(read) in WIRE_FIELDS or self._records.says_there(read) is False:
            return True
        owner = owner_of(read)
        return owner is not None and self._is_evident(owner)

    def _is_evident(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether an expression is an answer, part of one, or a list of them."""
        if depth > _DEPTH:
            return False
        match node:
            case ast.Name(id=name):
                return _says_answer(name) or self._is_bound_to_one(node, depth + 1)
            case ast.Subscript(value=inner, slice=key) if not isinstance(
                key, ast.Constant
            ) and _is_usage(inner):
                return False  # a table of the program's own: `usage[user]`
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                own = _says_answer(field_name(node))
                return own or self._is_evident(inner, depth)
            case ast.Await(value=inner) | ast.NamedExpr(value=inner):
                return self._is_evident(inner, depth)
            case ast.BoolOp(values=parts):
                return any(self._is_evident(part, depth) for part in parts)
            case ast.IfExp(body=body, orelse=orelse):
                return self._is_evident(body, depth) or self._is_evident(orelse, depth)
            case ast.Call():
                return self._is_made_by(node, depth)
            case _:
                return False

    def _is_made_by(self, call: ast.Call, depth: int) -> bool:
        function, name = call.func, field_name(call.func)
        if isinstance(function, ast.Attribute) and name in {"items", "values"}:
            return not _is_usage(function.value) and self._is_evident(
                function.value, depth
            )
        if _says_answer(name) or _says_answer(field_name(call)):
            return True
        if name in _DECODERS | _ORDERS:
            if any(self._is_evident(each, depth + 1) for each in call.args):
                return True
        elif name == "json" and not call.args:
            return True
        return isinstance(function, ast.Attribute) and self._is_evident(
            function.value, depth
        )

    def _is_bound_to_one(self, name: ast.Name, depth: int) -> bool:
        """Whether a variable is given an answer, or says so by its annotation."""
        return (
            any(_says_answer(each) for each in self._records.classes_of(name))
            or any(
                self._is_evident(each, depth) for each in self._records.loops_over(name)
            )
            or any(
                self._is_evident(each, depth)
                for each in self._source.bindings.values_of(name)[:_MOST]
            )
        )


def _is_usage(node: ast.expr) -> bool:
    return not {"usage", "usages"}.isdisjoint(words_of(field_name(node)))


def _says_answer(name: str) -> bool:
    """Whether an identifier names what a server sent."""
    words = frozenset(words_of(name))
    return name == "llm_output" or (
        not _ANSWERS.isdisjoint(words) and _OWN.isdisjoint(words)
    )
