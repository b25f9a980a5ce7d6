"""A record as OpenTelemetry attributes: few for metrics, all for the span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.util.types import AttributeValue

from otel_specdecode.model import tokens_per_step
from otel_specdecode.recording import semconv as names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.model import (
        Acceptance,
        Arrivals,
        ChunkCountSite,
        RequestRecord,
    )
    from otel_specdecode.recording._sums import AttributeKey

Attribute = tuple[str, AttributeValue | None]


def metric_key(record: RequestRecord) -> AttributeKey:
    """Return the attributes that every metric of a request carries, in fixed order."""
    fixed = (
        (names.OPERATION_NAME, record.operation),
        (names.PROVIDER_NAME, record.provider),
        (names.REQUEST_MODEL, record.request_model),
        (names.RESPONSE_MODEL, record.response_model),
        (names.SERVER_ADDRESS, record.server_address),
        (names.SERVER_PORT, record.server_port),
        (names.ENGINE, record.engine),
        (names.STREAMING, record.streaming),
        (names.ERROR_TYPE, record.error_type),
    )
    key = tuple((name, value) for name, value in fixed if value is not None)
    if not record.tags:
        return key
    tags = ((names.TAG_PREFIX + tag, record.tags[tag]) for tag in sorted(record.tags))
    return (*key, *tags)


def span_attributes(record: RequestRecord) -> dict[str, AttributeValue]:
    """Return what a finished request adds to its span; unknown things are absent."""
    return {name: value for name, value in _all(record) if value is not None}


def site_attributes(
    site: ChunkCountSite, undercount_factor: float | None
) -> dict[str, AttributeValue]:
    """Return where a consumer takes chunks for tokens, and by how much it is wrong."""
    place: dict[str, AttributeValue] = {
        names.RULE: site.rule,
        names.CODE_FILE_PATH: site.path,
        names.CODE_LINE_NUMBER: site.line,
        names.CODE_FUNCTION_NAME: site.function,
    }
    if undercount_factor is not None:
        place[names.UNDERCOUNT_FACTOR] = undercount_factor
    return place


def _all(record: RequestRecord) -> Iterator[Attribute]:
    yield names.RESPONSE_MODEL, record.response_model
    yield names.RESPONSE_ID, record.response_id
    yield names.FINISH_REASONS, record.finish_reasons or None
    yield names.ERROR_TYPE, record.error_type
    yield names.OUTCOME, record.outcome.value
    yield names.USAGE, record.usage_origin.value
    yield names.ACCEPTANCE, record.acceptance_state.value
    yield names.ACCEPTANCE_REASON, record.acceptance_reason
    yield names.ENGINE, record.engine
    yield names.STREAMING, record.streaming
    yield names.RETRIES, record.num_retries
    if record.chunk_count_site is not None:
        yield names.CHUNK_COUNT_RULE, record.chunk_count_site.rule
    if record.usage is not None:
        yield names.INPUT_TOKENS, record.usage.input_tokens
        yield names.OUTPUT_TOKENS, record.usage.output_tokens
    if record.acceptance is not None:
        yield from _acceptance(record.acceptance)
        yield from _steps(record)
    if record.arrivals is not None:
        yield from _chunks(record, record.arrivals)
    if record.server_timing is not None:
        yield names.SERVER_QUEUE_TIME, record.server_timing.queue_s
        yield names.SERVER_PREFILL_TIME, record.server_timing.prefill_s
        yield names.SERVER_DECODE_TIME, record.server_timing.decode_s
    for tag, value in record.tags.items():
        yield names.TAG_PREFIX + tag, value


def _acceptance(acceptance: Acceptance) -> Iterator[Attribute]:
    yield names.NUM_SPEC_TOKENS, acceptance.num_spec_tokens
    yield names.NUM_SPEC_STEPS, acceptance.num_spec_steps
    yield names.NUM_DRAFT_TOKENS, acceptance.num_draft_tokens
    yield names.NUM_ACCEPTED_DRAFT_TOKENS, acceptance.num_accepted_draft_tokens
    yield names.DRAFT_ACCEPTANCE_RATE, acceptance.draft_acceptance_rate
    yield names.MEAN_ACCEPTANCE_LENGTH, acceptance.mean_acceptance_length
    histogram = acceptance.histogram
    # A histogram cut short would still look like a whole one.
    if histogram is not None and len(histogram) <= names.MAX_HISTOGRAM_ENTRIES:
        yield names.ACCEPTANCE_HISTOGRAM, histogram


def _steps(record: RequestRecord) -> Iterator[Attribute]:
    steps = record.decode_steps
    if steps is None or record.num_output_tokens is None:
        return
    yield names.DECODE_STEPS_MIN, int(steps.low)
    yield names.DECODE_STEPS_MAX, None if steps.high is None else int(steps.high)
    tokens = tokens_per_step(record.num_output_tokens, steps)
    if tokens is not None and tokens.high is not None:
        yield names.TOKENS_PER_STEP_MIN, tokens.low or None
        yield names.TOKENS_PER_STEP_MAX, tokens.high


def _chunks(record: RequestRecord, arrivals: Arrivals) -> Iterator[Attribute]:
    yield names.NUM_CHUNKS, arrivals.num_chunks
    yield names.NUM_CONTENT_CHUNKS, arrivals.num_content_chunks
    yield names.UNDERCOUNT_FACTOR, record.undercount_factor
    yield names.CHUNKING, record.chunking.value
    yield names.TIME_TO_FIRST_CHUNK, record.time_to_first_chunk_s
    yield names.TIME_TO_FIRST_TOKEN, record.ttft_s
    yield names.TIME_PER_OUTPUT_TOKEN, record.tpot_s
    yield names.FIRST_CHUNK, None if (f := record.first_chunk) is None else f.value
    yield names.CHUNK_GAP_MEAN, record.chunk_gap_mean_s
    yield names.CHUNK_GAP_MAX, record.chunk_gap_max_s
    yield names.CONSUMER_SHARE, record.consumer_share
