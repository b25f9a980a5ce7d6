"""A program that takes chunks for tokens is told once, with the factor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("program.py")
WARNING = re.compile(r"ChunkCountWarning: (\w+) takes chunks for tokens \((\w+)\)")


def run(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "OTEL_SPECDECODE_RERAISE": "true", **variables}
    return subprocess.run(
        [sys.executable, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environ,
        cwd=PROGRAM.parent,
    )


@pytest.fixture(scope="module")
def done() -> subprocess.CompletedProcess[str]:
    return run(PROGRAM.name)


def test_each_function_that_counts_chunks_is_named_once_and_no_other(done) -> None:
    named = WARNING.findall(done.stderr)
    assert sorted(named) == [
        ("counts_chunks", "SPD001"),
        ("counts_in_a_task", "SPD001"),
        ("times_it", "SPD001"),
    ], done.stderr


def test_the_warning_gives_file_line_and_measured_factor(done) -> None:
    line = next(
        n
        for n, text in enumerate(PROGRAM.read_text().splitlines(), 1)
        if "num_tokens / (time.perf_counter() - started)" in text
    )
    assert f"program.py:{line}: ChunkCountWarning" in done.stderr
    assert (
        "44 chunks carried 128 tokens: this rate is 2.91 times too low" in done.stderr
    )


def test_the_span_of_a_later_stream_is_marked(done) -> None:
    said = json.loads(done.stdout)
    assert said["marks"] == ["SPD001"]
    assert said["events"][0]["factor"] == 2.91


def test_warnings_as_errors_change_nothing_for_the_program(done) -> None:
    strict = run("-W", "error", PROGRAM.name)
    assert (strict.returncode, json.loads(strict.stdout)["marks"]) == (0, ["SPD001"])
    assert "Traceback" not in strict.stderr
    assert "44 chunks carried 128 tokens" in strict.stderr


def test_a_variable_turns_it_off() -> None:
    script = (
        "import program; from openai import OpenAI; import otel_specdecode\n"
        "from otel_specdecode.simulator import simulate, named_profile\n"
        "from dataclasses import replace\n"
        "with simulate(replace(named_profile('mtp'), time_scale=0)) as sim:\n"
        "    client = OpenAI(base_url=sim.base_url, api_key='x')\n"
        "    otel_specdecode.wrap(client)\n"
        "    program.counts_chunks(client, sim.model)\n"
    )
    on = run("-c", script)
    off = run("-c", script, OTEL_SPECDECODE_CHUNK_COUNT_CHECK="false")
    assert (on.returncode, off.returncode) == (0, 0)
    assert WARNING.findall(on.stderr) == [("counts_chunks", "SPD001")]
    assert off.stderr == ""


def test_code_without_a_source_file_is_silent() -> None:
    script = PROGRAM.read_text().replace(
        "while time.monotonic() < deadline and not marks(exporter):", "while False:"
    )
    typed = run("-c", script)
    assert (typed.returncode, WARNING.findall(typed.stderr)) == (0, [])
