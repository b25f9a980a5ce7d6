"""Fixtures of the wrapper's tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from callers import freeze_what_the_client_built
from telemetry import Telemetry

import otel_specdecode
import otel_specdecode.instrumentation  # its modules, whose clock is replaced below

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="session")
def _collections_are_quick() -> None:
    freeze_what_the_client_built()


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture(autouse=True)
def _no_foreign_context(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Hold what every test implies: contexts are left where they were entered."""
    yield
    assert "different Context" not in caplog.text
    assert "Failed to detach" not in caplog.text


@pytest.fixture
def instrumentor() -> Iterator[otel_specdecode.SpecDecodeInstrumentor]:
    """The instrumentor, whose hooks are out again at the test's end."""
    instrumentor = otel_specdecode.SpecDecodeInstrumentor()
    yield instrumentor
    if instrumentor.is_instrumented_by_opentelemetry:
        instrumentor.uninstrument()


class ManualClock:
    """Seconds that pass only when a test, or its server, says so."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at

    def tick(self) -> None:
        """Let ten milliseconds pass."""
        self.at += 0.010


@pytest.fixture
def manual_clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """In the place of the monotonic clock, wherever the wrapper reads it."""
    clock = ManualClock()
    for name, module in list(sys.modules.items()):
        if name.startswith("otel_specdecode.instrumentation.") and hasattr(
            module, "monotonic_s"
        ):
            monkeypatch.setattr(module, "monotonic_s", clock)
    return clock
