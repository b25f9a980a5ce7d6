"""Whether the program itself made an object, and always with a certain field.

`sum(r.get("completion_tokens", 0) for r in results)` leaves nothing out where each of
`results` is a dict that a function of the file writes out with that key.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from otel_specdecode.lint._fields import field_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_specdecode.lint._records import Records
    from otel_specdecode.lint.source import Source

_NUMBERS = frozenset({"int", "float", "len", "sum", "round", "abs", "max", "min"})
_ORDERS = frozenset({"list", "sorted", "reversed", "tuple"})
_DEPTH = 5
_MOST = 8
"""Expressions that a name is followed to: what has more is not told."""


class Written:
    """What a file writes out: dicts, objects of classes, and lists of them."""

    def __init__(self, source: Source, records: Records) -> None:
        self._source = source
        self._records = records

    def always_has(
        self,
        value: ast.expr,
        field: str,
        *,
        is_number: bool,
        is_filled: bool = False,
        depth: int = 0,
    ) -> bool:
        """Whether an object is never without a field.

        Args:
            value: the expression that is the object.
            field: key or attribute.
            is_number: that field must not be `None` either.
            is_filled: the object is known not to be empty or `None`.
            depth: how many names were followed so far.
        """
        match value:
            case ast.Dict(keys=keys, values=values):
                return any(
                    isinstance(k, ast.Constant)
                    and k.value == field
                    and (not is_number or self._is_number(v))
                    for k, v in zip(keys, values, strict=True)
                )
            case ast.Call(func=made, keywords=keywords) if _makes_a_record(
                made
            ) and any(k.arg == field for k in keywords):
                given = [k.value for k in keywords if k.arg == field]
                return not is_number or all(map(self._is_number, given))
            case _:
                parts = self._may_be(value) if depth < _DEPTH else []
                if is_filled:
                    parts = [part for part in parts if not _is_empty(part)]
                return 0 < len(parts) <= _MOST and all(
                    self.always_has(part, field, is_number=is_number, depth=depth + 1)
                    for part in parts
                )

    def _may_be(self, value: ast.expr) -> list[ast.expr]:
        """What a value is one of; empty where that cannot be told."""
        match value:
            case ast.Name(id=name):
                return (
                    self._looped_over(value)
                    or self._source.bindings.values_of(value)
                    or self._arguments(value)
                    or self._given.get(name, [])
                )
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._stored.get(name, [])
            case ast.Await(value=inner) | ast.NamedExpr(value=inner):
                return [inner]
            case ast.IfExp(body=body, orelse=orelse):
                return [body, orelse]
            case ast.Subscript(value=inner, slice=ast.Constant(value=int())):
                return self._entries(inner)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return self._returned.get(name, [])
            case _:
                return []

    def _looped_over(self, name: ast.Name) -> list[ast.expr]:
        """What a variable of a loop is one of."""
        for iterable in self._records.loops_over(name):
            return self._entries(iterable)
        return []

    def _entries(self, value: ast.expr, depth: int = 0) -> list[ast.expr]:
        """What the entries of a list are; empty where that cannot be told."""
        match value:
            case ast.List(elts=entries) | ast.Tuple(elts=entries):
                return entries
            case ast.ListComp(elt=entry) | ast.GeneratorExp(elt=entry):
                return [entry]
            case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _ORDERS:
                return self._entries(inner, depth)
            case ast.Name(id=name) if not self._is_extended(name):
                appended = self._appended.get(name, [])
                lists = self._source.bindings.values_of(value)
                found = self._of_all(lists, depth) if lists else None
                return appended + found if found is not None else []
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return self._of_all(self._returned.get(name, []), depth) or []
            case _:
                return []

    def _of_all(self, lists: Iterable[ast.expr], depth: int) -> list[ast.expr] | None:
        """The entries of several lists; `None` where one of them is not known."""
        entries: list[ast.expr] = []
        for each in lists:
            if isinstance(each, ast.List) and not each.elts:
                continue
            found = self._entries(each, depth + 1) if depth < _DEPTH else []
            if not found:
                return None
            entries += found
        return entries

    def _is_extended(self, name: str) -> bool:
        return any(
            isinstance(call.func, ast.Attribute) and field_name(call.func.value) == name
            for method in ("extend", "insert")
            for call in self._source.calls.get(method, [])
        )

    def _arguments(self, name: ast.Name) -> list[ast.expr]:
        """What the file's calls of a function hand to this parameter of it."""
        function = self._source.bindings.scope_of(name)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return []
        named = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        if name.id not in named:
            return []
        found: list[ast.expr] = []
        for call in self._source.calls.get(function.name, []):
            place = named.index(name.id)
            if isinstance(call.func, ast.Attribute) and named[0] in {"self", "cls"}:
                place -= 1
            given = [k.value for k in call.keywords if k.arg == name.id]
            given += call.args[place : place + 1]
            if not given:
                return []
            found += given
        return found

    def _is_number(self, value: ast.expr, depth: int = 0) -> bool:
        """Whether a value is a number and never `None`."""
        match value:
            case ast.Constant(value=int() | float()) | ast.BinOp():
                return True
            case ast.Call(func=ast.Name(id=name)):
                return name in _NUMBERS
            case ast.BoolOp(op=ast.Or(), values=[*_, last]):
                return self._is_number(last, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return self._is_number(body, depth) and self._is_number(orelse, depth)
            case ast.Name() if depth < _DEPTH:
                values = self._source.bindings.values_of(value)
                return 0 < len(values) <= _MOST and all(
                    self._is_number(each, depth + 1) for each in values
                )
            case _:
                return False

    @cached_property
    def _given(self) -> dict[str, list[ast.expr]]:
        """What the file assigns to variables of each name, in any function."""
        return self._assigned(ast.Name)

    @cached_property
    def _stored(self) -> dict[str, list[ast.expr]]:
        """What methods of the file assign to attributes of each name."""
        return self._assigned(ast.Attribute)

    def _assigned(self, kind: type[ast.expr]) -> dict[str, list[ast.expr]]:
        values: dict[str, list[ast.expr]] = {}
        for node in self._source.nodes(ast.Assign):
            for target in node.targets:
                if isinstance(target, kind):
                    values.setdefault(field_name(target), []).append(node.value)
        for node in self._source.nodes(ast.AnnAssign):
            if isinstance(node.target, kind) and node.value is not None:
                values.setdefault(field_name(node.target), []).append(node.value)
        return values

    @cached_property
    def _appended(self) -> dict[str, list[ast.expr]]:
        """What is appended to lists of each name."""
        values: dict[str, list[ast.expr]] = {}
        for call in self._source.calls.get("append", []):
            if isinstance(call.func, ast.Attribute) and call.args:
                name = field_name(call.func.value)
                values.setdefault(name, []).append(call.args[0])
        return values

    @cached_property
    def _returned(self) -> dict[str, list[ast.expr]]:
        """What the functions of each name return."""
        values: dict[str, list[ast.expr]] = {}
        for node in self._source.nodes(ast.Return):
            outer = self._source.bindings.scope_of(node)
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.value or ast.Constant(None)
                values.setdefault(outer.name, []).append(given)
        return values


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.Dict(keys=[]) | ast.Constant(value=None):
            return True
        case _:
            return False


def _makes_a_record(function: ast.expr) -> bool:
    name = field_name(function)
    return name[:1].isupper() or name == "dict"
