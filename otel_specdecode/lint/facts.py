"""What the engine found in a program, before any rule judges it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import StrEnum

from otel_specdecode.lint._modules import Module
from otel_specdecode.lint._values import Step


class RateKind(StrEnum):
    """How a rate, or a time per token, was put together."""

    PER_SECOND = "chunk count / time"
    WINDOW = "chunk count / constant"
    PEAK = "largest chunk count of a time slot"
    PROGRESS = "progress bar advanced once per chunk"
    PER_COUNT = "time / chunk count"
    MEAN_GAP = "sum of chunk gaps / their number"
    GAP_STATISTIC = "statistic of chunk gaps"
    INVERSE_GAP = "constant / chunk gap"
    ESTIMATE = "characters or words / time"
    FALLBACK = "tokens, else chunk count"


@dataclass(slots=True)
class Rate:
    """A quantity that is only right if a chunk is a token.

    Attributes:
        kind: how it was put together.
        module: the file.
        node: the expression.
        strong: the stream is certain to come from an LLM server.
        labels: what the program calls the result, wherever it flows.
        operands: names of the variables it was computed from.
        divisor: names of the variables it was divided by.
        made_from: numbers of the rates that this one is the inverse of.
        steps: from the stream to here.
    """

    kind: RateKind
    module: Module
    node: ast.expr
    strong: bool
    labels: set[str] = field(default_factory=set[str])
    operands: set[str] = field(default_factory=set[str])
    divisor: set[str] = field(default_factory=set[str])
    made_from: set[int] = field(default_factory=set[int])
    steps: tuple[Step, ...] = ()


class Usage(StrEnum):
    """What a streamed request says about usage."""

    ASKED = "asked for"
    ABSENT = "never mentioned"
    REFUSED = "switched off"
    UNKNOWN = "cannot be told"


@dataclass(slots=True)
class Request:
    """A streamed request to an OpenAI-compatible server.

    Attributes:
        module: the file.
        node: the call that sends it.
        usage: whether it asks for usage.
        options: the value given for `stream_options`, if it is in this file.
        body: the dict that is the payload of a raw request, if in this file.
        is_raw: sent by an HTTP library, not by an SDK.
        is_instrumented: the client comes from `otel_specdecode.wrap()`.
        client: dotted name of what is called, as far as known.
        address: what is known of the address of a raw request.
        loops: the loops that read the stream.
    """

    module: Module
    node: ast.Call
    usage: Usage
    options: ast.expr | None = None
    body: ast.Dict | ast.Call | None = None
    is_raw: bool = False
    is_instrumented: bool = False
    client: str = ""
    address: str = ""
    loops: set[ast.AST] = field(default_factory=set[ast.AST])


@dataclass(slots=True)
class Publication:
    """A chunk count that leaves the program under the name of tokens.

    Attributes:
        module: the file.
        node: the expression that publishes it.
        name: the key, metric or price it is published as.
        strong: the stream is certain to come from an LLM server.
        steps: from the stream to here.
    """

    module: Module
    node: ast.AST
    name: str
    strong: bool
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class Facts:
    """Everything found while analysing one program.

    Attributes:
        rates: by number, as `Value.rates` refers to them.
        requests: by the call that sends them.
        publications: by the expression that publishes.
        has_stream: the file reads a stream of chunks, certain or guessed.
        is_partial: the file has more statements than are run; the rest is unknown.
    """

    rates: dict[int, Rate] = field(default_factory=dict[int, Rate])
    requests: dict[ast.Call, Request] = field(default_factory=dict[ast.Call, Request])
    publications: dict[ast.AST, Publication] = field(
        default_factory=dict[ast.AST, Publication]
    )
    has_stream: bool = False
    is_partial: bool = False
