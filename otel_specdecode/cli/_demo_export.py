"""Where the demo's spans and metrics go: over OTLP, or into memory to be shown."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
    InMemorySpanExporter,
)

from otel_specdecode.cli._demo_measure import DemoError, Providers

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from otel_specdecode.otlp import Telemetry

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SERVICE_NAME = "otel-specdecode-demo"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_CONNECT_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMetric:
    """One instrument, its attribute sets summed.

    Attributes:
        name: as in OpenTelemetry.
        unit: UCUM.
        num_series: attribute sets.
        value: the sum of a counter; `None` for a histogram.
        count: values of a histogram; `None` for a counter.
        sum: of those values, in `unit`; `None` for a counter.
    """

    name: str
    unit: str
    num_series: int
    value: float | None
    count: int | None
    sum: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentSpan:
    """One span as it went out.

    Attributes:
        name: `chat MODEL`.
        attributes: what it carries.
    """

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What went out.

    Attributes:
        endpoint: the OTLP endpoint; `None` when all stayed in memory.
        spans: in the order of their ends; empty when sent over OTLP.
        metrics: by name; empty when sent over OTLP.
    """

    endpoint: str | None
    spans: tuple[SentSpan, ...] = ()
    metrics: tuple[SentMetric, ...] = ()


class Outlet(Protocol):
    """Takes spans and metrics, and says at the end what went out."""

    @property
    def providers(self) -> Providers:
        """What to record with."""
        ...

    def close(self) -> Sent:
        """Flush, and say what went out."""
        ...


def open_outlet() -> Outlet:
    """Choose by `OTEL_EXPORTER_OTLP_ENDPOINT`.

    Raises:
        DemoError: nothing listens there.
    """
    endpoint = os.environ.get(ENDPOINT, "").strip()
    if not endpoint:
        return MemoryOutlet()
    _check_listens(endpoint)
    return OtlpOutlet(endpoint)


class MemoryOutlet:
    """Keeps everything, to be printed."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracer_provider = TracerProvider()
        tracer_provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.providers = Providers(
            tracer_provider=tracer_provider,
            meter_provider=MeterProvider(metric_readers=[self._reader]),
        )

    def close(self) -> Sent:
        """Read what was kept."""
        return Sent(
            endpoint=None,
            spans=tuple(_sent_span(s) for s in self._spans.get_finished_spans()),
            metrics=_sent_metrics(self._reader.get_metrics_data()),
        )


class OtlpOutlet:
    """Sends everything over OTLP, as the standard variables say."""

    def __init__(self, endpoint: str) -> None:
        from otel_specdecode.otlp import configure

        self._endpoint = endpoint
        named = os.environ.get("OTEL_SERVICE_NAME")
        self._telemetry: Telemetry = configure(
            service_name=None if named else _SERVICE_NAME
        )
        self.providers = Providers(tracer_provider=None, meter_provider=None)

    def close(self) -> Sent:
        """Send what is left.

        Raises:
            DemoError: the collector did not take it in time.
        """
        if not self._telemetry.flush():
            raise DemoError(f"{ENDPOINT}: {self._endpoint} did not take it in time")
        return Sent(endpoint=self._endpoint)


def _check_listens(endpoint: str) -> None:
    """Fail early: an exporter would retry for a minute, and log a traceback."""
    url = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    port = url.port or _DEFAULT_PORTS.get(url.scheme, 4317)
    try:
        socket.create_connection((url.hostname or "", port), _CONNECT_S).close()
    except OSError as error:
        raise DemoError(
            f"{ENDPOINT}: nothing listens at {endpoint} ({error})"
        ) from error


def _sent_span(span: ReadableSpan) -> SentSpan:
    return SentSpan(name=span.name, attributes=dict(span.attributes or {}))


def _sent_metrics(data: Any) -> tuple[SentMetric, ...]:
    """Sum the points of each instrument; the SDK's own types are a tree of lists."""
    if data is None:
        return ()
    sent = [
        _sent_metric(metric)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.data.data_points
    ]
    return tuple(sorted(sent, key=lambda metric: metric.name))


def _sent_metric(metric: Any) -> SentMetric:
    points: list[Any] = list(metric.data.data_points)
    histogram = hasattr(points[0], "bucket_counts")
    return SentMetric(
        name=metric.name,
        unit=metric.unit,
        num_series=len(points),
        value=None if histogram else sum(point.value for point in points),
        count=sum(point.count for point in points) if histogram else None,
        sum=sum(point.sum for point in points) if histogram else None,
    )
