"""OpenTelemetry of one test: providers of its own, never the global ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Callable


class _Calling(SpanProcessor):
    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def on_end(self, span: ReadableSpan) -> None:
        self._call()


class Telemetry:
    """Spans and metrics that were recorded in one test."""

    def __init__(self, **tracer_settings: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(shutdown_on_exit=False, **tracer_settings)
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider(
            metric_readers=[self._reader], shutdown_on_exit=False
        )

    def on_end(self, call: Callable[[], None]) -> None:
        """Have something called after each span that is exported."""
        self.tracer_provider.add_span_processor(_Calling(call))

    @property
    def providers(self) -> dict[str, Any]:
        return {
            "tracer_provider": self.tracer_provider,
            "meter_provider": self.meter_provider,
        }

    @property
    def spans(self) -> list[ReadableSpan]:
        otel_specdecode.record_of(None)  # what was collected is recorded first
        return list(self._exporter.get_finished_spans())

    @property
    def span(self) -> ReadableSpan:
        """The one span that there is."""
        (span,) = self.spans
        return span

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the one span."""
        return dict(self.span.attributes or {})

    @property
    def data(self) -> Any:
        """All metrics, as an exporter gets them; `None` where there are none."""
        otel_specdecode.record_of(None)
        return self._reader.get_metrics_data()

    def points(self, name: str) -> list[Any]:
        """Every data point of a metric."""
        data = self.data
        if data is None:
            return []
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    def total(self, name: str) -> int:
        """A counter, over all attribute sets."""
        return sum(point.value for point in self.points(f"specdecode.client.{name}"))

    def metrics(self) -> list[Any]:
        """Every metric that has a data point, by name."""
        data = self._reader.get_metrics_data()
        found = [
            metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.data.data_points
        ]
        return sorted(found, key=lambda metric: metric.name)

    def requests(self) -> list[tuple[str, ...]]:
        """Outcome, usage and acceptance of each request that was counted.

        Beyond the limit of attribute sets they are called `overflow`.
        """
        names = ("outcome", "usage", "acceptance")
        return [
            tuple(point.attributes.get(f"specdecode.{n}", "overflow") for n in names)
            for point in self.points("specdecode.client.requests")
            for _ in range(point.value)
        ]
