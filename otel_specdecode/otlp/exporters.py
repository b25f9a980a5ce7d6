"""Which OTLP exporters the standard variables ask for, made safe to fork."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics.export import MetricExportResult

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.trace.export import SpanExporter

GRPC = "grpc"
HTTP = "http/protobuf"
OTLP = "otlp"
NONE = "none"


def span_exporter() -> SpanExporter | None:
    """Return the exporter of spans; `None` where a variable says `none`.

    Raises:
        ConfigError: a variable names a protocol or an exporter that is not known.
    """
    if _exporter("TRACES") == NONE:
        return None
    if _protocol("TRACES") == HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )
    else:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
            OTLPSpanExporter,
        )
    exporter: Any = _PerProcess(OTLPSpanExporter)
    return exporter


def metric_exporter(*, this_process_only: bool = False) -> MetricExporter | None:
    """Return an exporter of metrics; `None` where a variable says `none`.

    Args:
        this_process_only: export nothing in a forked child.

    Raises:
        ConfigError: a variable names a protocol or an exporter that is not known.
    """
    if _exporter("METRICS") == NONE:
        return None
    if _protocol("METRICS") == HTTP:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (
            OTLPMetricExporter,
        )
    else:
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import (
            OTLPMetricExporter,
        )
    if this_process_only:
        here: Any = OTLPMetricExporter()
        here.export = _only_here(here.export)
        return here
    exporter: Any = _PerProcess(OTLPMetricExporter)
    return exporter


class _PerProcess:
    """Stands for an exporter whose connection is opened by the process that uses it.

    A connection that parent and child share mixes their bytes, and gRPC's does not
    survive a fork at all.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        # Those of parents are kept: to close them here would disturb theirs.
        self._by_pid: dict[int, Any] = {os.getpid(): make()}

    def __getattr__(self, name: str) -> Any:
        pid = os.getpid()
        exporter = self._by_pid.get(pid)
        if exporter is None:
            exporter = self._by_pid[pid] = self._make()
        return getattr(exporter, name)


def _only_here(export: Callable[..., Any]) -> Callable[..., Any]:
    own_pid = os.getpid()

    def export_here(*args: Any, **kwargs: Any) -> Any:
        if os.getpid() != own_pid:
            return MetricExportResult.SUCCESS
        return export(*args, **kwargs)

    return export_here


def _exporter(signal: str) -> str:
    return _chosen((f"OTEL_{signal}_EXPORTER",), (OTLP, NONE))


def _protocol(signal: str) -> str:
    variables = (
        f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    )
    return _chosen(variables, (GRPC, HTTP))


def _chosen(variables: tuple[str, ...], allowed: tuple[str, str]) -> str:
    """Return the first value that is set; the first allowed one is the default."""
    for variable in variables:
        value = os.environ.get(variable, "").strip()
        if value and value not in allowed:
            expected = " or ".join(allowed)
            raise ConfigError(f"{variable}: expected {expected}, got {value!r}")
        if value:
            return value
    return allowed[0]
