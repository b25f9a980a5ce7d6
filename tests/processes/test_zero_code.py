"""`opentelemetry-instrument python program.py`: no line of code, and no surprise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from telemetry_bench import LONGEST_S, PROGRAMS

if TYPE_CHECKING:
    from telemetry_bench import Bench

# As the program has it without any telemetry.
PRINTED, EXIT_CODE = "assistant\n", 7
NUM_REQUESTS = 21


def run_instrumented(
    bench: Bench, protocol: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    launcher = Path(sys.executable).with_name("opentelemetry-instrument")
    return subprocess.run(
        [launcher, sys.executable, "one_program.py"],
        env=bench.environment(
            protocol, OTEL_LOGS_EXPORTER="none", OTEL_SPECDECODE_RERAISE="", **variables
        ),
        cwd=PROGRAMS,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_spans_and_metrics_go_out_without_a_line_of_code(
    bench: Bench, protocol: str
) -> None:
    ended = run_instrumented(bench, protocol)

    assert (ended.stdout, ended.returncode) == (PRINTED, EXIT_CODE)
    points = bench.receiver.latest("specdecode.client.requests")
    assert sum(point.value or 0 for point in points) == NUM_REQUESTS
    assert {span.scope for span in bench.receiver.spans} == {"otel_specdecode"}
    assert len(bench.receiver.spans) == NUM_REQUESTS
    assert bench.receiver.protocols == {f"traces {protocol}", f"metrics {protocol}"}


def test_a_wrong_variable_is_one_warning_and_the_program_runs(bench: Bench) -> None:
    ended = run_instrumented(bench, "grpc", OTEL_SPECDECODE_USAGE="sometimes")

    assert (ended.stdout, ended.returncode) == (PRINTED, EXIT_CODE)
    assert ended.stderr.splitlines() == [
        (
            "otel-specdecode is off: OTEL_SPECDECODE_USAGE: expected one of"
            " always, unset, never, got 'sometimes'"
        )
    ]
    assert bench.receiver.spans == []


def test_the_standard_variable_turns_it_off(bench: Bench) -> None:
    ended = run_instrumented(
        bench, "grpc", OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="specdecode"
    )

    assert (ended.stdout, ended.stderr, ended.returncode) == (PRINTED, "", EXIT_CODE)
    assert bench.receiver.spans == []
