"""Flushing while a collector hangs: bounded in time and in threads, and caught up."""

from __future__ import annotations

import threading
from threading import Event
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from otel_specdecode.otlp import Telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan

NAME = "otel-specdecode-flush"


class Collector(SpanExporter):
    """Takes nothing until it is opened."""

    def __init__(self) -> None:
        self.open = Event()
        self.names: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.open.wait()
        self.names += [span.name for span in spans]
        return SpanExportResult.SUCCESS


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.open.set()


@pytest.fixture
def telemetry(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Telemetry]:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    made = Telemetry(
        resource=Resource.create(), spans=collector, interval_s=None, exit_timeout_s=5
    )
    yield made
    collector.open.set()
    made.shutdown()


def record(telemetry: Telemetry, name: str) -> None:
    telemetry.tracer_provider.get_tracer("app").start_span(name).end()


def test_while_a_collector_hangs_one_thread_flushes_for_all_who_ask(
    telemetry: Telemetry, collector: Collector
) -> None:
    for number in range(30):
        record(telemetry, str(number))
        assert not telemetry.flush(0.001)
    assert sum(thread.name == NAME for thread in threading.enumerate()) == 1

    collector.open.set()
    record(telemetry, "last")
    assert telemetry.flush(60)
    assert collector.names == [*map(str, range(30)), "last"]


def test_a_flush_that_fails_says_so_and_the_next_one_works(
    telemetry: Telemetry, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise TimeoutError

    collector.open.set()
    with monkeypatch.context() as patched:
        patched.setattr(telemetry.meter_provider, "force_flush", fail)
        record(telemetry, "one")
        assert not telemetry.flush(0.1)
    record(telemetry, "two")
    assert telemetry.flush(60)
    assert collector.names == ["one", "two"]
