"""How a program ends: what is left goes out, and a collector cannot hold it up."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from fleet_sums import CLIENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from telemetry_bench import Bench

PROGRAM = ("one_program.py", "configure")
NUM_REQUESTS = 21
# As the program has it without any telemetry.
PRINTED, EXIT_CODE = "assistant\n", 7
# Longer than any test may take: only our own bound can end the wait.
FOREVER_S = "3600"
FOREVER = {
    "OTEL_EXPORTER_OTLP_TIMEOUT": FOREVER_S,
    "OTEL_BSP_SCHEDULE_DELAY": "20",
    "OTEL_METRIC_EXPORT_TIMEOUT": "3600000",
}


@contextmanager
def collector_that_hangs() -> Iterator[str]:
    """It takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def collector_that_refuses() -> Iterator[str]:
    """Its port is taken, and nobody listens there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_short_program_exports_all_at_exit_also_the_stream_it_left_open(
    bench: Bench,
) -> None:
    ended = bench.run(*PROGRAM)

    assert (ended.stdout, ended.returncode) == (PRINTED, EXIT_CODE)
    outcomes: dict[str, float] = {}
    for point in bench.receiver.latest(f"{CLIENT}requests"):
        outcome = point.attributes["specdecode.outcome"]
        outcomes[outcome] = outcomes.get(outcome, 0) + (point.value or 0)
    assert outcomes == {"completed": NUM_REQUESTS - 1, "abandoned": 1}
    assert len(bench.receiver.spans) == NUM_REQUESTS


@pytest.mark.parametrize(
    ("collector", "protocol"),
    [
        (collector_that_hangs, "grpc"),
        (collector_that_hangs, "http/protobuf"),
        (collector_that_refuses, "grpc"),
    ],
)
def test_a_collector_that_fails_neither_delays_calls_nor_the_end(
    bench: Bench, collector: type, protocol: str
) -> None:
    with collector() as endpoint:
        ended = bench.run(
            *(*PROGRAM, "impatient"),
            protocol=protocol,
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            **FOREVER,
        )

    assert (ended.stdout, ended.returncode) == (PRINTED, EXIT_CODE)
    assert bench.simulator.ledger.totals.num_requests == NUM_REQUESTS
