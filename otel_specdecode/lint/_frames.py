"""Where the analysis stands: the loop, the function run, and a call's arguments."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from otel_specdecode.lint._modules import Module
from otel_specdecode.lint._values import UNKNOWN, Step, Thing, Value

Env = dict[str, Value]

UNKNOWN_KEYWORDS = "**"
"""Among the keywords that a function is called with: there are others, unknown."""


@dataclass(slots=True)
class Loop:
    """The innermost loop being run.

    Attributes:
        node: the loop or comprehension.
        per_chunk: it turns once per streamed chunk.
        strong: that stream is certain.
        carried: names that were bound before it, so that they outlive a turn.
        outer: the loop around it, if that one runs over the same stream.
        can_pull: a read from a stream inside it makes it turn once per chunk.
        per_token: it turns once per token, or, with `per_chunk`, whichever there was.
        steps: how its stream came to be.
        exits: what is known at each `break`.
        turns: what is known at each `continue`.
    """

    node: ast.AST
    per_chunk: bool
    strong: bool
    carried: frozenset[str]
    outer: Loop | None
    can_pull: bool = False
    per_token: bool = False
    steps: tuple[Step, ...] = ()
    exits: list[Env] = field(default_factory=list[Env])
    turns: list[Env] = field(default_factory=list[Env])


@dataclass(slots=True)
class Frame:
    """One run of a function or of a module's top level.

    Attributes:
        module: the file.
        env: what each local name may be.
        scope: locals of the functions around it.
        node: the function; `None` at module level.
        name: the function's name.
        owner: the class of a method.
        loop: the innermost loop.
        loop_depth: how many loops are around this point.
        inherited: the function is called once per chunk.
        strong: and that stream is certain.
        returned: what it may return.
        yielded: what it may yield.
        yields_per_chunk: it yields once per chunk.
        pulled: it reads a chunk outside any loop of its own.
        outer_names: names declared `global` or `nonlocal`.
        context: the call that this run serves, and the row below; `None` where no call
            in the files does.
        story: how the stream came to be, where the function is called once per chunk.
        row: of the table that is being looped over; its calls are told apart by it.
    """

    module: Module
    env: Env
    scope: tuple[Env, ...] = ()
    node: ast.AST | None = None
    name: str = ""
    owner: Thing | None = None
    loop: Loop | None = None
    loop_depth: int = 0
    inherited: bool = False
    strong: bool = False
    returned: Value = UNKNOWN
    yielded: Value = UNKNOWN
    yields: bool = False
    yields_per_chunk: bool = False
    yields_strong: bool = False
    pulled: bool = False
    pulled_strong: bool = False
    outer_names: set[str] = field(default_factory=set[str])
    story: tuple[Step, ...] = ()
    context: object = None
    row: object = None

    @property
    def per_chunk(self) -> bool:
        """Whether this point of the code is reached once per chunk."""
        return self.loop.per_chunk if self.loop else self.inherited

    @property
    def is_strong(self) -> bool:
        """Whether the stream behind `per_chunk` is certain."""
        return self.loop.strong if self.loop else self.strong


@dataclass(slots=True)
class Call:
    """A call with everything evaluated.

    Attributes:
        node: the call.
        frame: where it stands.
        callee: what is called.
        receiver: the object whose method it is; `None` for a plain function.
        name: last part of the callee's name.
        path: the callee's dotted name as far as known.
        args: positional arguments, unpacked ones left out.
        kwargs: keyword arguments, those of known `**` dicts included.
        unpacked: values given with `*`.
        has_unknown_kwargs: a `**` value could not be resolved.
    """

    node: ast.Call
    frame: Frame
    callee: Value
    receiver: Value | None
    name: str
    path: str
    args: list[Value]
    kwargs: dict[str, Value]
    unpacked: list[Value]
    has_unknown_kwargs: bool = False

    def arg(self, position: int, *keywords: str) -> Value:
        """The argument at a position or under one of these keywords."""
        for keyword in keywords:
            if keyword in self.kwargs:
                return self.kwargs[keyword]
        return self.args[position] if position < len(self.args) else UNKNOWN
