"""`configure()`: the SDK with OTLP exporters, as the standard `OTEL_*` variables say.

Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

import atexit
import multiprocessing
import platform
import sys
from multiprocessing import util as multiprocessing_util
from typing import TYPE_CHECKING

from opentelemetry import metrics, trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource

from otel_specdecode.instrumentation.recorders import keep_ours_apart
from otel_specdecode.otlp.exporters import span_exporter
from otel_specdecode.otlp.process_resource import ProcessResource
from otel_specdecode.otlp.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping

EXIT_TIMEOUT_S = 10.0

_telemetry: Telemetry | None = None


def configure(
    *,
    service_name: str | None = None,
    resource_attributes: Mapping[str, str] | None = None,
    metric_export_interval_s: float | None = None,
    exit_timeout_s: float = EXIT_TIMEOUT_S,
) -> Telemetry:
    """Set up the SDK with OTLP exporters for spans and metrics.

    Call it once, before or after forking, before or after wrapping a client.
    `OTEL_EXPORTER_OTLP_ENDPOINT` says where to, `OTEL_EXPORTER_OTLP_PROTOCOL` how:
    `grpc` (the default) or `http/protobuf`; `OTEL_TRACES_EXPORTER=none` and
    `OTEL_METRICS_EXPORTER=none` turn one of them off.

    What is left is exported at exit, also by the children of `multiprocessing`. A
    process that is killed, or that leaves with `os._exit`, exports nothing more:
    call `flush()` before it does.

    Every process has a `service.instance.id` of its own. One that is given (in
    `OTEL_RESOURCE_ATTRIBUTES`, say) gets the process id appended, since the workers
    of one server are all given the same.

    Args:
        service_name: `None` for `OTEL_SERVICE_NAME`.
        resource_attributes: added to those of `OTEL_RESOURCE_ATTRIBUTES`.
        metric_export_interval_s: seconds between exports; `None` for
            `OTEL_METRIC_EXPORT_INTERVAL`, else 60.
        exit_timeout_s: the longest that the end of the process waits for a
            collector, seconds.

    Returns:
        The providers; the same as before when called again.

    Raises:
        ConfigError: a variable names a protocol or an exporter that is not known.
    """
    global _telemetry  # noqa: PLW0603 (the SDK's providers are global too)
    if _telemetry is not None:
        return _telemetry
    _run_no_programs_later()
    extra = dict(resource_attributes or {})
    if service_name is not None:
        extra[SERVICE_NAME] = service_name
    telemetry = Telemetry(
        resource=ProcessResource.of(Resource.create(extra), extra),
        spans=span_exporter(),
        interval_s=metric_export_interval_s,
        exit_timeout_s=exit_timeout_s,
    )
    trace.set_tracer_provider(telemetry.tracer_provider)
    metrics.set_meter_provider(telemetry.meter_provider)
    keep_ours_apart(telemetry.meter_provider, telemetry.own_meter_provider)
    _shut_down_at_exit(telemetry)
    _telemetry = telemetry
    return telemetry


def _run_no_programs_later() -> None:
    """Under gevent, have run by now what openai's first request runs: `uname`.

    The SDK starts threads in every forked child, also in one that is about to execute
    a program; under gevent that runs the parent's greenlets there once more.
    Source: https://github.com/open-telemetry/opentelemetry-python/issues/4298
    """
    gevent = sys.modules.get("gevent.monkey")
    if gevent is not None and gevent.is_module_patched("threading"):
        platform.processor()  # kept by the standard library


def _shut_down_at_exit(telemetry: Telemetry) -> None:
    atexit.register(telemetry.shutdown)
    # The children of multiprocessing leave without running atexit.
    multiprocessing_util.register_after_fork(telemetry, _finalize_child)
    if multiprocessing.parent_process() is not None:
        _finalize_child(telemetry)


def _finalize_child(telemetry: Telemetry) -> None:
    multiprocessing_util.Finalize(None, telemetry.shutdown, exitpriority=100)
