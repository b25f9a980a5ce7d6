"""Calls that overlap in one context, and streams that several read at once."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from callers import CHAT_CALLERS, Caller, shown
from opentelemetry import trace
from scripted_wire import (
    DONE,
    Wire,
    answer,
    answer_chunks,
    event,
    json_reply,
)

import otel_specdecode
from otel_specdecode.instrumentation import context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from telemetry import Telemetry

SYNC, ASYNC = Caller("sync"), Caller("async")
LONGEST_WAIT_S = 60


@pytest.mark.parametrize("stream", [True, False])
async def test_tasks_that_share_a_context_do_not_mix(
    telemetry: Telemetry, *, stream: bool
) -> None:
    client = ASYNC.wrapped(Wire(answer), telemetry)
    tracer = telemetry.tracer_provider.get_tracer("application")

    async def ask(number: int) -> None:
        with otel_specdecode.tag(task=number), tracer.start_as_current_span("task"):
            coroutine = ASYNC.create(client, stream=stream)
        # Whoever is next in turn has entered a call of his own meanwhile.
        answer_ = await coroutine
        if stream:
            await ASYNC.read(answer_)

    shared = contextvars.copy_context()
    loop = asyncio.get_running_loop()
    with otel_specdecode.capture() as records:
        await asyncio.gather(
            *(loop.create_task(ask(number), context=shared) for number in range(5))
        )
    assert [record.num_output_tokens for record in records] == [7] * 5
    assert [record.num_retries for record in records] == [0] * 5
    assert [record.outcome.value for record in records] == ["completed"] * 5
    assert len(telemetry.spans) == 10


def over(transport: Any, caller: Caller, telemetry: Telemetry | None) -> Any:
    """A client whose requests go by a transport; wrapped where there is telemetry."""
    kind = httpx2.AsyncClient if caller.is_async else httpx2.Client
    wire = Wire(answer)
    client = caller.bare(wire) if telemetry is None else caller.wrapped(wire, telemetry)
    return client.with_options(http_client=kind(transport=transport))


class Embedding(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Asks for an embedding before each answer, as a cache by meaning does."""

    def __init__(self) -> None:
        self._wire = httpx2.MockTransport(Wire(answer))
        self.client: Any = None
        self.traced: dict[str, bool] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._is_embedding(request):
            return httpx2.Response(200, json=EMBEDDING)
        self.client.embeddings.create(model="by-meaning", input="count")
        return self._wire.handle_request(request)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._is_embedding(request):
            return httpx2.Response(200, json=EMBEDDING)
        await self.client.embeddings.create(model="by-meaning", input="count")
        return await self._wire.handle_async_request(request)

    def _is_embedding(self, request: httpx2.Request) -> bool:
        found = request.url.path.endswith("/embeddings")
        self.traced["embedding" if found else "chat"] = "traceparent" in request.headers
        return found


EMBEDDING = {
    "object": "list",
    "model": "by-meaning",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
}


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_unobserved_call_inside_of_a_call_is_no_attempt_of_it(
    caller: Caller, telemetry: Telemetry
) -> None:
    transport = Embedding()
    client = over(transport, caller, telemetry)
    transport.client = client
    await caller.done(client.embeddings.create(model="by-meaning", input="count"))
    with otel_specdecode.capture() as records:
        await caller.read(await caller.stream(client))
    assert [record.num_retries for record in records] == [0]
    assert transport.traced == {"chat": True, "embedding": False}


class Gated(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """Sends two chunks, and the rest when the gate is open."""

    def __init__(self) -> None:
        body = {"messages": [], "stream_options": {"include_usage": True}}
        self._events = [*map(event, answer_chunks(body)), DONE]
        self.gate, self.waiting = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield from self._events[:2]
        self.waiting.set()
        assert self.gate.wait(LONGEST_WAIT_S)
        yield from self._events[2:]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for each in self._events[:2]:
            yield each
        await asyncio.to_thread(self.gate.wait, LONGEST_WAIT_S)
        for each in self._events[2:]:
            yield each

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=self)


def test_a_thread_that_reads_while_another_does_ends_nothing(
    telemetry: Telemetry,
) -> None:
    refused: list[tuple[str, str, str]] = []
    for wrapped in (False, True):
        body = Gated()
        client = over(httpx2.MockTransport(body), SYNC, telemetry if wrapped else None)
        stream = client.chat.completions.create(**SYNC.request(stream=True))
        assert len([next(stream), next(stream)]) == 2
        thread = threading.Thread(target=next, args=(stream,))
        thread.start()
        assert body.waiting.wait(LONGEST_WAIT_S)
        with pytest.raises(ValueError, match="already executing") as caught:
            next(stream)
        refused.append(shown(caught.value))
        body.gate.set()
        thread.join()
        assert len(list(stream)) == (1 if wrapped else 2)
    assert refused[0] == refused[1]
    assert telemetry.requests() == [("completed", "forced", "present")]


async def test_a_task_that_reads_while_another_does_ends_nothing(
    telemetry: Telemetry,
) -> None:
    refused: list[tuple[str, str, str]] = []
    for wrapped in (False, True):
        body = Gated()
        client = over(httpx2.MockTransport(body), ASYNC, telemetry if wrapped else None)
        stream = await ASYNC.stream(client)
        await ASYNC.read(stream, most=2)
        task = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already running") as caught:
            await anext(stream)
        refused.append(shown(caught.value))
        body.gate.set()
        await task
        assert len(await ASYNC.read(stream)) == (1 if wrapped else 2)
    assert refused[0] == refused[1]
    assert telemetry.requests() == [("completed", "forced", "present")]


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_interrupt_while_a_call_is_entered_leaves_the_callers_span_current(
    caller: Caller, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(observation: object) -> None:
        raise KeyboardInterrupt

    client = caller.wrapped(Wire(answer), telemetry)
    before = trace.get_current_span()
    with monkeypatch.context() as patch:
        patch.setattr(context, "enter", interrupted)
        with pytest.raises(KeyboardInterrupt):
            await caller.create(client)
    assert trace.get_current_span() is before
    assert telemetry.attributes["error.type"] == "KeyboardInterrupt"


def test_tags_may_be_left_in_another_context_than_they_were_set_in() -> None:
    """As those of a generator are that a web server enters in one thread of many."""

    def tagged() -> Iterator[None]:
        with otel_specdecode.tag(task="code"):
            yield

    steps = tagged()
    contextvars.copy_context().run(next, steps)
    assert contextvars.copy_context().run(next, steps, "left") == "left"


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_error_inside_of_an_unobserved_call_is_the_callers(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(lambda body: json_reply({"error": {"message": "no"}}, 400))
    client = caller.wrapped(wire, telemetry)
    with pytest.raises(openai.BadRequestError):
        await caller.done(client.embeddings.create(model="by-meaning", input="count"))
    assert telemetry.requests() == []
