"""What an annotation says of a value that nothing else is known of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint._naming import dotted
from otel_specdecode.lint._values import Value

if TYPE_CHECKING:
    from otel_specdecode.lint._frames import Frame
    from otel_specdecode.lint._machine import Machine

_SEQUENCES = frozenset(
    "List list Sequence Iterable Collection Tuple tuple Set set deque Deque".split()
)


def annotated(machine: Machine, parameter: ast.arg, frame: Frame) -> Value:
    """A parameter that we know only by its name and annotation."""
    annotation = parameter.annotation
    made = made_of(machine, annotation, frame) if annotation is not None else None
    return made if made is not None else Value(path=parameter.arg)


def made_of(machine: Machine, annotation: ast.expr, frame: Frame) -> Value | None:
    """An object of a class, or a sequence of such; `None` for other annotations."""
    match annotation:
        case ast.Constant(value=str(name)) | ast.Name(id=name):
            return _object(machine, machine.lookup(name, frame), name, frame)
        case ast.Attribute(attr=name):
            return _object(machine, machine.evaluate(annotation, frame), name, frame)
        case ast.BinOp(op=ast.BitOr(), left=inner, right=ast.Constant(value=None)):
            return made_of(machine, inner, frame)
        case ast.Subscript(value=generic, slice=inner):
            name = dotted(generic).rpartition(".")[2]
            if name == "Optional":
                return made_of(machine, inner, frame)
            return _sequence(machine, inner, frame) if name in _SEQUENCES else None
        case _:
            return None


def _object(machine: Machine, cls: Value, name: str, frame: Frame) -> Value | None:
    for thing in cls.things:
        if thing.kind == "class":
            return Value(things=frozenset({machine.instance_of(thing, frame)}))
    return Value(path=f"{cls.path}()") if cls.path and cls.path != name else None


def _sequence(machine: Machine, entry: ast.expr, frame: Frame) -> Value | None:
    """A sequence of objects of a class of these files; of others little is known."""
    if isinstance(entry, ast.Tuple):
        entry = entry.elts[0]  # `tuple[Result, ...]`
    made = made_of(machine, entry, frame)
    if made is None or not made.things:
        return None
    # Under a key that is no place: what a loop does with the entries still counts.
    thing = machine.thing("list", ("annotated", entry), frame)
    machine.grow(thing, made)
    return Value(things=frozenset({thing}))
