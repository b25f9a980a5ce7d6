"""Writes finished requests as spans and metrics, with the OpenTelemetry API alone."""

from __future__ import annotations

import os
import weakref
from threading import Lock
from typing import TYPE_CHECKING

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from otel_specdecode.model import ChunkCountSite, Outcome, RequestRecord
from otel_specdecode.recording import semconv as names
from otel_specdecode.recording._sums import AttributeKey, AttributeValue, Sums
from otel_specdecode.recording.attributes import (
    metric_key,
    site_attributes,
    span_attributes,
)
from otel_specdecode.recording.counting import Rows
from otel_specdecode.recording.instruments import Instruments, StandardMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


class Recorder:
    """Tracer, instruments and sums that requests are recorded with.

    One for each pair of providers, so that no instrument is registered twice.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        genai_names: names.GenAINames = names.GenAINames.PUBLISHED,
    ) -> None:
        """Create the instruments.

        Args:
            tracer_provider: `None` for the global one, also when it is set later.
            meter_provider: `None` for the global one, also when it is set later.
            genai_names: which names the standard GenAI metrics go out under.
        """
        self._genai = names.genai_metrics(genai_names)
        self._sums = Sums()
        self._rows = Rows(self._sums)
        self._tracer = trace.get_tracer(
            names.SCOPE,
            tracer_provider=tracer_provider,
            schema_url=names.SCHEMA_URL,
        )
        self.use_meter_provider(meter_provider)
        self.renew: Callable[[], MeterProvider] | None = None
        """Makes the meter provider of a forked child; `None` to keep the parent's."""
        self._forked = False
        self._renewing = Lock()
        _recorders.add(self)

    def use_meter_provider(self, meter_provider: MeterProvider | None) -> None:
        """Create the instruments anew, in a child whose provider is a new one."""
        meter = metrics.get_meter(
            names.SCOPE, meter_provider=meter_provider, schema_url=names.SCHEMA_URL
        )
        self._instruments = Instruments(meter, self._sums, self._genai)

    def start_span(
        self, name: str, attributes: Mapping[str, AttributeValue | float]
    ) -> Span:
        """Start the span of a request as a child of the current one."""
        if self._forked:
            self._use_own_provider()
        return self._tracer.start_span(
            name, kind=SpanKind.CLIENT, attributes=dict(attributes)
        )

    def finish(
        self,
        record: RequestRecord,
        span: Span,
        *,
        standard: StandardMetrics,
        end_time_ns: int | None,
    ) -> None:
        """Record a request that ended: its span, the sums and the histograms.

        Args:
            record: what was measured.
            span: the request's span.
            standard: which standard GenAI metrics are ours to record.
            end_time_ns: when it ended, nanoseconds since the epoch; `None` when
                the span is another instrumentation's, which then ends it.
        """
        if self._forked:
            self._use_own_provider()
        try:
            self._measure(record, span, standard)
        finally:
            if end_time_ns is not None:
                self._end(record, span, end_time_ns)

    def _measure(
        self, record: RequestRecord, span: Span, standard: StandardMetrics
    ) -> None:
        row = self._rows.of(record, metric_key(record))
        row.count(record)
        context = trace.set_span_in_context(span)
        self._instruments.record(record, row, context, standard)
        if span.is_recording():
            span.set_attributes(span_attributes(record))
            site = record.chunk_count_site
            if site is not None:
                attributes = site_attributes(site, record.undercount_factor)
                span.add_event(names.CHUNK_COUNT_EVENT, attributes)

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

    def count(self, metric: names.Metric, key: AttributeKey, value: int = 1) -> None:
        """Add to one counter outside of a request."""
        with self._sums.lock:
            self._sums.cell(metric.name, key).value += value

    def count_site(self, site: ChunkCountSite) -> None:
        """Count a function that takes chunks for tokens, once for each."""
        self.count(names.CHUNK_COUNT_SITES, ((names.RULE, site.rule),))

    def count_dropped(self, reason: str) -> None:
        """Count something that could not be recorded."""
        self.count(names.TELEMETRY_DROPPED, ((names.REASON, reason),))

    def sums(self, metric: names.Metric) -> list[tuple[int, Mapping[str, object]]]:
        """Return the sums of one counter, with their attributes."""
        return [
            (value, attributes) for value, attributes in self._sums.read(metric.name)
        ]

    def restart(self) -> None:
        """Forget what the parent process counted."""
        self._sums.restart()
        self._rows.restart()
        self._renewing = Lock()
        # Done when the child makes a request; most children never do.
        self._forked = True

    def _use_own_provider(self) -> None:
        # Threads that come meanwhile wait: the old instruments export nothing here.
        with self._renewing:
            if self._forked and self.renew is not None:
                self.use_meter_provider(self.renew())
            self._forked = False


def _restart_all() -> None:
    for recorder in list(_recorders):
        recorder.restart()


if hasattr(os, "register_at_fork"):  # pragma: no branch (as this system does)
    os.register_at_fork(after_in_child=_restart_all)
