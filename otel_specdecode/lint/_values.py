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
    from collections.abc import Iterable


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


class Thing:
    """An object that the code under analysis creates.

    Attributes:
        kind: `list`, `tuple`, `dict`, `instance`, `class`, `function`, `partial`.
        line: 1-based line where it is created, 0 for what has no place.
        module: where it is created.
        fields: attributes, string keys or tuple positions.
        elem: join of what a loop over it yields.
        per_chunk: holds one entry per streamed chunk.
        strong: that stream is certain.
        per_token: holds one entry per token; with `per_chunk`, whichever there was.
        is_open: may have fields we do not know.
        labels: texts that name it for readers, such as a metric's name.
        definition: what a function, class or instance is made of.
        request: the call whose stream this is.
        general: of a record, the thing that stands for all objects of its class.
        node: the expression that creates it.
    """

    __slots__ = (
        "definition",
        "elem",
        "fields",
        "general",
        "is_open",
        "kind",
        "labels",
        "line",
        "module",
        "node",
        "per_chunk",
        "per_token",
        "request",
        "strong",
    )

    def __init__(self, kind: str, module: Module | None, line: int) -> None:
        self.kind = kind
        self.module = module
        self.line = line
        self.fields: dict[str | int, Value] = {}
        self.elem = UNKNOWN
        self.per_chunk = False
        self.per_token = False
        self.strong = False
        self.is_open = False
        self.labels: frozenset[str] = _NO_TEXTS
        self.definition: Definition | None = None
        self.request: ast.Call | None = None
        self.general: Thing | None = None
        self.node: object = None

    def clear(self) -> None:
        """Let go of every other thing."""
        self.fields.clear()
        self.elem = UNKNOWN
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
