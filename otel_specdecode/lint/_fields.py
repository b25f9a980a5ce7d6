"""Fields of a response by name, however they are read: attribute, key, `get`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_specdecode.lint.source import Source

_READERS = frozenset({"get", "pop", "setdefault"})
_DEPTH = 6


def field_name(node: ast.expr) -> str:
    """Name of the field that an expression reads; empty when it reads none.

    `r["x"]`, `r.x`, `r.get("x", 0)`, `getattr(r, "x", 0)` and a plain `x`.
    """
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(
            func=ast.Attribute(attr=reader), args=[ast.Constant(value=str(name)), *_]
        ) if reader in _READERS:
            return name
        case ast.Call(
            func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]
        ):
            return name
        case _:
            return ""


def owner_of(node: ast.expr) -> ast.expr | None:
    """The object whose field an expression reads; `None` when it reads none."""
    match node:
        case (
            ast.Attribute(value=owner)
            | ast.Subscript(value=owner)
            | ast.Call(func=ast.Name(id="getattr"), args=[owner, *_])
        ):
            return owner
        case ast.Call(func=ast.Attribute(attr=reader, value=owner)) if (
            reader in _READERS
        ):
            return owner
        case _:
            return None


def default_of(node: ast.expr) -> ast.expr | None:
    """The default that `get`, `pop` or `getattr` is given, `None` without one."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr=reader), args=[ast.Constant(), default]
        ) if reader in _READERS:
            return default
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(), default]):
            return default
        case _:
            return None


def is_zero(node: ast.expr | None) -> bool:
    """Whether an expression is the number 0."""
    return (
        isinstance(node, ast.Constant)
        and type(node.value) in (int, float)
        and node.value == 0
    )


def is_none(node: ast.expr | None) -> bool:
    """Whether an expression is written `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def is_false(node: ast.expr) -> bool:
    """Whether an expression is a constant that is false: `False`, `None`, `0`."""
    return isinstance(node, ast.Constant) and not node.value


def constant_text(source: Source, node: ast.expr, depth: int = 0) -> str:
    """Text of a string, or of a name that is bound to one; empty for all else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(constant_text(source, part, depth) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return constant_text(source, node.value, depth)
    if isinstance(node, ast.Name) and depth < _DEPTH:
        values = source.bindings.values_of(node)
        if len(values) == 1:
            return constant_text(source, values[0], depth + 1)
    return ""
