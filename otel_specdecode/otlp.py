"""Sets up the OpenTelemetry SDK and OTLP export, for programs that have none yet.

Needs the `otlp` extra. Everything follows the standard `OTEL_*` variables:
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/

What is particular here is forking. Each process gets a `service.instance.id` of its
own, exporters are opened in the process that uses them, and a child starts its
metrics at zero instead of exporting its parent's past once more.
"""

from __future__ import annotations

import os
import uuid
from multiprocessing import util as multiprocessing_util
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.metrics.view import DropAggregation, View
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SpanExporter,
)

from otel_specdecode.errors import ConfigError
from otel_specdecode.instrumentation.recorders import recorder_for
from otel_specdecode.recording import SCOPE, GenAINames

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GRPC = "grpc"
HTTP = "http/protobuf"
_PROTOCOLS = (GRPC, HTTP)


class ProcessResource(Resource):
    """A resource whose `service.instance.id` is that of the process that asks."""

    def __init__(self, base: Resource) -> None:
        super().__init__(dict(base.attributes), base.schema_url)
        self._given_id = base.attributes.get(SERVICE_INSTANCE_ID)
        self._pid: int | None = None
        self._current: Resource | None = None

    @property
    def attributes(self) -> Any:
        """The attributes, with the id of this process."""
        if self._current is None or self._pid != os.getpid():
            self._pid = os.getpid()
            given = self._given_id
            own = str(uuid.uuid4()) if given is None else f"{given}/{self._pid}"
            merged = {**super().attributes, SERVICE_INSTANCE_ID: own}
            self._current = Resource(merged, self.schema_url)
        return self._current.attributes


class Telemetry:
    """The providers that `configure` made.

    Attributes:
        tracer_provider: set as the global one.
        meter_provider: set as the global one; holds everything but our metrics.
    """

    def __init__(self, resource: Resource, interval_s: float | None) -> None:
        self._resource = ProcessResource(resource)
        self._interval_ms = None if interval_s is None else interval_s * 1000
        self.tracer_provider = TracerProvider(resource=self._resource)
        self.tracer_provider.add_span_processor(BatchSpanProcessor(_span_exporter()))
        drop = DropAggregation()
        not_ours = View(instrument_name="*", meter_name=SCOPE, aggregation=drop)
        self.meter_provider = self._make_meter_provider(not_ours)
        self._own_meter_provider = self._make_meter_provider()

    @property
    def own_meter_provider(self) -> MeterProvider:
        """Holds our metrics, so that a forked child can start them at zero."""
        return self._own_meter_provider

    def renew(self) -> MeterProvider:
        """Make the provider of our metrics anew, in a forked child."""
        self._own_meter_provider = self._make_meter_provider()
        return self._own_meter_provider

    def flush(self, timeout_s: float = 10.0) -> None:
        """Export what has been recorded so far; waits up to `timeout_s` seconds."""
        timeout_ms = int(timeout_s * 1000)
        self.tracer_provider.force_flush(timeout_ms)
        self.meter_provider.force_flush(timeout_ms)
        self._own_meter_provider.force_flush(timeout_ms)

    def shutdown(self) -> None:
        """Export what is left, and stop. Runs by itself at the end of the process."""
        self.tracer_provider.shutdown()
        self.meter_provider.shutdown()
        self._own_meter_provider.shutdown()

    def _make_meter_provider(self, *views: View) -> MeterProvider:
        reader = PeriodicExportingMetricReader(
            _metric_exporter(), export_interval_millis=self._interval_ms
        )
        return MeterProvider(
            metric_readers=[reader], resource=self._resource, views=views
        )


_telemetry: Telemetry | None = None


def configure(
    *,
    service_name: str | None = None,
    resource_attributes: Mapping[str, str] | None = None,
    metric_export_interval_s: float | None = None,
    genai_names: GenAINames = GenAINames.PUBLISHED,
) -> Telemetry:
    """Set up the SDK with OTLP exporters for spans and metrics.

    Call it once, before or after forking. `OTEL_EXPORTER_OTLP_ENDPOINT` says where
    to, `OTEL_EXPORTER_OTLP_PROTOCOL` how: `grpc` (the default) or `http/protobuf`.
    Everything is flushed at exit.

    Args:
        service_name: `None` for `OTEL_SERVICE_NAME`.
        resource_attributes: added to those of `OTEL_RESOURCE_ATTRIBUTES`.
        metric_export_interval_s: seconds between exports; `None` for
            `OTEL_METRIC_EXPORT_INTERVAL`, else 60.
        genai_names: names of the standard GenAI metrics.

    Returns:
        The providers; the same as before when called again.

    Raises:
        ConfigError: a variable names a protocol that is not known.
    """
    global _telemetry  # noqa: PLW0603 (the SDK's providers are global too)
    if _telemetry is not None:
        return _telemetry
    extra = dict(resource_attributes or {})
    if service_name is not None:
        extra[SERVICE_NAME] = service_name
    telemetry = Telemetry(Resource.create(extra), metric_export_interval_s)
    trace.set_tracer_provider(telemetry.tracer_provider)
    metrics.set_meter_provider(telemetry.meter_provider)
    recorder = recorder_for(None, None, genai_names)
    recorder.use_meter_provider(telemetry.own_meter_provider)
    recorder.renew = telemetry.renew
    multiprocessing_util.register_after_fork(telemetry, _flush_at_exit_of_child)
    _telemetry = telemetry
    return telemetry


def _flush_at_exit_of_child(telemetry: Telemetry) -> None:
    """Let a child of multiprocessing flush; it leaves without running atexit."""
    multiprocessing_util.Finalize(None, telemetry.flush, exitpriority=100)


def _protocol(signal: str) -> str:
    for variable in (
        f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    ):
        value = os.environ.get(variable, "").strip()
        if value and value not in _PROTOCOLS:
            expected = " or ".join(_PROTOCOLS)
            raise ConfigError(f"{variable}: expected {expected}, got {value!r}")
        if value:
            return value
    return GRPC


def _span_exporter() -> SpanExporter:
    def make() -> SpanExporter:
        if _protocol("TRACES") == HTTP:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
                OTLPSpanExporter,
            )
        else:
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
                OTLPSpanExporter,
            )
        return OTLPSpanExporter()

    return _ProcessSpanExporter(make)


class _ProcessSpanExporter(SpanExporter):
    """Opens its connection in the process that uses it; gRPC survives no fork."""

    def __init__(self, make: Callable[[], SpanExporter]) -> None:
        self._make = make
        self._pid = os.getpid()
        self._exporter = make()

    def _current(self) -> SpanExporter:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._exporter = self._make()
        return self._exporter

    def export(self, spans: Any) -> Any:
        return self._current().export(spans)

    def shutdown(self) -> None:
        self._current().shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._current().force_flush(timeout_millis)


def _metric_exporter() -> MetricExporter:
    if _protocol("METRICS") == HTTP:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (
            OTLPMetricExporter,
        )
    else:
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import (
            OTLPMetricExporter,
        )

    exporter = OTLPMetricExporter()
    own_pid = os.getpid()
    export: Any = exporter.export

    def export_in_own_process(*args: Any, **kwargs: Any) -> MetricExportResult:
        # A child has readers and exporters of its own.
        if os.getpid() != own_pid:
            return MetricExportResult.SUCCESS
        return export(*args, **kwargs)

    exporter.export = export_in_own_process
    return exporter
