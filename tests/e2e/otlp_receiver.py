"""A real OTLP receiver for tests: gRPC and http/protobuf, on ports of the OS's choice.

It is made of the protocol's own generated stubs and shares no code with what it checks.
What arrives is kept as plain values; nothing is aggregated over time.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

import grpc
from opentelemetry.proto.collector.metrics.v1 import (
    metrics_service_pb2 as metrics_service,
)
from opentelemetry.proto.collector.metrics.v1 import (
    metrics_service_pb2_grpc as metrics_grpc,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """One span as it arrived. Ids are lower-case hex; no parent is ``""``."""

    name: str
    trace_id: str
    span_id: str
    parent_span_id: str
    scope: str
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedPoint:
    """One data point: ``value``, or of a histogram ``count`` and ``sum``.

    ``start`` and ``time`` are nanoseconds since the epoch, as sent.
    """

    metric: str
    unit: str
    start: int
    time: int
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any]
    value: float | None = None
    count: int | None = None
    sum: float | None = None


@dataclass(slots=True)
class Receiver:
    """What arrived so far, and where to send more."""

    grpc_endpoint: str = ""
    http_endpoint: str = ""
    protocols: set[str] = field(default_factory=set[str])
    _spans: list[ReceivedSpan] = field(default_factory=list[ReceivedSpan])
    _points: list[ReceivedPoint] = field(default_factory=list[ReceivedPoint])
    _arrived: Condition = field(default_factory=Condition)

    @property
    def spans(self) -> list[ReceivedSpan]:
        """Every span, in order of arrival."""
        with self._arrived:
            return list(self._spans)

    def wait_for_spans(
        self, wanted: Callable[[ReceivedSpan], bool], num: int, timeout_s: float = 60
    ) -> list[ReceivedSpan]:
        """Return the spans ``wanted``, once there are ``num`` or the time is up."""

        def found() -> list[ReceivedSpan]:
            return [span for span in self._spans if wanted(span)]

        with self._arrived:
            self._arrived.wait_for(lambda: len(found()) >= num, timeout_s)
            return found()

    def latest(self, metric: str) -> list[ReceivedPoint]:
        """Return the last point of each series of a metric: its cumulative total."""
        series: dict[tuple[Any, ...], ReceivedPoint] = {}
        with self._arrived:
            for point in self._points:
                if point.metric == metric:
                    key = (_frozen(point.resource), _frozen(point.attributes))
                    if key not in series or series[key].time <= point.time:
                        series[key] = point
        return list(series.values())

    def metric_names(self) -> set[str]:
        """Return the name of every metric that arrived."""
        with self._arrived:
            return {point.metric for point in self._points}

    def take_traces(
        self, request: trace_service.ExportTraceServiceRequest, protocol: str
    ) -> None:
        """Keep the spans of one export."""
        spans = list(_spans_of(request))
        with self._arrived:
            self.protocols.add(f"traces {protocol}")
            self._spans += spans
            self._arrived.notify_all()

    def take_metrics(
        self, request: metrics_service.ExportMetricsServiceRequest, protocol: str
    ) -> None:
        """Keep the points of one export."""
        points = list(_points_of(request))
        with self._arrived:
            self.protocols.add(f"metrics {protocol}")
            self._points += points
            self._arrived.notify_all()


@contextmanager
def receive() -> Generator[Receiver]:
    """Listen on both protocols for the length of a ``with`` block."""
    receiver = Receiver()
    grpc_server = grpc.server(ThreadPoolExecutor(max_workers=4))
    _register(grpc_server, receiver)
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    http_server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(receiver))
    receiver.grpc_endpoint = f"http://127.0.0.1:{port}"
    receiver.http_endpoint = f"http://127.0.0.1:{http_server.server_port}"
    thread = Thread(target=http_server.serve_forever, daemon=True)
    grpc_server.start()
    thread.start()
    try:
        yield receiver
    finally:
        http_server.shutdown()
        http_server.server_close()
        thread.join()
        grpc_server.stop(grace=None).wait()


def _register(server: grpc.Server, receiver: Receiver) -> None:
    class Traces(trace_grpc.TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:  # noqa: N802
            receiver.take_traces(request, "grpc")
            return trace_service.ExportTraceServiceResponse()

    class Metrics(metrics_grpc.MetricsServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:  # noqa: N802
            receiver.take_metrics(request, "grpc")
            return metrics_service.ExportMetricsServiceResponse()

    trace_grpc.add_TraceServiceServicer_to_server(Traces(), server)
    metrics_grpc.add_MetricsServiceServicer_to_server(Metrics(), server)


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    def take_traces(body: bytes) -> bytes:
        request = trace_service.ExportTraceServiceRequest.FromString(body)
        receiver.take_traces(request, "http/protobuf")
        return trace_service.ExportTraceServiceResponse().SerializeToString()

    def take_metrics(body: bytes) -> bytes:
        request = metrics_service.ExportMetricsServiceRequest.FromString(body)
        receiver.take_metrics(request, "http/protobuf")
        return metrics_service.ExportMetricsServiceResponse().SerializeToString()

    routes = {"/v1/traces": take_traces, "/v1/metrics": take_metrics}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            take = routes.get(self.path)
            answer = b"" if take is None else take(body)
            self.send_response(404 if take is None else 200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: object) -> None:
            """Stay silent: what arrived is asserted, not read."""

    return Handler


def _spans_of(
    request: trace_service.ExportTraceServiceRequest,
) -> Iterable[ReceivedSpan]:
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_spans:
            for span in scoped.spans:
                yield ReceivedSpan(
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_span_id=span.parent_span_id.hex(),
                    scope=scoped.scope.name,
                    attributes=_attributes(span.attributes),
                    resource=resource,
                )


def _points_of(
    request: metrics_service.ExportMetricsServiceRequest,
) -> Iterable[ReceivedPoint]:
    for group in request.resource_metrics:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_metrics:
            for metric in scoped.metrics:
                kind = metric.WhichOneof("data")
                for point in getattr(metric, kind).data_points:
                    yield ReceivedPoint(
                        metric=metric.name,
                        unit=metric.unit,
                        start=point.start_time_unix_nano,
                        time=point.time_unix_nano,
                        attributes=_attributes(point.attributes),
                        resource=resource,
                        **_numbers(kind, point),
                    )


def _numbers(kind: str, point: Any) -> dict[str, Any]:
    if kind in {"histogram", "exponential_histogram"}:
        return {"count": point.count, "sum": point.sum}
    return {"value": getattr(point, point.WhichOneof("value"))}


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind)


def _frozen(attributes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, repr(value)) for key, value in attributes.items()))
