"""Every function of ours made to fail in turn, under every way to use a client.

Whatever fails, the caller sees what a bare client shows, the cause is logged once, no
span stays open, and every request is counted: under its outcome, or as lost.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from callers import collect_garbage
from calls import CALLS, caller_of, client_of
from opentelemetry.sdk.trace import SpanProcessor
from own_functions import (
    OurFaultError,
    OwnFunction,
    calls_noted,
    functions_of,
    own_modules,
)
from telemetry import Telemetry

from otel_specdecode.instrumentation import _guard, consumers, requests, streams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from opentelemetry.sdk.trace import ReadableSpan

MODES = ("sync", "async")
CASES = [(name, mode) for name in CALLS for mode in MODES]
MODULES = {module.__name__: module for module in own_modules()}
SHORT = 6
"""Ways to use a client that each function fails under in the short form."""

_hook = "instrumentation.requests.observed_request"
_steps = "instrumentation.streams.ObservedIterator"
SHIELDS = {
    "instrumentation._guard.attempt": "keeps failures away from the caller",
    "instrumentation._guard.attempt_or": "the same, and does something else instead",
    "instrumentation._guard.failed": "logs what they kept away",
    "instrumentation._guard.warn": "logs, whatever a handler of the program does",
    _hook: "the hook: the client's call, and shields around it",
    f"{_hook}_async": "the same, awaited",
    "instrumentation.context.in_turns": "awaits the client's call for it",
    "instrumentation.context._awaited": "the same",
    f"{_steps}.__iter__": "returns itself",
    f"{_steps}.__next__": "the client's step, and shields around it",
    _steps.replace("Observed", "AsyncObserved") + ".__aiter__": "returns itself",
    _steps.replace("Observed", "AsyncObserved") + ".__anext__": "the same, awaited",
    "instrumentation.streams._ObservedSteps.__del__": "a finaliser, shielded within",
    "instrumentation.raw_body.RawBody.__del__": "the same",
    "instrumentation.tags.tag": "the application calls it, and no hook does",
    "instrumentation.captures.record_of": "the same",
}
"""What stands between the caller and ours, and so is not made to fail."""

FINALISING = {
    "instrumentation.abandoned.put",
    "instrumentation.abandoned.put_unended",
    "instrumentation.observation.Observation.ended",
}
"""A finaliser must not record, so what it fails to queue has no end."""

COUNTING = {"recording._sums.Cell.__init__", "recording._sums.Sums.cell"}
"""What a loss itself is counted with."""


class OpenSpans(SpanProcessor):
    """Knows which spans have started and not ended."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.names[span.context.span_id] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        assert span.context is not None
        del self.names[span.context.span_id]


@pytest.fixture(autouse=True)
def _as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SPECDECODE_RERAISE")
    # What is logged for debugging is ours as well, and may fail.
    monkeypatch.setattr(_guard.logger, "level", logging.DEBUG)


async def _use(case: tuple[str, str], client: Any) -> Any:
    call = CALLS[case[0]]
    return await call.use(caller_of(call, case[1]), client)


def use(case: tuple[str, str], providers: dict[str, Any] | None) -> Any:
    return asyncio.run(_use(case, client_of(CALLS[case[0]], case[1], providers)))


@cache
def bare(case: tuple[str, str]) -> Any:
    """What the caller of a bare client sees."""
    return use(case, None)


def start_anew() -> None:
    """Forget what earlier requests have left, so that all of it is made again."""
    for kept in (requests.refusals._until, consumers._consumers, _guard._seen):
        kept.clear()
    streams.observing.cache_clear()
    OurFaultError.num_raised = 0


@cache
def codes_called(case: tuple[str, str]) -> frozenset[CodeType]:
    """What runs when nothing fails."""
    client = client_of(CALLS[case[0]], case[1], Telemetry().providers)
    start_anew()
    with calls_noted() as called:
        asyncio.run(_use(case, client))
    return frozenset(called)


def cases_of(own: OwnFunction) -> list[tuple[str, str]]:
    """The uses of a client that pass through a function."""
    return [case for case in CASES if own.function.__code__ in codes_called(case)]


def complaints(
    own: OwnFunction, cases: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> Iterator[str]:
    """Let a function fail, and say what was not as it shall be."""
    telemetry, spans = Telemetry(), OpenSpans()
    telemetry.tracer_provider.add_span_processor(spans)
    clients = {
        case: client_of(CALLS[case[0]], case[1], telemetry.providers) for case in cases
    }
    expected = {case: bare(case) for case in cases}
    start_anew()
    caplog.clear()
    with own.failing():
        for case, client in clients.items():
            seen = attempted(case, client)
            if seen != expected[case]:
                yield f"{case}: {seen!r} in the place of {expected[case]!r}"
        asyncio.run(collect_garbage())
        for thread in consumers._threads:
            thread.join()
    if OurFaultError.num_raised:
        yield from losses(own, cases, telemetry, spans)
        warnings = [one for one in caplog.records if one.levelno > logging.DEBUG]
        logged = [one.getMessage() for one in warnings]
        logged = [text for text in logged if "refuses stream_options" not in text]
        if [text.partition(" failed with ")[2][:13] for text in logged] != [
            "OurFaultError"
        ]:
            yield f"logged {logged}"
        if "the prompt was" in caplog.text:
            yield "a prompt was logged"


def attempted(case: tuple[str, str], client: Any) -> Any:
    """What the caller sees, an exception that he should not see included."""
    try:
        return asyncio.run(_use(case, client))
    except Exception as error:  # noqa: BLE001 (what the test is about)
        return error


def losses(
    own: OwnFunction,
    cases: list[tuple[str, str]],
    telemetry: Telemetry,
    spans: OpenSpans,
) -> Iterator[str]:
    """Say what was neither recorded nor counted as lost."""
    num_requests = sum(CALLS[case[0]].num_requests for case in cases)
    counted, lost = telemetry.total("requests"), telemetry.total("telemetry_dropped")
    if spans.names and own.name not in FINALISING:
        yield f"{len(spans.names)} spans open"
    if own.name in FINALISING | COUNTING:
        return
    if not counted <= num_requests <= counted + lost:
        yield f"{counted} counted and {lost} lost of {num_requests}"


def few(cases: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Some of many, far from each other, sync and async."""
    return [cases[len(cases) * n // SHORT] for n in range(SHORT)]


@pytest.mark.parametrize("form", ["few", pytest.param("all", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", MODULES)
def test_whatever_fails_the_caller_sees_what_a_bare_client_shows(
    name: str, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    found: list[str] = []
    for own in functions_of(MODULES[name]):
        cases = [] if own.name in SHIELDS else cases_of(own)
        if form == "few" and len(cases) > SHORT:
            cases = few(cases)
        if cases:
            found += (f"{own.name}: {it}" for it in complaints(own, cases, caplog))
    assert found == []


def test_what_is_said_not_to_fail_is_there() -> None:
    names = {own.name for one in MODULES.values() for own in functions_of(one)}
    assert {*SHIELDS, *FINALISING, *COUNTING} <= names


def test_most_of_what_there_is_is_passed_through() -> None:
    """The rest is for setting up, forks, raw HTTP and other processes' sums."""
    own = [own for one in MODULES.values() for own in functions_of(one)]
    assert sum(bool(cases_of(one)) for one in own) > len(own) / 2
