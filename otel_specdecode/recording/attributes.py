"""A record as OpenTelemetry attributes: few for metrics, all for the span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.util.types import AttributeValue

from otel_specdecode.model import decode_steps, tokens_per_step
from otel_specdecode.recording import semconv as names
from otel_specdecode.recording.exportable import exportable_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_specdecode.model import (
        Acceptance,
        Arrivals,
        ChunkCountSite,
        RequestRecord,
        ServerTiming,
    )
    from otel_specdecode.recording._sums import AttributeKey

_Found = dict[str, AttributeValue | None]

_STANDARD_PREFIX = "gen_ai."


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
    return (*key, *sorted(tag_attributes(record.tags).items()))


def shared_attributes(record: RequestRecord) -> dict[str, AttributeValue]:
    """Return what the spans of all requests that are counted together have alike."""
    shared: _Found = {
        names.OUTCOME: record.outcome.value,
        names.USAGE: record.usage_origin.value,
        names.ACCEPTANCE: record.acceptance_state.value,
        names.STREAMING: record.streaming,
        names.RESPONSE_MODEL: record.response_model,
        names.ENGINE: record.engine,
        names.ERROR_TYPE: record.error_type,
    }
    return {**_known(shared), **tag_attributes(record.tags)}


def tag_attributes(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's tags under the names that they go out with."""
    words = {names.TAG_PREFIX + tag: value for tag, value in tags.items()}
    return {exportable_text(k): exportable_text(v) for k, v in words.items()}


def span_attributes(
    record: RequestRecord, shared: Mapping[str, AttributeValue]
) -> dict[str, AttributeValue]:
    """Return what a finished request adds to its span; unknown things are absent.

    Args:
        record: what was measured.
        shared: the request's `shared_attributes`, made once for all of its kind.
    """
    found = {**shared, **usage_attributes(record)}
    if record.response_id is not None:
        found[names.RESPONSE_ID] = record.response_id
    if record.finish_reasons:
        found[names.FINISH_REASONS] = record.finish_reasons
    if record.num_retries is not None:
        found[names.RETRIES] = record.num_retries
    acceptance = record.acceptance
    if acceptance is not None:
        _add_acceptance(found, acceptance)
        _add_steps(found, record, acceptance)
    elif record.acceptance_reason is not None:
        found[names.ACCEPTANCE_REASON] = record.acceptance_reason
    if record.arrivals is not None:
        found |= _known(_chunks(record, record.arrivals))
    if record.server_timing is not None:
        found |= _known(_timing(record.server_timing))
    if record.chunk_count_site is not None:
        found[names.CHUNK_COUNT_RULE] = record.chunk_count_site.rule
    return found


def usage_attributes(record: RequestRecord) -> dict[str, int]:
    """Return the token counts of a request, as far as they are known."""
    usage = record.usage
    if usage is None:
        return {}
    counts: dict[str, int] = {}
    if usage.input_tokens is not None:
        counts[names.INPUT_TOKENS] = usage.input_tokens
    if usage.output_tokens is not None:
        counts[names.OUTPUT_TOKENS] = usage.output_tokens
    return counts


def without_standard(
    attributes: Mapping[str, AttributeValue],
) -> dict[str, AttributeValue]:
    """Return the attributes that are our own, without those of GenAI."""
    return {
        name: value
        for name, value in attributes.items()
        if not name.startswith(_STANDARD_PREFIX)
    }


def site_attributes(
    site: ChunkCountSite, undercount_factor: float | None
) -> dict[str, AttributeValue]:
    """Return where a consumer takes chunks for tokens, and by how much it is wrong."""
    place: dict[str, AttributeValue] = {
        names.RULE: site.rule,
        names.CODE_FILE_PATH: exportable_text(site.path),
        names.CODE_LINE_NUMBER: site.line,
        names.CODE_FUNCTION_NAME: site.function,
    }
    if undercount_factor is not None:
        place[names.UNDERCOUNT_FACTOR] = undercount_factor
    return place


def _known(found: _Found) -> dict[str, AttributeValue]:
    return {name: value for name, value in found.items() if value is not None}


def _add_acceptance(found: dict[str, AttributeValue], acceptance: Acceptance) -> None:
    found[names.NUM_SPEC_STEPS] = acceptance.num_spec_steps
    found[names.NUM_DRAFT_TOKENS] = acceptance.num_draft_tokens
    found[names.NUM_ACCEPTED_DRAFT_TOKENS] = acceptance.num_accepted_draft_tokens
    if acceptance.num_spec_tokens is not None:
        found[names.NUM_SPEC_TOKENS] = acceptance.num_spec_tokens
    rate = acceptance.draft_acceptance_rate
    if rate is not None:
        found[names.DRAFT_ACCEPTANCE_RATE] = rate
    length = acceptance.mean_acceptance_length
    if length is not None:
        found[names.MEAN_ACCEPTANCE_LENGTH] = length
    histogram = acceptance.histogram
    # A histogram cut short would still look like a whole one.
    if histogram is not None and len(histogram) <= names.MAX_HISTOGRAM_ENTRIES:
        found[names.ACCEPTANCE_HISTOGRAM] = histogram


def _add_steps(
    found: dict[str, AttributeValue], record: RequestRecord, acceptance: Acceptance
) -> None:
    num_tokens = record.num_output_tokens
    if num_tokens is None:
        return
    steps = decode_steps(num_tokens, acceptance)
    if steps is None:
        return
    found[names.DECODE_STEPS_MIN] = int(steps.low)
    if steps.high is not None:
        found[names.DECODE_STEPS_MAX] = int(steps.high)
    tokens = tokens_per_step(num_tokens, steps)
    if tokens is not None and tokens.high is not None:
        if tokens.low:
            found[names.TOKENS_PER_STEP_MIN] = tokens.low
        found[names.TOKENS_PER_STEP_MAX] = tokens.high


def _timing(timing: ServerTiming) -> _Found:
    return {
        names.SERVER_QUEUE_TIME: timing.queue_s,
        names.SERVER_PREFILL_TIME: timing.prefill_s,
        names.SERVER_DECODE_TIME: timing.decode_s,
    }


def _chunks(record: RequestRecord, arrivals: Arrivals) -> _Found:
    first = record.first_chunk
    return {
        names.NUM_CHUNKS: arrivals.num_chunks,
        names.NUM_CONTENT_CHUNKS: arrivals.num_content_chunks,
        names.UNDERCOUNT_FACTOR: record.undercount_factor,
        names.CHUNKING: record.chunking.value,
        names.TIME_TO_FIRST_CHUNK: record.time_to_first_chunk_s,
        names.TIME_TO_FIRST_TOKEN: record.ttft_s,
        names.TIME_PER_OUTPUT_TOKEN: record.tpot_s,
        names.FIRST_CHUNK: None if first is None else first.value,
        names.CHUNK_GAP_MEAN: record.chunk_gap_mean_s,
        names.CHUNK_GAP_MAX: record.chunk_gap_max_s,
        names.CONSUMER_SHARE: record.consumer_share,
    }
