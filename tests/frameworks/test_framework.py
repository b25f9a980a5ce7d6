"""Each program of a framework gives the same with us as without, and is counted right.

Run by `make frameworks` in the framework's own environment.
"""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import openai
import pytest
from application import Program, Setup
from comparison import comparable
from served_model import MODEL
from server_counters import window
from telemetry import Telemetry
from wiring import wiring_of

import otel_specdecode
from otel_specdecode import RequestRecord, SpecDecodeInstrumentor, Totals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RealServer

    from otel_specdecode.simulator import Simulator


FRAMEWORK = os.environ["SPECDECODE_FRAMEWORK"]
pytestmark = pytest.mark.full  # nothing here runs in `make test`, and some is slow


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@contextmanager
def said() -> Iterator[set[str]]:
    """Collect the warnings of a block, and what our package logs in it."""
    heard: set[str] = set()
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: heard.add(f"{record.name}: {record.getMessage()}")
    logger = logging.getLogger("otel_specdecode")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield heard
    finally:
        logger.removeHandler(handler)
    heard |= {
        comparable(f"{each.category}: {each.message}")
        for each in seen
        # Clients that frameworks leave open are collected in whichever run.
        if each.category is not ResourceWarning
    }


def _clients(setup: Setup, *, telemetry: Telemetry | None) -> Setup:
    """The same setup with clients to pass on; observed where there is telemetry."""
    options = {"base_url": setup.base_url, "api_key": "unused"}
    sync, asynchronous = openai.OpenAI(**options), openai.AsyncOpenAI(**options)
    if telemetry is not None:
        otel_specdecode.wrap(sync, **telemetry.providers)
        otel_specdecode.wrap(asynchronous, **telemetry.providers)
    return Setup(
        base_url=setup.base_url,
        model=setup.model,
        client=sync,
        async_client=asynchronous,
    )


def _observed_run(
    program: Program, setup: Setup, telemetry: Telemetry, *, given_client: bool
) -> tuple[Any, list[RequestRecord]]:
    with otel_specdecode.capture() as records:
        if given_client:
            given = program.run(_clients(setup, telemetry=telemetry))
        else:
            SpecDecodeInstrumentor().instrument(**telemetry.providers)
            try:
                given = program.run(setup)
            finally:
                SpecDecodeInstrumentor().uninstrument()
        gc.collect()
        otel_specdecode.record_of(None)  # what was collected is recorded first
    return given, list(records)


def test_a_program_gives_what_it_gives_without_us_and_is_counted_right(
    program: Program,
    given_client: bool,
    simulator: Simulator,
    telemetry: Telemetry,
) -> None:
    setup = Setup(base_url=simulator.base_url, model=simulator.model)
    start = simulator.ledger.totals
    with said() as said_without_us:
        bare = program.run(_clients(setup, telemetry=None) if given_client else setup)
    between = simulator.ledger.totals
    with said() as said_with_us:
        observed, records = _observed_run(
            program, setup, telemetry, given_client=given_client
        )
    truth = simulator.ledger.totals - between

    assert comparable(observed) == comparable(bare)
    assert said_with_us <= said_without_us
    assert truth.num_requests == (between - start).num_requests > 0
    if not program.observed:
        assert (records, telemetry.spans) == ([], [])
        return
    assert len(records) == len(telemetry.spans) == truth.num_requests
    assert {str(record.outcome) for record in records} == {program.left or "completed"}
    if program.left is None:
        assert _counted(records, telemetry, program) == _true(truth, program)


def _true(truth: Any, program: Program) -> dict[str, Any]:
    """The simulator's own T, R, D and C, as each of the three signals has them."""
    counts = {"T": truth.num_output_tokens}
    if program.acceptance:
        counts |= {
            "R": truth.num_spec_steps,
            "D": truth.num_draft_tokens,
            "C": truth.num_accepted_draft_tokens,
        }
        assert truth.num_draft_tokens > 0
    return dict.fromkeys(("records", "spans", "metrics"), counts)


_SIGNALS = {
    "T": ("gen_ai.usage.output_tokens", "output_tokens"),
    "R": ("specdecode.num_spec_steps", "spec_steps"),
    "D": ("specdecode.num_draft_tokens", "draft_tokens"),
    "C": ("specdecode.num_accepted_draft_tokens", "accepted_tokens"),
}


def _counted(
    records: list[RequestRecord], telemetry: Telemetry, program: Program
) -> dict[str, Any]:
    names = tuple(_SIGNALS) if program.acceptance else ("T",)
    totals = Totals.of(records)
    in_records = {"T": totals.num_output_tokens}
    if program.acceptance:
        assert totals.acceptance is not None
        in_records |= {
            "R": totals.acceptance.num_spec_steps,
            "D": totals.acceptance.num_draft_tokens,
            "C": totals.acceptance.num_accepted_draft_tokens,
        }
    spans = [span.attributes or {} for span in telemetry.spans]
    return {
        "records": in_records,
        "spans": {
            name: sum(int(span.get(_SIGNALS[name][0], 0)) for span in spans)
            for name in names
        },
        "metrics": {
            name: sum(
                point.value
                for point in telemetry.points(f"specdecode.client.{_SIGNALS[name][1]}")
            )
            for name in names
        },
    }


def test_a_program_is_counted_right_on_a_real_vllm(
    program: Program, vllm: RealServer, telemetry: Telemetry
) -> None:
    setup = Setup(base_url=f"{vllm.url}/v1", model=MODEL)
    bare = program.run(setup)
    with window(vllm) as opened:
        given, records = _observed_run(program, setup, telemetry, given_client=False)
    truth = opened.difference

    assert without_chunks(given) == without_chunks(bare)
    assert len(records) == len(telemetry.spans) == sum(opened.finished.values()) > 0
    counted = Totals.of(records)
    assert counted.num_output_tokens == truth.output_tokens
    if program.acceptance:
        assert counted.acceptance is not None
        assert (
            counted.acceptance.num_spec_steps,
            counted.acceptance.num_draft_tokens,
            counted.acceptance.num_accepted_draft_tokens,
            counted.acceptance.accepted_by_position,
        ) == (
            truth.spec_steps,
            truth.draft_tokens,
            truth.accepted_tokens,
            truth.by_position,
        )


def without_chunks(given: Any) -> str:
    """What a program gave, less how a real engine happened to cut it up."""
    if isinstance(given, tuple):
        return "\n".join(map(without_chunks, given))
    if isinstance(given, dict):
        given = {name: each for name, each in given.items() if name != "chunks"}
    return comparable(given)


@pytest.mark.skipif(
    FRAMEWORK == "litellm-proxy", reason="wired by a command: test_litellm_proxy.py"
)
def test_the_wiring_that_the_documents_show_works(
    at_once: Simulator, tmp_path: Path
) -> None:
    (program,) = wiring_of(FRAMEWORK)
    file = tmp_path / "wiring.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        env={
            **os.environ,
            "OPENAI_BASE_URL": at_once.base_url,
            "OPENAI_API_KEY": "unused",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "otel_specdecode" not in done.stderr
