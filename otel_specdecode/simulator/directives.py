"""What a request, or a whole profile, asks the simulator to do out of the ordinary.

One grammar serves the `x-simulate` header and `Profile.simulate`: directives
separated by commas, each `name`, `name=value` or `name@N`, where N counts the
server-sent events already delivered (the role chunk is the first). `stall@N:seconds`
says for how long.
For example `x-simulate: stall@5:2, usage=absent`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator.profile import UsagePlacement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Refusal(StrEnum):
    """The forms in which servers refuse `stream_options`."""

    AZURE = "azure"
    OPENAI = "openai"
    PYDANTIC = "pydantic"
    POINTER = "pointer"
    ONE_API = "one-api"
    ECHO = "echo"
    """Not a refusal of the option: another field's error that echoes the input."""


class WireShape(StrEnum):
    """Which vLLM wrote the acceptance data."""

    CURRENT = "current"
    BEFORE_0_29 = "before-0.29"
    """No `metrics` key anywhere."""
    JULY_2026 = "july-2026"
    """Development builds: `choices[].speculative_decoding_stats`, string keys."""


class PayloadFault(StrEnum):
    """Ways in which the acceptance payload can be wrong, or look wrong."""

    NEGATIVE = "negative"
    HUGE = "huge"
    NAN = "nan"
    STRINGS = "strings"
    FLOATS = "floats"
    SHORT_HISTOGRAM = "short-histogram"
    LONG_HISTOGRAM = "long-histogram"
    """Valid: ArcticInference's suffix drafts may be longer than k."""
    CONTRADICTION = "contradiction"
    MISSING_FIELD = "missing-field"
    NOT_AN_OBJECT = "not-an-object"
    NULL = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """The parsed directives; `None` and `False` mean "as the profile says".

    Attributes:
        status: answer with this HTTP status instead of generating.
        retry_after_s: `Retry-After` of that answer.
        times: only the first so many tries of one call meet `status` or
            `hang_up`, told by the client's own `x-stainless-retry-count`.
        hang_up: close the connection without an answer.
        error_at: an `{"error": ...}` event and the end, after N events.
        disconnect_at: drop the connection after N events; in an answer that is
            not streamed, in the middle of its body.
        stall_at: say nothing for `stall_s` seconds after N events.
        malformed_at: event N is not JSON.
        keep_alive_at: an SSE comment before event N.
        named_event_at: an event that is no chunk, before event N.
        bare_chunk_at: a chunk without choices and usage, before event N, as Azure
            sends for its content filter.
        no_done: leave out `data: [DONE]`.
        payload: level or fault of the acceptance payload.
        shape: which vLLM's acceptance payload.
        usage: placement of usage.
        refuse: how `stream_options` is refused.
        acceptance: chance of each draft token, given that those before it were
            accepted.
        coverage: share of decode steps that draft.
        stream_interval: tokens a chunk waits for.
        end_after_tokens: the end token is token number this.
        merge: chance that a step's delta waits for the next one, as when the
            consumer lags.
        split: cut every step into one chunk a token, as TGI does.
        seed: start of the random draws.
        num_reasoning_tokens: tokens given to `delta.reasoning`.
        engine: the engine that serves the request.
    """

    status: int | None = None
    retry_after_s: float | None = None
    times: int | None = None
    hang_up: bool = False
    error_at: int | None = None
    disconnect_at: int | None = None
    stall_at: int | None = None
    stall_s: float = 3600.0
    malformed_at: int | None = None
    keep_alive_at: int | None = None
    named_event_at: int | None = None
    bare_chunk_at: int | None = None
    no_done: bool = False
    payload: str | None = None
    shape: WireShape = WireShape.CURRENT
    usage: UsagePlacement | None = None
    refuse: Refusal | None = None
    acceptance: float | None = None
    coverage: float | None = None
    stream_interval: int | None = None
    end_after_tokens: int | None = None
    merge: float = 0.0
    split: bool = False
    seed: int | None = None
    num_reasoning_tokens: int | None = None
    engine: int | None = None

    @property
    def breaks_stream(self) -> bool:
        """Whether any directive changes the sequence of events."""
        return self.no_done or any(
            at is not None
            for at in (
                self.error_at,
                self.disconnect_at,
                self.stall_at,
                self.malformed_at,
                self.keep_alive_at,
                self.named_event_at,
                self.bare_chunk_at,
            )
        )

    def applies_to_try(self, retry_count: int) -> bool:
        """Whether the first-tries-only faults hold for this try of a call."""
        return self.times is None or retry_count < self.times


def parse_directives(text: str, *, over: Directives | None = None) -> Directives:
    """Read directives; those given replace the same ones of `over`.

    Raises:
        SimulatorError: an unknown name, or a value that does not fit it.
    """
    changes: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        changes.update(_parse_one(item))
    return replace(over or Directives(), **changes)


def _payload(text: str) -> str:
    known = ("none", "summary", "detailed", *PayloadFault)
    if text not in known:
        raise ValueError(f"one of {', '.join(known)}")
    return text


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError("a number in 0..1")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("0 or more")
    return value


_WITH_VALUE: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "status": ("status", _count),
    "retry-after": ("retry_after_s", float),
    "times": ("times", _count),
    "payload": ("payload", _payload),
    "shape": ("shape", WireShape),
    "usage": ("usage", UsagePlacement),
    "refuse": ("refuse", Refusal),
    "acceptance": ("acceptance", _share),
    "coverage": ("coverage", _share),
    "interval": ("stream_interval", _count),
    "tokens": ("end_after_tokens", _count),
    "merge": ("merge", _share),
    "seed": ("seed", int),
    "reasoning": ("num_reasoning_tokens", _count),
    "engine": ("engine", _count),
}
_AT_EVENT = {
    "error": "error_at",
    "disconnect": "disconnect_at",
    "stall": "stall_at",
    "malformed": "malformed_at",
    "keep-alive": "keep_alive_at",
    "named-event": "named_event_at",
    "bare-chunk": "bare_chunk_at",
}
_FLAGS = {"hang-up": "hang_up", "no-done": "no_done", "split": "split"}

_ITEM = re.compile(r"([a-z-]+)(?:@(\d+)(?::(\d+(?:\.\d+)?))?)?(?:=(.+))?")


def _parse_one(item: str) -> dict[str, Any]:
    match = _ITEM.fullmatch(item)
    name, at, seconds, value = match.groups() if match else (item, None, None, None)
    if name in _FLAGS and at is None and value is None:
        return {_FLAGS[name]: True}
    if name in _AT_EVENT and value is None and (seconds is None or name == "stall"):
        changes: dict[str, Any] = {_AT_EVENT[name]: int(at or 0)}
        if seconds is not None:
            changes["stall_s"] = float(seconds)
        return changes
    if name in _WITH_VALUE and value is not None and at is None:
        return _parse_value(name, value)
    known = ", ".join(sorted((*_WITH_VALUE, *_AT_EVENT, *_FLAGS)))
    raise SimulatorError(f"x-simulate: cannot read {item!r}; known are {known}")


def _parse_value(name: str, value: str) -> dict[str, Any]:
    field_name, convert = _WITH_VALUE[name]
    try:
        return {field_name: convert(value)}
    except ValueError as error:
        raise SimulatorError(f"x-simulate: {name}={value}: {error}") from error
