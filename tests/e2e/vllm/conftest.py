"""A real vLLM for each speculative method, started once and stopped whatever happens.

The short form takes the baseline, ``ngram`` (drafts only where it finds something, so
that steps without drafts occur) and ``draft_model`` (drafts in every step, is accepted
at every position, greedy and sampled alike): together they reach every case of the
arithmetic. The long form, marked ``full``, takes the others too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import vllm_env
from otlp_receiver import Receiver, receive
from vllm_server import METHODS, Server, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORT_FORM = ("baseline", "ngram", "draft_model")
_FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def figures(request: pytest.FixtureRequest) -> list[str]:
    """Lines that the end of the run shows, whether or not a test fails."""
    return request.config.stash.setdefault(_FIGURES, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    lines = config.stash.get(_FIGURES, [])
    if lines:
        terminalreporter.section("measured on the real vLLM")
    for line in lines:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    with receive() as listening:
        yield listening


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(name, marks=() if name in _SHORT_FORM else pytest.mark.full)
        for name in METHODS
    ],
)
def server(
    request: pytest.FixtureRequest,
    receiver: Receiver,
    figures: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    try:
        vllm_env.ensure_models()
    except SystemExit as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"vLLM cannot be installed here: {error}")
    log = tmp_path_factory.mktemp("vllm") / f"{request.param}.log"
    traces = ("--otlp-traces-endpoint", receiver.grpc_endpoint)
    with serve(METHODS[request.param], log, extra_flags=traces) as started:
        figures.append(f"{request.param}: ready after {started.started_in_s:.0f} s")
        yield started
