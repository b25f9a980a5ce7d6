"""The instruments of one meter, each created once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation

from otel_specdecode.recording import semconv as names
from otel_specdecode.recording._sums import AttributeValue, Sums

if TYPE_CHECKING:
    from otel_specdecode.model import RequestRecord, ServerTiming, Usage
    from otel_specdecode.recording.counting import Row

_Attributes = Mapping[str, AttributeValue]
# An exemplar costs as much again as the record it goes with, and two of one request
# lead to the same trace: one for what was accepted and one for each time is enough.
# Not an empty context: the SDK takes that for none given, and the current one instead.
_NO_SPAN = trace.set_span_in_context(trace.INVALID_SPAN, Context())
_WITH_EXEMPLARS = frozenset({names.TTFT.name, names.CHUNK_GAP_MAX_HISTOGRAM.name})


class StandardMetrics(StrEnum):
    """Which of the standard GenAI metrics of one request are ours to record."""

    ALL = "all"
    TOKENS = "tokens"
    """Another instrumentation records the rest, and saw no usage."""
    NONE = "none"


class Instruments:
    """Histograms that finished requests are recorded into."""

    def __init__(
        self,
        meter: Meter,
        own: Mapping[str, Histogram],
        genai: names.GenAIMetrics,
    ) -> None:
        """Create what is not there yet.

        Args:
            meter: of the provider.
            own: histograms of our own, by name.
            genai: the standard metrics, under the names asked for.
        """
        self._genai = genai
        self.use_meter(meter, own)

    def use_meter(self, meter: Meter, own: Mapping[str, Histogram]) -> None:
        """Record into the histograms of this meter from here on."""
        genai = self._genai
        self._standard = {m.name: _histogram(meter, m) for m in _standard(genai)}
        self._own = own
        # What every request has a value for, so that none looks them up.
        self._acceptance_rate = own[names.ACCEPTANCE_RATE_HISTOGRAM.name]
        self._acceptance_length = own[names.ACCEPTANCE_LENGTH_HISTOGRAM.name]
        self._output_token_rate = own[names.OUTPUT_TOKEN_RATE.name]
        self._duration = self._standard[genai.duration.name]
        self._input_tokens = self._standard[genai.input_tokens.name]
        self._output_tokens = self._standard[genai.output_tokens.name]

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
        attributes, acceptance = row.attributes, record.acceptance
        if acceptance is not None:
            rate = acceptance.draft_acceptance_rate
            if rate is not None:
                self._acceptance_rate.record(rate, attributes, context)
            length = acceptance.mean_acceptance_length
            if length is not None:
                self._acceptance_length.record(length, attributes, _NO_SPAN)
        speed = record.output_token_rate
        if speed is not None:
            self._output_token_rate.record(speed, attributes, _NO_SPAN)
        if record.arrivals is not None:
            self._record_chunks(record, attributes, context)
        if record.server_timing is not None:
            self._record_known(_timing_values(record.server_timing), attributes)
        if standard is StandardMetrics.ALL:
            self._record_times(record, row, context)
        if standard is not StandardMetrics.NONE and record.usage is not None:
            self._record_tokens(record.usage, row)

    def _record_chunks(
        self, record: RequestRecord, attributes: _Attributes, context: Context
    ) -> None:
        self._record_known(_chunk_values(record), attributes, context)
        span = record.decode_span
        if span is not None:
            self._own[names.TPOT.name].record(
                span.time_per_output_token_s,
                {**attributes, names.FIRST_CHUNK: span.first_chunk.value},
                context,
            )

    def _record_known(
        self,
        values: Iterable[tuple[names.Metric, float | None]],
        attributes: _Attributes,
        context: Context = _NO_SPAN,
    ) -> None:
        for metric, value in values:
            if value is not None:
                name = metric.name
                leads = context if name in _WITH_EXEMPLARS else _NO_SPAN
                self._own[name].record(value, attributes, leads)

    def record_chunk_gap(
        self, gap_s: float, attributes: _Attributes, context: Context
    ) -> None:
        """Record the time since the chunk before, for those who asked for it."""
        name = self._genai.time_per_output_chunk.name
        self._standard[name].record(gap_s, attributes, context)

    def _record_times(self, record: RequestRecord, row: Row, context: Context) -> None:
        self._duration.record(record.duration_s, row.standard, context)
        first_chunk = record.time_to_first_chunk_s
        if first_chunk is not None:
            name = self._genai.time_to_first_chunk.name
            self._standard[name].record(first_chunk, row.standard, context)

    def _record_tokens(self, usage: Usage, row: Row) -> None:
        typed = self._genai.token_type
        if usage.input_tokens is not None:
            attributes = row.input_tokens if typed else row.standard
            self._input_tokens.record(usage.input_tokens, attributes, _NO_SPAN)
        if usage.output_tokens is not None:
            attributes = row.output_tokens if typed else row.standard
            self._output_tokens.record(usage.output_tokens, attributes, _NO_SPAN)


def own_histograms(meter: Meter) -> Mapping[str, Histogram]:
    """Create the histograms of our own, by name."""
    return {metric.name: _histogram(meter, metric) for metric in names.HISTOGRAMS}


def register_counters(meter: Meter, sums: Sums) -> None:
    """Create the counters, which read our own sums; once for each meter."""
    for metric in names.COUNTERS:
        meter.create_observable_counter(
            metric.name,
            callbacks=[_reader(sums, metric.name)],
            unit=metric.unit,
            description=metric.description,
        )


def _chunk_values(
    record: RequestRecord,
) -> Iterable[tuple[names.Metric, float | None]]:
    yield names.TTFT, record.ttft_s
    yield names.CHUNK_GAP_MEAN_HISTOGRAM, record.chunk_gap_mean_s
    yield names.CHUNK_GAP_MAX_HISTOGRAM, record.chunk_gap_max_s
    yield names.TOKENS_PER_CHUNK, record.undercount_factor
    yield names.CONSUMER_SHARE_HISTOGRAM, record.consumer_share


def _timing_values(
    timing: ServerTiming,
) -> Iterable[tuple[names.Metric, float | None]]:
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
