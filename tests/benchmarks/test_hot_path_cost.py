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


def test_a_chunk_costs_at_most_2_percent_more(counts: Counts) -> None:
    assert counts["wrapped"]["chunk"] / counts["bare"]["chunk"] < 1.02


def test_a_plain_request_costs_no_more_than_was_measured(counts: Counts) -> None:
    ratio = counts["wrapped"]["plain_request"] / counts["bare"]["plain_request"]
    assert ratio < 1.40
