"""Which framework is here: `scripts/frameworks.py` says so, and runs one at a time.

Elsewhere its packages are not installed, and only the tests of the table run.
"""

from __future__ import annotations

import itertools
import os
import urllib.request
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from otel_specdecode.simulator import Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from application import Program

FRAMEWORK = os.environ.get("SPECDECODE_FRAMEWORK")
_PROFILE = replace(
    named_profile("ngram"), timing_fields=True, end_after_tokens=50, tool_calls=True
)
collect_ignore = [
    *(() if FRAMEWORK else ("test_framework.py",)),
    *(() if FRAMEWORK == "litellm-proxy" else ("test_litellm_proxy.py",)),
    # Speaks of all frameworks, and runs in `make test`.
    *(("test_frameworks_table.py",) if FRAMEWORK else ()),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealServer:
    """The vLLM that `scripts/frameworks.py` has started, one for all frameworks."""

    url: str

    def metrics_text(self) -> str:
        """Return what `/metrics` says now."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as answer:
            return answer.read().decode()


def application() -> Any:
    """The module of the programs of the framework that is here."""
    assert FRAMEWORK is not None
    return import_module("applications." + FRAMEWORK.replace("-", "_"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" not in metafunc.fixturenames:
        return
    module = application()
    programs: tuple[Program, ...] = module.PROGRAMS
    if "given_client" not in metafunc.fixturenames:
        fit = (each.on_vllm and each.observed and not each.left for each in programs)
        chosen = list(itertools.compress(programs, fit))
        metafunc.parametrize("program", chosen, ids=lambda each: each.name)
        return
    pairs = [
        pytest.param(program, given, id=f"{program.name}-{how}")
        for given, how in ((False, "instrumented"), (True, "wrapped"))
        for program in programs
        if not given or (module.TAKES_CLIENT and program.given_client)
    ]
    metafunc.parametrize(("program", "given_client"), pairs)


@pytest.fixture(scope="session")
def at_once() -> Iterator[Simulator]:
    """A server that has the whole answer ready."""
    with simulate(replace(_PROFILE, time_scale=0)) as running:
        yield running


@pytest.fixture(scope="session")
def vllm() -> RealServer:
    if (url := os.environ.get("SPECDECODE_VLLM")) is None:
        pytest.skip("no real vLLM: not installed, or left out with --no-vllm")
    return RealServer(url=url)


@pytest.fixture(scope="session")
def taking_its_time() -> Iterator[Simulator]:
    """A server whose answer can be left before its end."""
    with simulate(_PROFILE) as running:
        yield running


@pytest.fixture
def simulator(
    program: Program, at_once: Simulator, taking_its_time: Simulator
) -> Simulator:
    return taking_its_time if program.left else at_once
