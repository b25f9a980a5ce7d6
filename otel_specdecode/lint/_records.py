"""What the classes of records say of a field: always a number, or perhaps missing."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING, cast

from otel_specdecode.lint._fields import field_name, is_none, owner_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint._modules import Module
    from otel_specdecode.lint.source import Source

_NUMBERS = frozenset({"int", "float", "NonNegativeInt", "NonNegativeFloat"})
_WRAPPED = frozenset({"Mapped", "Annotated", "Required", "Final", "ClassVar"})
_NAME = re.compile(r"[^\W\d]\w*")
_DEPTH = 6
_MOST = 6
"""Expressions that a name is followed to."""


_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Records:
    """Declarations of a file and, for annotated records, of those it imports."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def says_there(self, read: ast.expr) -> bool | None:
        """Whether a field that is read is always a number; `None` if nobody says.

        The class of the record decides where an annotation or a constructor tells
        it; else all classes of the file that have such a field. Usage is what a
        server sends, whatever a class of that shape may say.
        """
        owner, field = owner_of(read), field_name(read)
        if owner is None or not field:
            return None
        for module, name in self._classes(owner):
            told = self._told_by(module, name, field)
            if told is not None:
                return told
        declared = self._keys if reads_key(read) else self._attributes
        told = declared.get(field)
        return None if told and "usage" in field_name(owner) else told

    def classes_of(self, owner: ast.expr, depth: int = 0) -> Iterator[str]:
        """Names of classes that a variable is said to be of, or a list of them."""
        if not isinstance(owner, ast.Name) or depth > _DEPTH:
            return
        for iterable in self.loops_over(owner):
            yield from self.classes_of(iterable, depth + 1)
        for value in self._source.bindings.values_of(owner):
            if isinstance(value, ast.Call):
                yield field_name(value.func)
        for outer in self._around(owner):
            if isinstance(outer, ast.ClassDef) and owner.id == "self":
                yield outer.name
            elif isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = outer.args
                for argument in (
                    *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs
                ):  # fmt: skip
                    if argument.arg == owner.id and argument.annotation is not None:
                        yield from _identifiers(argument.annotation)
        for node in self._source.nodes(ast.AnnAssign):
            if isinstance(node.target, ast.Name) and node.target.id == owner.id:
                yield from _identifiers(node.annotation)

    def _classes(self, owner: ast.expr, depth: int = 0) -> Iterator[tuple[Module, str]]:
        """Classes that an expression is said to be of, and the file that says it."""
        if depth > _DEPTH:
            return
        match owner:
            case ast.Name():
                for name in self.classes_of(owner):
                    yield self._source.module, name
                for value in self._source.bindings.values_of(owner)[:_MOST]:
                    if not isinstance(value, ast.Name):
                        yield from self._classes(value, depth + 1)
            case ast.Await(value=inner):
                yield from self._classes(inner, depth + 1)
            case ast.Call(func=ast.Name(id=name)):
                yield self._source.module, name
            case (ast.Attribute() as read) | ast.Call(func=ast.Attribute() as read):
                yield from self._classes_of_field(read, depth)
            case _:
                pass

    def _classes_of_field(
        self, read: ast.Attribute, depth: int
    ) -> Iterator[tuple[Module, str]]:
        """Classes of an attribute, or of what a method returns."""
        for module, name in self._classes(read.value, depth + 1):
            place, node = self._definition(module, name)
            if isinstance(node, ast.ClassDef):
                for said in _annotations_of(node, read.attr):
                    for each in _identifiers(said):
                        yield place, each

    def loops_over(self, name: ast.Name) -> Iterator[ast.expr]:
        """What the loops around a variable take it from."""
        for outer in self._around(name):
            for loop in (outer, *getattr(outer, "generators", ())):
                if isinstance(loop, ast.For | ast.AsyncFor | ast.comprehension) and any(
                    isinstance(part, ast.Name) and part.id == name.id
                    for part in ast.walk(loop.target)
                ):
                    yield loop.iter

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        outer = self._source.parent(node)
        while outer is not None:
            yield outer
            outer = self._source.parent(outer)

    @cached_property
    def _attributes(self) -> dict[str, bool]:
        return self._declared(of_dicts=False)

    @cached_property
    def _keys(self) -> dict[str, bool]:
        return self._declared(of_dicts=True)

    def _declared(self, *, of_dicts: bool) -> dict[str, bool]:
        """Fields of the file's classes: whether each that has one says a number."""
        declared: dict[str, bool] = {}
        for owner in self._source.nodes(ast.ClassDef):
            if _is_typed_dict(owner) is of_dicts:
                for name, is_number in _fields_of(owner):
                    declared[name] = is_number and declared.get(name, True)
        return declared

    def _told_by(
        self, module: Module, name: str, field: str, depth: int = 0
    ) -> bool | None:
        """What the class of this name says of a field, or one it is made from.

        Of a function, what the class says that it returns.
        """
        if depth > _DEPTH:
            return None
        place, node = self._definition(module, name)
        if isinstance(node, ast.ClassDef):
            for declared, is_number in _fields_of(node):
                if declared == field:
                    return is_number
            others = [field_name(base) for base in node.bases]
        elif node is not None and node.returns is not None:
            others = list(_identifiers(node.returns))
        else:
            return None
        for other in others:
            told = self._told_by(place, other, field, depth + 1)
            if told is not None:
                return told
        return None

    def _definition(
        self, module: Module, name: str, depth: int = 0
    ) -> tuple[Module, _Definition | None]:
        """The class or function of this name that a file defines or imports."""
        for kind in (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef):
            for owner in cast("list[_Definition]", module.nodes.get(kind, ())):
                if owner.name == name:
                    return module, owner
        find = self._source.find_declared
        if find is None or depth > _DEPTH:
            return module, None
        imports = module.nodes.get(ast.ImportFrom, ())
        for node in cast("list[ast.ImportFrom]", imports):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    other = find(module, node.module or "", node.level)
                    if other is None or other is module:
                        return module, None
                    return self._definition(other, alias.name, depth + 1)
        return module, None


