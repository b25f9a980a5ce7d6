"""What a chunk and a request cost over the bare client, in bytecode instructions.

Instructions are counted and not timed, so a busy machine changes nothing. The limits
are what was measured (`benchmarks/README.md`) and a little room.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "overhead.py"

Counts = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def counts() -> Counts:
    # Coverage counts lines with the same hook that counts instructions here.
    environ = {k: v for k, v in os.environ.items() if "COV" not in k}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--opcodes"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=environ,
    )
    return json.loads(done.stdout)


def ratio(counts: Counts, figure: str) -> float:
    return counts["wrapped"][figure] / counts["bare"][figure]


@pytest.mark.parametrize("chunk", ["chunk", "chunk_async"])
def test_a_chunk_costs_at_most_2_percent_more(counts: Counts, chunk: str) -> None:
    assert ratio(counts, chunk) < 1.02


@pytest.mark.parametrize("request_", ["plain_request", "plain_request_async"])
def test_a_plain_request_costs_no_more_than_was_measured(
    counts: Counts, request_: str
) -> None:
    """Of the 1.315, 1.22 are OpenTelemetry's own (`benchmarks/sdk_share.py`)."""
    assert ratio(counts, request_) < 1.32


def test_a_site_once_examined_costs_its_next_stream_nothing_a_chunk(
    counts: Counts,
) -> None:
    """Finding who reads is a few hundred instructions a stream, of 770,000."""
    checked, unchecked = counts["wrapped"], counts["unchecked"]
    assert abs(checked["chunk"] - unchecked["chunk"]) < 0.001 * unchecked["chunk"]
    assert checked["stream"] - unchecked["stream"] < 0.001 * unchecked["stream"]
