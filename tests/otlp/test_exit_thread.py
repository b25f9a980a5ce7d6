"""The thread that shuts down: none in a child that only executes a program."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.resources import Resource

from otel_specdecode.otlp import Telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "otel-specdecode-exit"


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    made = Telemetry(
        resource=Resource.create(), spans=None, interval_s=None, exit_timeout_s=5
    )
    yield made
    made.shutdown()


def num_threads() -> int:
    return sum(thread.name == NAME for thread in threading.enumerate())


def exit_code_of_child(work: object) -> int:
    pid = os.fork()
    if pid == 0:  # the child must not go on with the tests
        try:
            os._exit(int(work()))
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_forked_child_has_no_thread_until_it_makes_a_request(
    telemetry: Telemetry,
) -> None:
    assert num_threads() >= 1
    assert exit_code_of_child(num_threads) == 0

    def ask() -> int:
        telemetry.own_meter_provider()
        return num_threads()

    assert exit_code_of_child(ask) >= 1


def test_a_child_without_requests_shuts_down_all_the_same(
    telemetry: Telemetry,
) -> None:
    assert exit_code_of_child(telemetry.shutdown) == 1


def test_where_no_thread_can_be_started_any_more_it_is_done_in_place(
    telemetry: Telemetry,
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    def late() -> bool:
        threading.Thread.start = refuse
        return telemetry.shutdown()

    assert exit_code_of_child(late) == 1
