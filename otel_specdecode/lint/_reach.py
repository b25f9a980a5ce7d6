"""Which names of a file carry what came from a stream, and who mentions them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t

if TYPE_CHECKING:
    from otel_specdecode.lint._machine import Machine
    from otel_specdecode.lint._modules import Module
    from otel_specdecode.lint._values import Thing, Value

_OF_A_STREAM = (
    t.STREAM | t.CHUNK | t.PIECE | t.TEXT | t.WORDS | t.COUNT | t.CHARS | t.GAP
    | t.LATER | t.SUMMED | t.BUCKET | t.RESPONSE | t.STRONG
)  # fmt: skip
_DEPTH = 3


def is_of_a_stream(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value came from a stream of chunks, or holds what did."""
    if value.tags & _OF_A_STREAM or value.rates:
        return True
    return depth > 0 and any(_holds(thing, depth) for thing in value.things)


def _holds(thing: Thing, depth: int) -> bool:
    if thing.per_chunk or thing.kind == "stream":
        return True
    return is_of_a_stream(thing.elem, depth - 1) or any(
        is_of_a_stream(value, depth - 1) for value in thing.fields.values()
    )


def carriers(machine: Machine) -> set[str]:
    """Variables, fields and functions by which such values leave where they arose."""
    names = set(machine.carriers)
    for pool in (machine.named, machine.loose, *machine.globals.values()):
        names.update(str(name) for name, value in pool.items() if is_of_a_stream(value))
    for thing in machine.things.values():
        if thing.kind in {"instance", "dict", "class"}:
            fields = _fields_of_a_stream(thing)
            names |= fields
            if thing.kind == "instance" and (fields or thing.per_chunk):
                names |= _class_names(thing)
    return names


def _fields_of_a_stream(thing: Thing) -> set[str]:
    members = thing.definition.members if thing.definition else {}
    return {
        name
        for name, value in (*thing.fields.items(), *members.items())
        if isinstance(name, str) and is_of_a_stream(value)
    }


def _class_names(instance: Thing) -> set[str]:
    owner = instance.definition.owner if instance.definition else None
    node = owner.definition.node if owner and owner.definition else None
    return {node.name} if isinstance(node, ast.ClassDef) else set()


def lines_that_mention(module: Module, names: set[str]) -> set[int]:
    """Lines of a file with one of these names, as a variable, attribute or key."""
    if not names:
        return set()
    mentions = module.mentions_of
    return {line for name in names for line in mentions.get(name, ())}
