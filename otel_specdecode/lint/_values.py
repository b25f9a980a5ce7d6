"""Abstract values, and the things they refer to.

A `Value` says what an expression may be. A `Thing` stands for the list, dict,
object or function that a place in the source creates; every value that may be
that object refers to the same thing, so an append through one name is seen
through all others. Things only ever gain knowledge, which is what lets the
analysis stop.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._modules import Module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_specdecode.lint._reads import Reads


MAX_TEXTS = 12
MAX_THINGS = 32
"""Objects that a name may stand for. Tables of tables have no end of them."""
MAX_STEPS = 5

RETURNED = "return"
"""Field of a generator that holds what it returns in the end: no attribute's name."""

_NO_THINGS: frozenset[Thing] = frozenset()
_NO_RATES: frozenset[int] = frozenset()
_NO_TEXTS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """One stop on the way from the stream to the rate.

    Attributes:
        path: the file.
        line: 1-based line.
        note: what happens there.
    """

    path: str
    line: int
    note: str


@dataclass(slots=True, unsafe_hash=True)
class Value:
    """What an expression may evaluate to; never changed once it is made.

    Not declared frozen: that would make each of the many that an analysis creates
    three times as slow to create.

    Attributes:
        tags: bits of `_tags`.
        things: the objects it may be.
        rates: numbers of the rates (`facts.Rate`) that flow into it.
        texts: string constants it may be or contain.
        path: dotted name for what comes from outside the files read, such as
            `openai.OpenAI().chat`; empty when unknown.
        steps: how it came to be; takes no part in comparisons.
    """

    tags: int = 0
    things: frozenset[Thing] = _NO_THINGS
    rates: frozenset[int] = _NO_RATES
    texts: frozenset[str] = _NO_TEXTS
    path: str = ""
    steps: tuple[Step, ...] = field(default=(), compare=False)


UNKNOWN = Value()


class Fields:
    """Values by name or position. They only grow, and whoever reads one is noted."""

    __slots__ = ("_held", "_reads", "_state")

    def __init__(self, reads: Reads) -> None:
        self._held: dict[str | int, Value] = {}
        self._reads = reads
        self._state = object()
        """Another one after each growth."""

    def put(self, key: str | int, value: Value) -> bool:
        """Let a field be this too; whether that is news."""
        old = self._held.get(key)
        joined = value if old is None else join(old, value)
        if old is not None and (joined is old or joined == old):
            return False
        self.replace(key, joined)
        return True

    def replace(self, key: str | int, value: Value) -> None:
        """Let a field be this and nothing else."""
        self._held[key] = value
        self._state = object()

    def without(self, key: str, tags: int) -> None:
        """Take tags from a field, if it is there and has them."""
        old = self._held.get(key)
        if old is not None and old.tags & tags:
            self.replace(key, retagged(old, old.tags & ~tags))

    def get(self, key: str | int) -> Value | None:
        """A field; `None` if it is not there."""
        found = self._held.get(key)
        self._reads.entries.append((self._held, key, found))
        return found

    def items(self) -> list[tuple[str | int, Value]]:
        """Every field with its name or position."""
        self._reads.attributes.append((self, "_state", self._state))
        return list(self._held.items())

    def values(self) -> list[Value]:
        """Every field."""
        self._reads.attributes.append((self, "_state", self._state))
        return list(self._held.values())

    def __iter__(self) -> Iterator[str | int]:
        return iter([key for key, _ in self.items()])

    def __contains__(self, key: str | int) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: str | int) -> Value:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def clear(self) -> None:
        """Let go of every value."""
        self._held.clear()


