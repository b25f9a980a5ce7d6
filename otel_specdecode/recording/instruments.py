"""The instruments of one meter, each created once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation

from otel_specdecode.recording import semconv as names
from otel_specdecode.recording._sums import AttributeValue, Sums

if TYPE_CHECKING:
    from otel_specdecode.model import RequestRecord, Usage
    from otel_specdecode.recording.counting import Row

_Attributes = Mapping[str, AttributeValue]
# A token count leads nobody to a trace, and an exemplar costs as much as a tenth of
# the request; so these go without.
_NO_SPAN = Context()


class StandardMetrics(StrEnum):
    """Which of the standard GenAI metrics of one request are ours to record."""

    ALL = "all"
    TOKENS = "tokens"
    """Another instrumentation records the rest, and saw no usage."""
    NONE = "none"


class Instruments:
    """Histograms to record into, and counters that read our own sums."""

    def __init__(self, meter: Meter, sums: Sums, genai: names.GenAIMetrics) -> None:
        self._genai = genai
        self._histograms = {
            metric.name: _histogram(meter, metric)
            for metric in (*names.HISTOGRAMS, *_standard(genai))
        }
        for metric in names.COUNTERS:
            meter.create_observable_counter(
                metric.name,
                callbacks=[_reader(sums, metric.name)],
                unit=metric.unit,
                description=metric.description,
            )

    def record(
        self,
        record: RequestRecord,
        row: Row,
        context: Context,
        standard: StandardMetrics,
    ) -> None:
        """Record one finished request, once into each histogram that it knows of.

        Args:
            record: what was measured.
            row: the attributes of this request's metrics.
            context: holds the request's span, for exemplars.
            standard: which GenAI metrics are ours to record.
        """
        histograms, attributes = self._histograms, row.attributes
        for metric, value in _values(record):
            if value is not None:
                histograms[metric.name].record(value, attributes, context)
        span = record.decode_span
        if span is not None:
            histograms[names.TPOT.name].record(
                span.time_per_output_token_s,
                {**attributes, names.FIRST_CHUNK: span.first_chunk.value},
                context,
            )
        if standard is StandardMetrics.ALL:
            self._record_times(record, row, context)
        if standard is not StandardMetrics.NONE and record.usage is not None:
            self._record_tokens(record.usage, row)

    def record_chunk_gap(
        self, gap_s: float, attributes: _Attributes, context: Context
    ) -> None:
        """Record the time since the chunk before, for those who asked for it."""
        name = self._genai.time_per_output_chunk.name
        self._histograms[name].record(gap_s, attributes, context)

    def _record_times(self, record: RequestRecord, row: Row, context: Context) -> None:
        genai, histograms = self._genai, self._histograms
        histograms[genai.duration.name].record(record.duration_s, row.standard, context)
        first_chunk = record.time_to_first_chunk_s
        if first_chunk is not None:
            histograms[genai.time_to_first_chunk.name].record(
                first_chunk, row.standard, context
            )

    def _record_tokens(self, usage: Usage, row: Row) -> None:
        genai = self._genai
        counts = (
            (names.INPUT, genai.input_tokens, usage.input_tokens),
            (names.OUTPUT, genai.output_tokens, usage.output_tokens),
        )
        for kind, metric, count in counts:
            if count is not None:
                attributes = row.tokens[kind] if genai.token_type else row.standard
                self._histograms[metric.name].record(count, attributes, _NO_SPAN)


def _values(record: RequestRecord) -> Iterable[tuple[names.Metric, float | None]]:
    acceptance = record.acceptance
    if acceptance is not None:
        yield names.ACCEPTANCE_RATE_HISTOGRAM, acceptance.draft_acceptance_rate
        yield names.ACCEPTANCE_LENGTH_HISTOGRAM, acceptance.mean_acceptance_length
    yield names.OUTPUT_TOKEN_RATE, record.output_token_rate
    if record.arrivals is not None:
        yield names.TTFT, record.ttft_s
        yield names.CHUNK_GAP_MEAN_HISTOGRAM, record.chunk_gap_mean_s
        yield names.CHUNK_GAP_MAX_HISTOGRAM, record.chunk_gap_max_s
        yield names.TOKENS_PER_CHUNK, record.undercount_factor
        yield names.CONSUMER_SHARE_HISTOGRAM, record.consumer_share
    timing = record.server_timing
    if timing is not None:
        yield names.SERVER_QUEUE, timing.queue_s
        yield names.SERVER_PREFILL, timing.prefill_s
        yield names.SERVER_DECODE, timing.decode_s


def _standard(genai: names.GenAIMetrics) -> tuple[names.Metric, ...]:
    tokens = {m.name: m for m in (genai.input_tokens, genai.output_tokens)}
    return (
        genai.duration,
        genai.time_to_first_chunk,
        genai.time_per_output_chunk,
        *tokens.values(),
    )


def _histogram(meter: Meter, metric: names.Metric) -> Histogram:
    return meter.create_histogram(
        metric.name,
        unit=metric.unit,
        description=metric.description,
        explicit_bucket_boundaries_advisory=metric.buckets,
    )


def _reader(
    sums: Sums, name: str
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(options: CallbackOptions) -> Iterable[Observation]:  # noqa: ARG001
        return [Observation(value, attributes) for value, attributes in sums.read(name)]

    return read
