"""A backend that keeps what the collector sends it, byte for byte."""

from __future__ import annotations

import gzip
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import loopback
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
    from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Backend:
    """Everything that arrived.

    Attributes:
        bodies: path and uncompressed body of each request, in order.
        headers: the headers of each request.
    """

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def spans(self) -> list[Span]:
        """Every span, decoded."""
        return [
            span
            for path, body in list(self.bodies)
            if path == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def metrics(self) -> list[Metric]:
        """Every metric, decoded."""
        return [
            metric
            for path, body in list(self.bodies)
            if path == "/v1/metrics"
            for resource in ExportMetricsServiceRequest.FromString(
                body
            ).resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]

    def logs(self) -> list[LogRecord]:
        """Every log record, decoded."""
        return [
            record
            for path, body in list(self.bodies)
            if path == "/v1/logs"
            for resource in ExportLogsServiceRequest.FromString(body).resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def holding(self, text: str) -> list[str]:
        """The path of each request with a text anywhere in it."""
        return [path for path, body in list(self.bodies) if text.encode() in body]

    def times_arrived(self) -> Counter[bytes]:
        """How often each span arrived, by its id."""
        return Counter(span.span_id for span in self.spans())


@contextmanager
def serving(backend: Backend, port: int = 0) -> Iterator[Backend]:
    """Takes OTLP over HTTP for the length of a `with` block."""

    class Handler(loopback.Quiet):
        def post(self, body: bytes) -> None:
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            backend.bodies.append((self.path, body))
            backend.headers.append(dict(self.headers))
            self.reply(kind="application/x-protobuf")

    with loopback.serving(Handler, port) as backend.url:
        yield backend
