"""Streams and records for tests of the model, made from instants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_specdecode.model import (
    AcceptanceState,
    Arrivals,
    Outcome,
    RequestRecord,
    StreamTally,
    Usage,
    UsageOrigin,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_specdecode.model import Acceptance


def arrivals_at(instants: Iterable[float], *, requested_at: float = 0.0) -> Arrivals:
    """Content chunks that arrived at these instants, seconds."""
    tally = StreamTally()
    for at in instants:
        tally.add_content_chunk(at)
    return tally.freeze(requested_at)


def record(
    *,
    num_output_tokens: int | None = None,
    acceptance: Acceptance | None = None,
    arrivals: Arrivals | None = None,
    **more: Any,
) -> RequestRecord:
    """A completed request; a stream where arrivals are given."""
    usage = (
        None
        if num_output_tokens is None
        else Usage(input_tokens=5, output_tokens=num_output_tokens)
    )
    state = AcceptanceState.ABSENT if acceptance is None else AcceptanceState.PRESENT
    fields: dict[str, Any] = {
        "operation": "chat",
        "provider": "openai",
        "streaming": arrivals is not None,
        "outcome": Outcome.COMPLETED,
        "duration_s": 2.0,
        "usage": usage,
        "usage_origin": UsageOrigin.ABSENT if usage is None else UsageOrigin.FORCED,
        "acceptance": acceptance,
        "acceptance_state": state,
        "arrivals": arrivals,
    }
    return RequestRecord(**{**fields, **more})
