"""What one finished request adds to the counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.recording import semconv as names
from otel_specdecode.recording._sums import AttributeKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.model import RequestRecord

Addition = tuple[str, AttributeKey, int]


def additions(record: RequestRecord, key: AttributeKey) -> Iterator[Addition]:
    """Yield instrument name, attributes and value for each counter that moves."""
    state = ((names.ACCEPTANCE, record.acceptance_state.value),)
    ended = (
        (names.OUTCOME, record.outcome.value),
        (names.USAGE, record.usage_origin.value),
    )
    yield names.REQUESTS.name, key + ended + state, 1
    tokens = record.num_output_tokens
    if tokens is not None:
        yield names.OUTPUT_TOKEN_COUNT.name, key + state, tokens
        if record.num_content_chunks is not None:
            yield names.CONTENT_CHUNKS.name, key + state, record.num_content_chunks
    acceptance = record.acceptance
    if acceptance is None:
        return
    yield names.SPEC_STEPS.name, key, acceptance.num_spec_steps
    yield names.DRAFT_TOKENS.name, key, acceptance.num_draft_tokens
    yield names.ACCEPTED_TOKENS.name, key, acceptance.num_accepted_draft_tokens
    yield from _by_position(acceptance.accepted_by_position or (), key)


def _by_position(positions: tuple[int, ...], key: AttributeKey) -> Iterator[Addition]:
    for position, steps in enumerate(positions[: names.MAX_HISTOGRAM_ENTRIES]):
        name = names.ACCEPTED_BY_POSITION.name
        yield name, (*key, (names.POSITION, position)), steps
    beyond = sum(positions[names.MAX_HISTOGRAM_ENTRIES :])
    if beyond:
        reason = ((names.REASON, "position_beyond_limit"),)
        yield names.TELEMETRY_DROPPED.name, reason, beyond
