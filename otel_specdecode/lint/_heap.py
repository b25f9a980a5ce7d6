"""The things that a program creates, and what is known of their contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._reads import Reads
from otel_specdecode.lint._values import Fields, Thing, Value

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from otel_specdecode.lint._frames import Frame
    from otel_specdecode.lint._iteration import Turns


_PER_CALL = frozenset(("list", "tuple", "dict", "iter"))
"""Kinds of which each call of a function makes its own: one helper that computes
statistics serves arrivals here and tokens there."""


class Heap:
    """Every thing met so far; knowledge about them only grows.

    Attributes:
        reads: what this round has read of them.
        things: by kind and the place in the source that creates them.
        loose: fields by name, written through objects that we cannot tell.
        named: fields by name, whoever they belong to.
        counted: fields that some object is made with a chunk count in.
        has_stream: a stream of chunks was met.
        growth: how often knowledge has grown.
    """

    def __init__(self) -> None:
        self.reads = Reads()
        self.things: dict[tuple[object, ...], Thing] = {}
        self.loose = Fields(self.reads)
        self.named = Fields(self.reads)
        self.counted: set[tuple[Thing, str]] = set()
        self.has_stream = False
        self.growth: int = 0

    def thing(self, kind: str, node: object, frame: Frame) -> Thing:
        """The thing that a place in the source creates, for one caller."""
        context = frame.context if kind in _PER_CALL else None
        key = (kind, node, context)
        found = self.things.get(key)
        if found is None:
            line = getattr(node, "lineno", 0)
            found = self.things[key] = Thing(kind, frame.module, line, self.reads)
            found.node = node
        return found

    def known_thing(self, kind: str, node: object, context: object) -> Thing | None:
        """What `thing` has made for a place; `None` if nothing yet."""
        key = (kind, node, context)
        found = self.things.get(key)
        self.reads.entries.append((self.things, key, found))
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

    def entries(
        self,
        node: ast.AST,
        frame: Frame,
        elem: Value,
        turns: Turns,
        note: str = "iter",
    ) -> Value:
        """A new sequence with as many entries as something else has turns."""
        made = self.sequence(
            node, frame, elem,
            per_chunk=turns.per_chunk, strong=turns.strong, note=note,
        )  # fmt: skip
        if turns.per_token:
            for thing in made.things:
                self.mark_per_token(thing)
        return made

    def tuple_of(self, node: object, frame: Frame, parts: Iterable[Value]) -> Value:
        """A tuple with these parts."""
        thing = self.thing("tuple", node, frame)
        for position, part in enumerate(parts):
            self.set_field(thing, position, part, shared=False)
        return Value(things=frozenset({thing}))

    def grow(self, thing: Thing, elem: Value) -> None:
        """Let a thing's entries be this too."""
        self.growth += thing.grow(elem)

    def mark_per_chunk(self, thing: Thing, *, strong: bool) -> None:
        """Note that a thing gains one entry per chunk."""
        if thing.mark_per_chunk(strong=strong):
            self.has_stream = True
            self.growth += 1

    def mark_per_token(self, thing: Thing) -> None:
        """Note that a thing holds one entry per token."""
        self.growth += thing.mark_per_token()

    def set_field(
        self, thing: Thing, key: str | int, value: Value, *, shared: bool = True
    ) -> None:
        """Let a field of a thing be this too."""
        self.growth += thing.fields.put(key, value)
        if thing.general is not None:
            self.set_field(thing.general, key, value, shared=shared)
        elif shared and isinstance(key, str):
            self.share(self.named, key, value)

    def fill_field(self, thing: Thing, key: str, value: Value) -> None:
        """Let a field be this in an object that is made here.

        One thing stands for all objects of a class, but what one call gives it is not
        what another does: tokens from usage here do not mend a chunk count there.
        """
        place = (thing, key)
        is_counted = value.tags & t.COUNT and not value.tags & t.TOKENS
        if is_counted and place not in self.counted:
            self.counted.add(place)
            for pool in (thing.fields, self.named):
                pool.without(key, t.TOKENS)
        if place in self.counted and value.tags & t.TOKENS:
            return
        if thing.general is not None:
            self.fill_field(thing.general, key, value)
            self.growth += thing.fields.put(key, value)
        else:
            self.set_field(thing, key, value)

    def share(self, pool: Fields, key: str, value: Value) -> None:
        """Note a field by its name alone, for objects we cannot tell apart."""
        self.growth += pool.put(key, value)
