"""OpenTelemetry itself made to fail: the SDK, its processors, its context."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from callers import collect_garbage
from calls import CALLS, caller_of, client_of
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.metrics import Histogram
from opentelemetry.sdk.trace import SpanProcessor, Tracer
from opentelemetry.sdk.trace import _Span as SdkSpan  # the class of every SDK span
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from telemetry import Telemetry

from otel_specdecode.instrumentation import _guard, requests

if TYPE_CHECKING:
    from collections.abc import Callable

MODES = ("sync", "async")
USES = [
    "plain",
    "stream",
    "stream left",
    "stream closed",
    "stream refused",
    "stream that fails",
    "raw response, stream",
    "streaming response, lines",
    "error answer",
]


class SdkFaultError(Exception):
    """Raised in the place of something of OpenTelemetry's."""


def fail(*_: Any, **__: Any) -> Any:
    raise SdkFaultError


class BrokenStart(SpanProcessor):
    on_start = fail


class BrokenEnd(SpanProcessor):
    on_end = fail


class BrokenExporter(SpanExporter):
    export = fail


def with_processor(processor: SpanProcessor) -> Callable[..., None]:
    def break_it(telemetry: Telemetry, _: pytest.MonkeyPatch) -> None:
        telemetry.tracer_provider.add_span_processor(processor)

    return break_it


def without(owner: Any, name: str) -> Callable[..., None]:
    def break_it(_: Telemetry, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(owner, name, fail)

    return break_it


KEPT_BY_THE_SDK = "an exporter that raises"
NEVER_LEFT = "a context that cannot be left"
FAULTS = {
    "a tracer that starts no span": without(Tracer, "start_span"),
    "a processor that fails at the start": with_processor(BrokenStart()),
    "a processor that fails at the end": with_processor(BrokenEnd()),
    KEPT_BY_THE_SDK: with_processor(SimpleSpanProcessor(BrokenExporter())),
    "a span that takes no attributes": without(SdkSpan, "set_attributes"),
    "a span that takes no status": without(SdkSpan, "set_status"),
    "a span that does not know whether it records": without(SdkSpan, "is_recording"),
    "a span that does not end": without(SdkSpan, "end"),
    "a histogram that takes nothing": without(Histogram, "record"),
    "a propagator that fails": without(TraceContextTextMapPropagator, "inject"),
    "no current span": without(trace, "get_current_span"),
    "no context to put a span into": without(trace, "set_span_in_context"),
    "a context that cannot be entered": without(otel_context, "attach"),
    NEVER_LEFT: without(otel_context, "detach"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS)
async def test_what_fails_in_opentelemetry_reaches_no_caller_and_loses_no_count(
    fault: str,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("OTEL_SPECDECODE_RERAISE")
    caplog.set_level(logging.WARNING, "otel_specdecode")
    requests.refusals._until.clear()
    _guard._seen.clear()
    telemetry = Telemetry()
    bare = [await seen(use, mode, None) for use in USES]
    before = otel_context.get_current()
    with monkeypatch.context() as patch:
        FAULTS[fault](telemetry, patch)
        wrapped = [await seen(use, mode, telemetry.providers) for use in USES]
        await collect_garbage()

    assert wrapped == bare
    counted, lost = telemetry.total("requests"), telemetry.total("telemetry_dropped")
    assert counted <= len(USES) <= counted + lost
    ours = [r.getMessage() for r in caplog.records if r.name == "otel_specdecode"]
    faults = [text for text in ours if "failed with SdkFaultError" in text]
    assert len(faults) == (0 if fault == KEPT_BY_THE_SDK else 1)
    if fault != NEVER_LEFT:
        assert otel_context.get_current() == before


async def seen(use: str, mode: str, providers: dict[str, Any] | None) -> Any:
    call = CALLS[use]
    return await call.use(caller_of(call, mode), client_of(call, mode, providers))
