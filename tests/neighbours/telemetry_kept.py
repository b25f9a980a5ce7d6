"""Spans and metrics of a run, kept in memory and read as plain data."""

from __future__ import annotations

from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON

import otel_specdecode


class Kept:
    """What the global providers of a process collect.

    Attributes:
        sampled: whether spans are recorded.
        theirs: an exporter for a neighbour that has one of its own.
        datadog: names of spans that never come to OpenTelemetry.
    """

    def __init__(self, *, sampled: bool) -> None:
        self.sampled = sampled
        self.reader = InMemoryMetricReader()
        self.theirs = InMemorySpanExporter()
        self.datadog: list[str] = []
        self._exporter = InMemorySpanExporter()
        self.span_processor = SimpleSpanProcessor(self._exporter)
        self._before: dict[str, tuple[float, float]] = {}

    def set_providers(self, *, traced: bool) -> None:
        if traced:
            sampler = ALWAYS_ON if self.sampled else ALWAYS_OFF
            provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
            provider.add_span_processor(self.span_processor)
            trace.set_tracer_provider(provider)
        meters = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)
        metrics.set_meter_provider(meters)

    def new_spans(self) -> list[dict[str, Any]]:
        """Return the spans that have ended since the last call."""
        otel_specdecode.record_of(None)  # what was collected is recorded first
        spans = self._exporter.get_finished_spans()
        self._exporter.clear()
        return [_span(span) for span in spans if not _is_pending(span)]

    def new_points(self) -> dict[str, tuple[float, float]]:
        """Return how often, and how much, was recorded since the last call.

        Returns:
            By scope, metric and token type: number of records (of a counter, its
            value) and sum.
        """
        now = self._points()
        before, self._before = self._before, now
        new = {
            key: tuple(
                a - b for a, b in zip(now[key], before.get(key, (0, 0)), strict=True)
            )
            for key in now
        }
        return {key: value for key, value in new.items() if any(value)}

    def _points(self) -> dict[str, tuple[float, float]]:
        found: dict[str, tuple[float, float]] = {}
        data = self.reader.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        kind = point.attributes.get("gen_ai.token.type", "")
                        key = f"{scope.scope.name}|{metric.name}|{kind}"
                        count, total = found.get(key, (0.0, 0.0))
                        more = getattr(point, "value", 0.0)
                        found[key] = (
                            count + getattr(point, "count", more),
                            total + getattr(point, "sum", more),
                        )
        return found


def _is_pending(span: ReadableSpan) -> bool:
    """Logfire exports a span also when it starts."""
    return (span.attributes or {}).get("logfire.span_type") == "pending_span"


def _span(span: ReadableSpan) -> dict[str, Any]:
    return {
        "name": span.name,
        "scope": span.instrumentation_scope.name,
        "kind": span.kind.name,
        "id": f"{span.context.span_id:016x}",
        "trace": f"{span.context.trace_id:032x}",
        "parent": span.parent and f"{span.parent.span_id:016x}",
        "status": span.status.status_code.name,
        "start": span.start_time,
        "end": span.end_time,
        "attributes": {
            key: value
            for key, value in span.attributes.items()
            if key.startswith(("gen_ai.usage", "gen_ai.op", "specdecode.", "llm.token"))
        },
    }
