"""Streams that the garbage collector ends while other threads are recording.

A finaliser that records may run inside of the SDK's own lock: that has hung real
programs. Collections are made frequent here, so that they fall into such places.
"""

from __future__ import annotations

import gc
import itertools
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from callers import Caller
from opentelemetry.sdk.metrics import MetricsTimeoutError
from scripted_wire import Wire, answer

import otel_specdecode
from otel_specdecode.instrumentation import abandoned, captures
from otel_specdecode.recording import _sums, recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from telemetry import Telemetry

SYNC = Caller("sync")
NUM_RECORDING_THREADS = 3
LONGEST_WAIT_S = 60


@contextmanager
def frequent_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(40, 2, 2)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Load:
    """Threads that work until they are told to stop, and count what they did."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.num_requests = itertools.count()
        self.failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def start(self, work: Any, *values: Any) -> None:
        def run() -> None:
            try:
                while not self.stopping.is_set():
                    work(*values)
            except BaseException as error:  # noqa: BLE001
                self.failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self) -> None:
        self.stopping.set()
        for thread in self._threads:
            thread.join(LONGEST_WAIT_S)
        assert not any(thread.is_alive() for thread in self._threads)
        assert self.failures == []


def request_with_a_new_attribute_set(load: Load, client: Any) -> None:
    with otel_specdecode.tag(number=next(load.num_requests)):
        client.chat.completions.create(**SYNC.request())


def abandon_a_stream(load: Load, client: Any) -> None:
    stream = client.chat.completions.create(**SYNC.request(stream=True))
    next(stream)
    stream.of_itself = stream  # for the collector alone to find
    next(load.num_requests)


def read_metrics(telemetry: Telemetry) -> None:
    # The SDK gives a reading ten seconds, and so many collections take longer.
    with suppress(MetricsTimeoutError):
        telemetry.metrics()


@pytest.mark.parametrize(
    "seconds", [4, pytest.param(60, marks=pytest.mark.full)], ids="{}s".format
)
def test_nothing_hangs_and_nothing_is_lost(
    seconds: float, telemetry: Telemetry
) -> None:
    load = Load()
    with frequent_collections():
        for _ in range(NUM_RECORDING_THREADS):
            client = SYNC.wrapped(Wire(answer), telemetry)
            load.start(request_with_a_new_attribute_set, load, client)
        load.start(abandon_a_stream, load, SYNC.wrapped(Wire(answer), telemetry))
        load.start(read_metrics, telemetry)
        load.stopping.wait(seconds)
        load.stop()
    gc.collect()

    num_requests = next(load.num_requests)
    outcomes = [outcome for outcome, *_ in telemetry.requests()]
    assert len(telemetry.spans) == num_requests
    assert len(outcomes) == num_requests
    assert "abandoned" in outcomes
    assert "completed" in outcomes


def test_a_flush_waits_for_what_another_thread_is_recording(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, go_on = threading.Event(), threading.Event()

    def collect_slowly(record: Any) -> None:
        if threading.current_thread().name == "otel-specdecode-abandoned":
            recording.set()
            go_on.wait(LONGEST_WAIT_S)
        collect(record)

    collect = captures.collect
    monkeypatch.setattr(captures, "collect", collect_slowly)
    client = SYNC.wrapped(Wire(answer), telemetry)
    stream: Any = client.chat.completions.create(**SYNC.request(stream=True))
    next(stream)
    with otel_specdecode.capture() as records:
        stream = None
        gc.collect()
        assert recording.wait(LONGEST_WAIT_S)
        # A request does not wait for it.
        client.chat.completions.create(**SYNC.request())
        threading.Timer(0.05, go_on.set).start()
    assert sorted(record.outcome for record in records) == ["abandoned", "completed"]
    assert len(telemetry.spans) == 2


def test_a_flush_gives_up_when_recording_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(abandoned, "_LONGEST_WAIT_S", 0.01)
    held, release = threading.Event(), threading.Event()

    def hang() -> None:
        with abandoned._recording:
            held.set()
            release.wait(LONGEST_WAIT_S)

    thread = threading.Thread(target=hang)
    thread.start()
    held.wait(LONGEST_WAIT_S)
    with otel_specdecode.capture() as records:
        pass
    assert (records, release.is_set()) == ([], False)
    release.set()
    thread.join()


def test_attribute_sets_beyond_the_limit_go_to_the_overflow_and_the_sums_stay_right(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder.names, "MAX_ATTRIBUTE_SETS", 4)
    monkeypatch.setattr(_sums.Sums.__init__, "__defaults__", (4,))
    client = SYNC.wrapped(Wire(answer), telemetry)
    for number in range(10):
        with otel_specdecode.tag(number=number):
            client.chat.completions.create(**SYNC.request())
    points = telemetry.points("specdecode.client.output_tokens")
    overflow = [p for p in points if p.attributes == {"otel.metric.overflow": True}]
    assert len(points) == 4
    assert [point.value for point in overflow] == [7 * 7]
    assert telemetry.total("output_tokens") == 70
    rates = telemetry.points("specdecode.client.output_token_rate")
    assert sum(point.count for point in rates) == 10
    assert len(rates) == 4
