"""Other wrappers of `request`: inside of ours, around it, and taken out over it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, Caller, collect_garbage
from scripted_wire import Wire, answer

import otel_specdecode

if TYPE_CHECKING:
    from telemetry import Telemetry

    from otel_specdecode import SpecDecodeInstrumentor


def reading_late(stream_cls: Any) -> Any:
    """Do as Logfire does: a stream class that begins when the first chunk is read."""
    if hasattr(stream_cls, "__anext__"):

        class LateAsync(stream_cls):
            async def __stream__(self) -> Any:
                async for chunk in super().__stream__():
                    yield chunk

        return LateAsync

    class Late(stream_cls):
        def __stream__(self) -> Any:
            yield from super().__stream__()

    return Late


def with_late_streams(client: Any) -> Any:
    """Replace a client's `request` by one that passes such a class on."""
    send = client.request

    @functools.wraps(send)
    def request(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("stream"):
            kwargs["stream_cls"] = reading_late(kwargs["stream_cls"])
        return send(*args, **kwargs)

    client.request = request
    return client


def inside(caller: Caller, wire: Wire, telemetry: Telemetry) -> Any:
    """Such a client, with our hook around the other's."""
    client = with_late_streams(caller.bare(wire))
    return otel_specdecode.wrap(client, **telemetry.providers)


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_stream_that_begins_late_is_observed_and_looks_as_it_did(
    caller: Caller, telemetry: Telemetry
) -> None:
    bare = await caller.read(await caller.stream(caller.bare(Wire(answer))))
    stream = await caller.stream(inside(caller, Wire(answer), telemetry))
    assert telemetry.requests() == []
    assert await caller.read(stream) == bare
    assert telemetry.requests() == [("completed", "forced", "present")]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_late_stream_that_is_closed_unread_is_abandoned(
    caller: Caller, telemetry: Telemetry
) -> None:
    stream = await caller.stream(inside(caller, Wire(answer), telemetry))
    await caller.done(stream.close())
    assert telemetry.requests() == [("abandoned", "absent", "absent")]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_late_stream_that_is_thrown_away_unread_is_abandoned(
    caller: Caller, telemetry: Telemetry
) -> None:
    stream = await caller.stream(inside(caller, Wire(answer), telemetry))
    del stream
    await collect_garbage()
    assert telemetry.requests() == [("abandoned", "absent", "absent")]


def kind_of(caller: Caller) -> Any:
    return openai.AsyncOpenAI if caller.is_async else openai.OpenAI


def wrap_class(kind: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Wrap a class's `request` as others do; return what they put back later."""
    found = kind.request

    @functools.wraps(found)
    def theirs(*args: Any, **kwargs: Any) -> Any:
        return found(*args, **kwargs)

    monkeypatch.setattr(kind, "request", theirs)
    return found


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_hook_that_comes_to_the_surface_takes_itself_out(
    caller: Caller,
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = kind_of(caller)
    monkeypatch.setattr(kind, "request", kind.request)  # put back at the end
    before = kind.request
    instrumentor.instrument(**telemetry.providers)
    ours = wrap_class(kind, monkeypatch)
    instrumentor.uninstrument()
    await caller.create(caller.bare(Wire(answer)))
    kind.request = ours  # the other one is taken out, over ours
    await caller.create(caller.bare(Wire(answer)))
    assert kind.request is before
    assert telemetry.requests() == []


async def test_an_inherited_request_is_inherited_again(
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caller = Caller("sync")
    instrumentor.instrument(**telemetry.providers)
    ours = wrap_class(openai.OpenAI, monkeypatch)
    instrumentor.uninstrument()
    openai.OpenAI.request = ours  # type: ignore[method-assign]
    await caller.create(caller.bare(Wire(answer)))
    inherited = "request" not in vars(openai.OpenAI)
    monkeypatch.undo()
    del openai.OpenAI.request
    assert inherited


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_instrumenting_again_over_a_hook_that_is_left_counts_once(
    caller: Caller,
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = kind_of(caller)
    monkeypatch.setattr(kind, "request", kind.request)
    instrumentor.instrument(**telemetry.providers)
    wrap_class(kind, monkeypatch)
    instrumentor.uninstrument()
    instrumentor.instrument(**telemetry.providers)
    await caller.read(await caller.stream(caller.bare(Wire(answer))))
    assert telemetry.requests() == [("completed", "forced", "present")]
    instrumentor.uninstrument()
    await caller.create(caller.bare(Wire(answer)))
    assert len(telemetry.requests()) == 1
