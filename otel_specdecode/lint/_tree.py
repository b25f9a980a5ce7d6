"""Walks over a syntax tree, without what no rule asks for.

`ast.walk` also visits contexts, operators and names of imports, which are a third of
all nodes, and asks every node for every field.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAVES = frozenset(
    "id attr arg ctx op ops kind type_comment level module asname names conversion "
    "rest kwd_attrs is_async simple tag type_ignores".split()
)
"""Fields that hold no node, or none that a rule looks at."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of a class of nodes that hold other nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        known = tuple(name for name in kind._fields if name not in _LEAVES)
        # `name` is a string, but for the alias of a type.
        if kind.__name__ != "TypeAlias":
            known = tuple(name for name in known if name != "name")
        self[kind] = known
        return known


_FIELDS = _Fields({ast.Constant: (), ast.MatchSingleton: ()})
_ABSENT = type(None)


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, in no particular order."""
    stack: list[ast.AST | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            continue  # a default that is not there, a `**` in a dict
        yield node
        for name in _FIELDS[node.__class__]:
            child = getattr(node, name)
            if child.__class__ is list:
                stack += child
            else:
                stack.append(child)


def by_class(root: ast.AST) -> dict[type[ast.AST], list[ast.AST]]:
    """The nodes of a tree, listed by class."""
    found: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    stack = [root]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind is _ABSENT:
            continue
        found[kind].append(node)
        for name in _FIELDS[kind]:
            child = getattr(node, name)
            if child.__class__ is list:
                stack += child
            else:
                stack.append(child)
    return found


def parents(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """The node around each node of a tree."""
    found: dict[ast.AST, ast.AST] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        for name in _FIELDS[node.__class__]:
            child = getattr(node, name)
            for inner in child if child.__class__ is list else (child,):
                if inner is not None:
                    found[inner] = node
                    stack.append(inner)
    return found
