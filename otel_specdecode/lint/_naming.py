"""Identifiers that an expression mentions."""

from __future__ import annotations

import ast

from otel_specdecode.lint._tree import walk


def names_in(node: ast.expr) -> set[str]:
    """Variables, attributes, string keys and called names of an expression."""
    names: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, ast.Subscript):
            if isinstance(part.slice, ast.Constant) and isinstance(
                part.slice.value, str
            ):
                names.add(part.slice.value)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            key = part.args[0] if part.args else None
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                names.add(key.value)
    return names


def same_place(a: ast.expr, b: ast.expr) -> bool:
    """Whether two expressions name the same variable, attribute or key."""
    match a, b:
        case ast.Name(), ast.Name():
            return a.id == b.id
        case ast.Attribute(), ast.Attribute():
            return a.attr == b.attr and same_place(a.value, b.value)
        case ast.Subscript(), ast.Subscript():
            return same_place(a.value, b.value) and same_place(a.slice, b.slice)
        case ast.Constant(), ast.Constant():
            return a.value == b.value
        case _:
            return False


def reads_place(node: ast.expr, place: ast.expr) -> bool:
    """Whether an expression is the place, or `d.get(k, 0)` for the place `d[k]`."""
    if same_place(node, place):
        return True
    return (
        isinstance(place, ast.Subscript)
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"get", "setdefault"}
        and bool(node.args)
        and same_place(node.func.value, place.value)
        and same_place(node.args[0], place.slice)
    )


def dotted(node: ast.expr) -> str:
    """`a.b().c` for such an expression, empty for others."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            inner = dotted(node.value)
            return f"{inner}.{node.attr}" if inner else f"?.{node.attr}"
        case ast.Call():
            inner = dotted(node.func)
            return f"{inner}()" if inner else ""
        case _:
            return ""
