"""Traffic for the tests: the application, and telemetry of other programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opentelemetry._logs import LogRecord
    from opentelemetry.metrics import Meter
    from opentelemetry.sdk.metrics.view import View
    from opentelemetry.trace import Tracer

APPLICATION = Path(__file__).with_name("application.py")
NEVER = 3_600_000.0


def run_application(
    otlp_url: str,
    targets: Sequence[Mapping[str, Any]],
    *,
    pause_s: float = 0.0,
    export_interval_s: float = 1.0,
) -> dict[str, Any]:
    """Runs the application to its end; its sums by model, and its trace ids."""
    plan = {
        "targets": list(targets),
        "pause_s": pause_s,
        "export_interval_s": export_interval_s,
    }
    env = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": otlp_url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_SERVICE_NAME": "application",
    }
    done = subprocess.run(
        (sys.executable, str(APPLICATION)),
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@contextmanager
def other_program(
    otlp_url: str, *views: View, **resource: str
) -> Iterator[tuple[Tracer, Meter]]:
    """A tracer and a meter of another program, flushed when the block ends."""
    attributes = Resource({"service.name": "other", **resource})
    tracers = TracerProvider(resource=attributes)
    exporter = OTLPSpanExporter(endpoint=f"{otlp_url}/v1/traces")
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    reader = PeriodicExportingMetricReader(
        OTLPMetricExporter(endpoint=f"{otlp_url}/v1/metrics"),
        export_interval_millis=NEVER,
    )
    meters = MeterProvider(resource=attributes, metric_readers=[reader], views=views)
    try:
        yield tracers.get_tracer("other"), meters.get_meter("other")
        meters.force_flush()
    finally:
        tracers.shutdown()
        meters.shutdown()


def send_logs(otlp_url: str, scope: str, *records: LogRecord) -> None:
    """Log records of another program, under the name of one logger."""
    loggers = LoggerProvider(resource=Resource({"service.name": "other"}))
    exporter = OTLPLogExporter(endpoint=f"{otlp_url}/v1/logs")
    loggers.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    for record in records:
        loggers.get_logger(scope).emit(record)
    loggers.shutdown()


def send_counter(
    otlp_url: str, name: str, value: int, attributes: Mapping[str, str]
) -> None:
    """One observable counter of another program, once."""
    with other_program(otlp_url, **{"service.instance.id": name}) as (_, meter):
        meter.create_observable_counter(
            name, callbacks=[lambda _: [Observation(value, attributes)]]
        )
