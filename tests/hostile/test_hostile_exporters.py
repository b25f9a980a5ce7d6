"""Exporters that hang, refuse or raise: calls go on, queues are short, sums right.

The calls are made while the exporter hangs, so a call that waited for it would never
return. How a process ends with such a collector is in `tests/processes`.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from callers import CHAT_CALLERS, Caller
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    InMemoryMetricReader,
    MetricExporter,
    MetricExportResult,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from scripted_wire import Wire, answer

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan

QUEUE, BATCH = 16, 4
NUM_REQUESTS = 60


class CollectorDownError(Exception):
    """What an exporter raises that has no way out."""


class Collector:
    """Takes spans and metrics, or does not."""

    def __init__(self, answer: Callable[[Collector], bool]) -> None:
        self._answer = answer
        self.asked = Event()
        self.open = Event()
        self.num_spans = 0

    def take(self, num_spans: int) -> bool:
        self.asked.set()
        self.num_spans += num_spans
        return self._answer(self)


class Spans(SpanExporter):
    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        taken = self._collector.take(len(spans))
        return SpanExportResult.SUCCESS if taken else SpanExportResult.FAILURE


class Metrics(MetricExporter):
    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self._collector = collector

    def export(
        self, metrics_data: Any, timeout_millis: float = 0, **_: Any
    ) -> MetricExportResult:
        taken = self._collector.take(0)
        return MetricExportResult.SUCCESS if taken else MetricExportResult.FAILURE

    def force_flush(self, timeout_millis: float = 0) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 0, **_: Any) -> None:
        pass


def hang(collector: Collector) -> bool:
    collector.open.wait()
    return True


def refuse(collector: Collector) -> bool:
    return False


def fail(collector: Collector) -> bool:
    raise CollectorDownError


@pytest.fixture(params=[hang, refuse, fail], ids=["hangs", "refuses", "raises"])
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    made = Collector(request.param)
    yield made
    made.open.set()


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_calls_wait_for_no_exporter_and_lose_no_count(
    caller: Caller, collector: Collector
) -> None:
    batches = BatchSpanProcessor(
        Spans(collector), max_queue_size=QUEUE, max_export_batch_size=BATCH
    )
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(batches)
    sums = InMemoryMetricReader()
    exported = PeriodicExportingMetricReader(
        Metrics(collector), export_interval_millis=60_000
    )
    meters = MeterProvider([sums, exported], shutdown_on_exit=False)
    client = otel_specdecode.wrap(
        caller.bare(Wire(answer)), tracer_provider=tracers, meter_provider=meters
    )
    with otel_specdecode.capture() as records:
        for _ in range(NUM_REQUESTS):
            assert len(await caller.read(await caller.stream(client))) == 4

    assert collector.asked.wait()
    assert [record.num_output_tokens for record in records] == [7] * NUM_REQUESTS
    assert total(sums, "specdecode.client.requests") == NUM_REQUESTS
    assert total(sums, "specdecode.client.accepted_tokens") == 4 * NUM_REQUESTS
    collector.open.set()
    tracers.shutdown()
    meters.shutdown()


async def test_spans_for_which_there_is_no_room_are_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED", "true")
    collector, caller, sums = Collector(hang), Caller("sync"), InMemoryMetricReader()
    meters = MeterProvider([sums], shutdown_on_exit=False)
    batches = BatchSpanProcessor(
        Spans(collector),
        max_queue_size=QUEUE,
        max_export_batch_size=BATCH,
        meter_provider=meters,
    )
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(batches)
    client = otel_specdecode.wrap(
        caller.bare(Wire(answer)), tracer_provider=tracers, meter_provider=meters
    )
    for _ in range(BATCH):
        await caller.create(client)
    assert collector.asked.wait()
    for _ in range(NUM_REQUESTS):
        await caller.create(client)
    collector.open.set()
    tracers.shutdown()

    assert collector.num_spans <= BATCH + QUEUE + BATCH
    dropped = total(sums, "otel.sdk.processor.span.processed", "queue_full")
    assert collector.num_spans + dropped == BATCH + NUM_REQUESTS
    assert total(sums, "specdecode.client.requests") == BATCH + NUM_REQUESTS


def total(
    reader: InMemoryMetricReader, name: str, error_type: str | None = None
) -> float:
    data = reader.get_metrics_data()
    assert data is not None
    return sum(
        point.value
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == name
        for point in metric.data.data_points
        if point.attributes.get("error.type") == error_type
    )