def reads_key(read: ast.expr) -> bool:
    """Whether it is `r.get(field)` or `r[field]`, not an attribute."""
    return isinstance(read, ast.Subscript) or (
        isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute)
    )


def _is_typed_dict(owner: ast.ClassDef) -> bool:
    return any(field_name(base) == "TypedDict" for base in owner.bases)


def _fields_of(owner: ast.ClassDef) -> Iterator[tuple[str, bool]]:
    """Declared fields of a class, and whether each is always a number."""
    for node in owner.body:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=said, value=default
            ):
                yield (
                    name,
                    _is_number(said) and not owner.keywords and not is_none(default),
                )
            case ast.FunctionDef(name=name, returns=ast.expr() as said) if (
                "property" in map(field_name, node.decorator_list)
            ):
                yield name, _is_number(said)
            case ast.FunctionDef(name="__init__"):
                yield from _fields_made_by(node)
            case _:
                pass


def _fields_made_by(init: ast.FunctionDef) -> Iterator[tuple[str, bool]]:
    """Fields that `__init__` sets to a number or says to be one."""
    for node in init.body:
        match node:
            case ast.AnnAssign(target=ast.Attribute(attr=name), annotation=said):
                yield name, _is_number(said) and not is_none(node.value)
            case ast.Assign(
                targets=[ast.Attribute(attr=name)],
                value=ast.Constant(value=int() | float()),
            ):
                yield name, True
            case _:
                pass


def _annotations_of(owner: ast.ClassDef, field: str) -> Iterator[ast.expr]:
    """What a class says that a field of its objects is: a class, or a call of one."""
    for node in ast.walk(owner):
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name) | ast.Attribute(attr=name), annotation=said
            ) if name == field:
                yield said
            case (
                ast.FunctionDef(name=name, returns=ast.expr() as said)
                | ast.AsyncFunctionDef(name=name, returns=ast.expr() as said)
            ) if name == field:
                yield said
            case ast.Assign(
                targets=[ast.Attribute(attr=name)], value=ast.Call(func=made)
            ) if name == field:
                yield made
            case _:
                pass


def _is_number(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Constant(value=str(text)):
            return text in _NUMBERS
        case ast.Subscript(value=outer, slice=inner) if field_name(outer) in _WRAPPED:
            first = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
            return _is_number(first)
        case _:
            return field_name(annotation) in _NUMBERS


def _identifiers(annotation: ast.expr) -> Iterator[str]:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _NAME.findall(node.value)