class Thing:
    """An object that the code under analysis creates.

    Knowledge of it only grows, and whoever reads of it is noted.

    Attributes:
        kind: `list`, `tuple`, `dict`, `instance`, `class`, `function`, `partial`.
        line: 1-based line where it is created, 0 for what has no place.
        module: where it is created.
        fields: attributes, string keys or tuple positions.
        labels: texts that name it for readers, such as a metric's name.
        definition: what a function, class or instance is made of.
        request: the call whose stream this is.
        general: of a record, the thing that stands for all objects of its class.
        node: the expression that creates it.
    """

    __slots__ = (
        "_elem",
        "_is_open",
        "_per_chunk",
        "_per_token",
        "_reads",
        "_rows",
        "_strong",
        "definition",
        "fields",
        "general",
        "kind",
        "labels",
        "line",
        "module",
        "node",
        "request",
    )

    def __init__(
        self, kind: str, module: Module | None, line: int, reads: Reads
    ) -> None:
        self.kind = kind
        self.module = module
        self.line = line
        self.fields = Fields(reads)
        self.labels: frozenset[str] = _NO_TEXTS
        self.definition: Definition | None = None
        self.request: ast.Call | None = None
        self.general: Thing | None = None
        self.node: object = None
        self._reads = reads
        self._elem = UNKNOWN
        self._rows = _NO_THINGS
        self._per_chunk = False
        self._per_token = False
        self._strong = False
        self._is_open = False

    @property
    def elem(self) -> Value:
        """Join of what a loop over it yields."""
        self._reads.attributes.append((self, "_elem", self._elem))
        return self._elem

    @property
    def rows(self) -> frozenset[Thing]:
        """The objects among its entries, for who asks no more of them."""
        self._reads.attributes.append((self, "_rows", self._rows))
        return self._rows

    @property
    def per_chunk(self) -> bool:
        """Whether it holds one entry per streamed chunk."""
        self._reads.attributes.append((self, "_per_chunk", self._per_chunk))
        return self._per_chunk

    @property
    def strong(self) -> bool:
        """Whether that stream is certain."""
        self._reads.attributes.append((self, "_strong", self._strong))
        return self._strong

    @property
    def per_token(self) -> bool:
        """Whether it holds one entry per token, or, with `per_chunk`, either."""
        self._reads.attributes.append((self, "_per_token", self._per_token))
        return self._per_token

    @property
    def is_open(self) -> bool:
        """Whether it may have fields that we do not know."""
        self._reads.attributes.append((self, "_is_open", self._is_open))
        return self._is_open

    def grow(self, elem: Value) -> bool:
        """Let its entries be this too; whether that is news."""
        joined = join(self._elem, elem)
        if joined is self._elem or joined == self._elem:
            return False
        self._elem = joined
        if joined.things != self._rows:
            self._rows = joined.things
        return True

    def begin(self, steps: tuple[Step, ...]) -> None:
        """Note how its entries came to be, if nothing says so yet."""
        if not self._elem.steps:
            self._elem = join(self._elem, Value(steps=steps))

    def mark_per_chunk(self, *, strong: bool) -> bool:
        """Note that it gains one entry per chunk; whether that is news."""
        if self._per_chunk and (self._strong or not strong):
            return False
        self._per_chunk = True
        self._strong = self._strong or strong
        return True

    def mark_per_token(self) -> bool:
        """Note that it holds one entry per token; whether that is news."""
        is_news = not self._per_token
        self._per_token = True
        return is_news

    def open(self) -> None:
        """Note that it may have fields that we do not know."""
        self._is_open = True

    def clear(self) -> None:
        """Let go of every other thing."""
        self.fields.clear()
        self._elem = UNKNOWN
        self.definition = self.general = self.node = None


@dataclass(slots=True)
class Definition:
    """What a function, class, bound method or partial call is made of.

    Attributes:
        node: the definition; `None` for a partial call.
        module: where it stands.
        owner: the class of a method, or the class of an instance.
        receiver: `self` of a bound method.
        scope: names of the functions around it, innermost last.
        bases: base classes known in the files read.
        members: methods and class attributes of a class.
        target: what a partial call calls.
        args: positional arguments that a partial call adds.
        kwargs: keyword arguments that a partial call adds.
    """

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | None
    module: Module
    owner: Thing | None = None
    receiver: Value | None = None
    scope: tuple[dict[str, Value], ...] = ()
    bases: tuple[Thing, ...] = ()
    members: dict[str, Value] = field(default_factory=dict[str, Value])
    target: Value = UNKNOWN
    args: tuple[Value, ...] = ()
    kwargs: dict[str, Value] = field(default_factory=dict[str, Value])


def join(a: Value, b: Value) -> Value:
    """Either of the two."""
    if a is b or b is UNKNOWN:
        return a
    if a is UNKNOWN:
        return b
    if a.tags == b.tags and a == b:
        return a
    texts = a.texts | b.texts if a.texts != b.texts else a.texts
    return Value(
        a.tags | b.tags,
        either_thing(a.things, b.things),
        a.rates | b.rates,
        texts if len(texts) <= MAX_TEXTS else a.texts,
        a.path if a.path == b.path or not b.path else b.path if not a.path else "",
        a.steps or b.steps,
    )


def either_thing(a: frozenset[Thing], b: frozenset[Thing]) -> frozenset[Thing]:
    """What either may be, up to a number that keeps time and memory in proportion."""
    things = a | b
    return things if len(things) <= MAX_THINGS else a or b


def join_all(values: Iterable[Value]) -> Value:
    """Any of them."""
    out = UNKNOWN
    for value in values:
        out = join(out, value)
    return out


def tagged(tags: int, *sources: Value) -> Value:
    """A value with these tags that keeps the rates and the story of its sources."""
    rates = _NO_RATES
    steps: tuple[Step, ...] = ()
    for source in sources:
        if source.rates:
            rates |= source.rates
        if not steps or (source.tags & t.COUNT and tags & t.COUNT):
            steps = source.steps or steps
    if not tags and not rates:
        return UNKNOWN
    return Value(tags, rates=rates, steps=steps)


def with_step(value: Value, step: Step) -> Value:
    """The value with one more stop in its story."""
    if step in value.steps:
        return value
    steps = (*value.steps, step)[-MAX_STEPS:]
    return Value(value.tags, value.things, value.rates, value.texts, value.path, steps)


def retagged(value: Value, tags: int) -> Value:
    """The same value with other tags."""
    if value.tags == tags:
        return value
    return Value(tags, value.things, value.rates, value.texts, value.path, value.steps)
