"""Every example runs, against the simulator and against a server that is given."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from otel_specdecode.simulator import Profile, Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = Path(sys.executable).parent
TESTED_HERE = {
    "async_service.py",
    "measure_tok_s.py",
    "quickstart.py",
    "raw_aiohttp.py",
    "raw_httpx.py",
    "raw_requests.py",
    "two_tasks.py",
    "zero_code",
}
# A whole answer of the MTP server, 128 tokens, as it knows them itself.
ANSWER = "128 tokens in 44 chunks"


def environment(**more: str) -> dict[str, str]:
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **more}


def run(
    *command: str, simulator: Simulator | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder of the examples."""
    if simulator is not None:
        more["OPENAI_BASE_URL"] = simulator.base_url
    return subprocess.run(
        command,
        cwd=EXAMPLES,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def example(name: str, *arguments: str, simulator: Simulator | None = None) -> str:
    """Run one to its end; nothing may be said on standard error."""
    done = run(sys.executable, "-W", "error", name, *arguments, simulator=simulator)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@contextmanager
def served(profile: str = "mtp", **changes: object) -> Iterator[Simulator]:
    changed: Profile = replace(named_profile(profile), time_scale=0, **changes)  # pyright: ignore[reportArgumentType]
    with simulate(changed) as sim:
        yield sim


def test_each_example_is_tried_below() -> None:
    files = {path.name for path in EXAMPLES.iterdir()} - {"README.md", "__pycache__"}
    assert {name for name in files if not name.startswith("_")} == TESTED_HERE


def test_the_quickstart_shows_tokens_and_chunks_without_a_server() -> None:
    assert example("quickstart.py").splitlines()[-1] == ANSWER


def test_the_quickstart_asks_a_server_that_is_given() -> None:
    with served("plain") as sim:
        out = example("quickstart.py", simulator=sim)
        assert sim.ledger.totals.num_output_tokens == 128
    assert re.search(r"^128 tokens in 1\d\d chunks$", out, re.MULTILINE)


@pytest.mark.parametrize("name", ["raw_requests.py", "raw_aiohttp.py"])
def test_raw_http_gives_the_same_numbers_as_the_server_knows(name: str) -> None:
    with served() as sim:
        out = example(name, simulator=sim)
        truth = sim.ledger.totals
    assert out.splitlines()[0] == (
        f"{truth.num_output_tokens} tokens in {truth.num_content_chunks} chunks"
    )
    assert f"num_accepted_draft_tokens={truth.num_accepted_draft_tokens}" in out


def test_raw_httpx_reads_a_stream_and_a_whole_answer() -> None:
    with served() as sim:
        streamed, whole = example("raw_httpx.py", simulator=sim).splitlines()
        assert sim.ledger.totals.num_requests == 2
    assert streamed.startswith("streamed: 64 tokens, Acceptance(")
    assert whole.removeprefix("whole") == streamed.removeprefix("streamed")


def test_two_tasks_are_tallied_apart() -> None:
    with served("ngram") as sim:
        out = example("two_tasks.py", simulator=sim)
        truth = sim.ledger.totals
    rows = {line.split()[0]: line.split()[1:4] for line in out.splitlines()[1:]}
    assert list(rows) == ["code", "chat"]
    sums = [sum(int(row[at]) for row in rows.values()) for at in range(3)]
    assert sums == [
        truth.num_spec_steps,
        truth.num_draft_tokens,
        truth.num_accepted_draft_tokens,
    ]
    rates = [int(row[2]) / int(row[1]) for row in rows.values()]
    assert rates[0] > rates[1]


def test_two_tasks_say_so_where_a_server_gives_no_acceptance() -> None:
    with served("plain") as sim:
        out = example("two_tasks.py", simulator=sim)
    assert out.splitlines()[1:] == [
        "code: the server sends no acceptance",
        "chat: the server sends no acceptance",
    ]


def test_the_harness_counts_tokens_and_not_chunks() -> None:
    with served() as sim:
        out = example("measure_tok_s.py", "--requests", "3", simulator=sim)
        # One more stream warms the server up.
        assert sim.ledger.totals.num_requests == 4
    assert re.search(r"^output tokens +384$", out, re.MULTILINE)
    assert re.search(r"^tokens per chunk +2\.\d\d$", out, re.MULTILINE)
    assert re.search(r"^draft acceptance rate +9\d\.\d%$", out, re.MULTILINE)


def test_the_harness_gives_no_rate_where_there_is_no_usage() -> None:
    with served("mtp", simulate="usage=absent") as sim:
        done = run(sys.executable, "measure_tok_s.py", "--requests", "2", simulator=sim)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "2 streams brought no usage: no rate\n"


def test_the_service_streams_answers_until_it_is_stopped() -> None:
    with (
        served() as sim,
        subprocess.Popen(
            [sys.executable, "-u", "async_service.py", "0"],
            cwd=EXAMPLES,
            env=environment(OPENAI_BASE_URL=sim.base_url),
            stdout=subprocess.PIPE,
            text=True,
        ) as service,
    ):
        assert service.stdout is not None
        url = re.search(r"http://[\d.:]+", service.stdout.readline())
        assert url is not None
        answer = httpx.post(f"{url[0]}/ask", content="What is a draft?", timeout=60)
        service.send_signal(signal.SIGTERM)
        assert service.wait(timeout=60) == 0
        assert sim.ledger.totals.num_output_tokens == 64
    assert (answer.status_code, bool(answer.text)) == (200, True)


@pytest.mark.parametrize("given", [True, False], ids=["a server", "no server"])
def test_a_program_without_a_line_of_ours_is_observed(given: bool) -> None:
    with served() as sim:
        done = run("zero_code/run.sh", simulator=sim if given else None)
    assert done.returncode == 0, done.stderr
    assert '"specdecode.usage": "forced"' in done.stdout
    assert '"gen_ai.usage.output_tokens": 32' in done.stdout
    assert '"name": "specdecode.client.accepted_tokens"' in done.stdout


def test_without_the_distro_the_script_says_what_it_needs(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")  # imports nothing
    python.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = run("zero_code/run.sh", PATH=path)
    assert done.returncode == 1
    assert done.stderr == "needs: pip install opentelemetry-distro\n"


def test_no_example_takes_chunks_for_tokens() -> None:
    # Where a client is wrapped, usage is asked for by us.
    linter = str(SCRIPTS / "otel-specdecode")
    done = run(linter, "lint", "--assume-instrumented", "--isolated", ".")
    assert done.returncode == 0, done.stdout
