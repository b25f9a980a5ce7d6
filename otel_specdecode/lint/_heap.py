"""The things that a program creates, and what is known of their contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint._values import Thing, Value, join

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from otel_specdecode.lint._frames import Frame


class Heap:
    """Every thing met so far; knowledge about them only grows.

    Attributes:
        things: by kind and the place in the source that creates them.
        loose: fields by name, written through objects that we cannot tell.
        named: fields by name, whoever they belong to.
        has_stream: a stream of chunks was met.
        changed: knowledge has grown in this round.
    """

    def __init__(self) -> None:
        self.things: dict[tuple[object, ...], Thing] = {}
        self.loose: dict[str, Value] = {}
        self.named: dict[str, Value] = {}
        self.has_stream = False
        self.changed = False

    def thing(self, kind: str, node: object, frame: Frame) -> Thing:
        """The thing that a place in the source creates."""
        key = (kind, node)
        found = self.things.get(key)
        if found is None:
            line = getattr(node, "lineno", 0)
            found = self.things[key] = Thing(kind, frame.module, line)
            found.node = node
        return found

    def sequence(
        self,
        node: ast.AST,
        frame: Frame,
        elem: Value,
        *,
        per_chunk: bool,
        strong: bool,
        note: str = "list",
    ) -> Value:
        """A new sequence with these entries."""
        thing = self.thing(note, node, frame)
        self.grow(thing, elem)
        if per_chunk:
            self.mark_per_chunk(thing, strong=strong)
        return Value(things=frozenset({thing}), rates=elem.rates, steps=elem.steps)

    def tuple_of(self, node: object, frame: Frame, parts: Iterable[Value]) -> Value:
        """A tuple with these parts."""
        thing = self.thing("tuple", node, frame)
        for position, part in enumerate(parts):
            self.set_field(thing, position, part, shared=False)
        return Value(things=frozenset({thing}))

    def grow(self, thing: Thing, elem: Value) -> None:
        """Let a thing's entries be this too."""
        joined = join(thing.elem, elem)
        if joined is not thing.elem and joined != thing.elem:
            thing.elem = joined
            self.changed = True

    def mark_per_chunk(self, thing: Thing, *, strong: bool) -> None:
        """Note that a thing gains one entry per chunk."""
        if not thing.per_chunk or (strong and not thing.strong):
            self.has_stream = True
            thing.per_chunk = True
            thing.strong = thing.strong or strong
            self.changed = True

    def set_field(
        self, thing: Thing, key: str | int, value: Value, *, shared: bool = True
    ) -> None:
        """Let a field of a thing be this too."""
        old = thing.fields.get(key)
        joined = value if old is None else join(old, value)
        if old is None or (joined is not old and joined != old):
            thing.fields[key] = joined
            self.changed = True
        if shared and isinstance(key, str):
            self.share(self.named, key, value)

    def share(self, pool: dict[str, Value], key: str, value: Value) -> None:
        """Note a field by its name alone, for objects we cannot tell apart."""
        old = pool.get(key)
        joined = value if old is None else join(old, value)
        if old is None or (joined is not old and joined != old):
            pool[key] = joined
            self.changed = True
