"""Writes finished requests as spans and metrics, with the OpenTelemetry API alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from otel_specdecode.model import ChunkCountSite, Outcome, RequestRecord
from otel_specdecode.recording import semconv as names
from otel_specdecode.recording.attributes import (
    site_attributes,
    span_attributes,
    without_standard,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider
    from opentelemetry.util.types import AttributeValue as SpanAttributeValue

    from otel_specdecode.recording._sums import AttributeValue
    from otel_specdecode.recording.instruments import StandardMetrics
    from otel_specdecode.recording.metering import Metering


class Recorder:
    """Tracer and instruments that requests are recorded with.

    Attributes:
        metering: the counters and histograms, shared by all that record into them.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None,
        metering: Metering,
        genai_names: names.GenAINames = names.GenAINames.PUBLISHED,
    ) -> None:
        """Get a tracer and the instruments.

        Args:
            tracer_provider: `None` for the global one, also when it is set later.
            metering: of the meter provider.
            genai_names: which names the standard GenAI metrics go out under.
        """
        self.metering = metering
        self._instruments = metering.instruments(genai_names)
        self._tracer = trace.get_tracer(
            names.SCOPE,
            tracer_provider=tracer_provider,
            schema_url=names.SCHEMA_URL,
        )

    def start_span(
        self,
        name: str,
        attributes: Mapping[str, AttributeValue | float],
        *,
        context: Context | None = None,
        start_time_ns: int | None = None,
    ) -> Span:
        """Start the span of a request.

        Args:
            name: the span's.
            attributes: what is known already.
            context: holds the parent span; `None` for the current context.
            start_time_ns: nanoseconds since the epoch; `None` for now.
        """
        if self.metering.forked:
            self.metering.use_own_provider()
        return self._tracer.start_span(
            name,
            context,
            kind=SpanKind.CLIENT,
            attributes=attributes,
            start_time=start_time_ns,
        )

    def finish(
        self,
        record: RequestRecord,
        span: Span,
        *,
        standard: StandardMetrics,
        end_time_ns: int | None,
        standard_attributes: bool = True,
    ) -> None:
        """Record a request that ended: its span, the sums and the histograms.

        Args:
            record: what was measured.
            span: the request's span.
            standard: which standard GenAI metrics are ours to record.
            end_time_ns: when it ended, nanoseconds since the epoch; `None` when
                the span is another instrumentation's, which then ends it.
            standard_attributes: whether the span gets those of GenAI too; another
                span of the same call may have them.
        """
        if self.metering.forked:
            self.metering.use_own_provider()
        try:
            row = self.metering.rows.of(record)
            row.count(record)
            context = trace.set_span_in_context(span)
            self._instruments.record(record, row, context, standard)
            if span.is_recording():
                attributes = span_attributes(record, row.span)
                if not standard_attributes:
                    attributes = without_standard(attributes)
                self._describe(record, span, attributes)
        finally:
            if end_time_ns is not None:
                self._end(record, span, end_time_ns)

    def _describe(
        self,
        record: RequestRecord,
        span: Span,
        attributes: Mapping[str, SpanAttributeValue],
    ) -> None:
        span.set_attributes(attributes)
        site = record.chunk_count_site
        if site is not None:
            event = site_attributes(site, record.undercount_factor)
            span.add_event(names.CHUNK_COUNT_EVENT, event)

    def _end(self, record: RequestRecord, span: Span, end_time_ns: int) -> None:
        if record.outcome is Outcome.ERROR:
            # The type alone: a message may quote the prompt.
            span.set_status(Status(StatusCode.ERROR, record.error_type))
        span.end(end_time_ns)

    def record_chunk_gap(
        self, gap_s: float, attributes: Mapping[str, AttributeValue], span: Span
    ) -> None:
        """Record one gap between chunks, for those who asked for a record a chunk."""
        context = trace.set_span_in_context(span)
        self._instruments.record_chunk_gap(gap_s, attributes, context)

    def count_site(self, site: ChunkCountSite) -> None:
        """Count a function that takes chunks for tokens, once for each."""
        self.metering.count(names.CHUNK_COUNT_SITES, ((names.RULE, site.rule),))

    def count_dropped(self, reason: str) -> None:
        """Count something that could not be recorded."""
        self.metering.count(names.TELEMETRY_DROPPED, ((names.REASON, reason),))
