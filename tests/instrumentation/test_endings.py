"""Every way in which a stream ends: once, with the right outcome, and unnoticed."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, END, Caller, collect_garbage, shown
from opentelemetry.trace import StatusCode
from scripted_wire import (
    DONE,
    HANG,
    Json,
    Part,
    Reply,
    ServerGone,
    Wire,
    answer,
    answer_chunks,
    event,
)

import otel_specdecode
from otel_specdecode.instrumentation import abandoned

if TYPE_CHECKING:
    from telemetry import Telemetry

Seen = list[Any]
Step = Callable[[Caller, Any, Seen], Awaitable[None]]


class CallerError(Exception):
    """The application's own."""


@dataclass(frozen=True)
class Ending:
    """How a caller leaves a stream, and what is to be recorded of it.

    Attributes:
        act: what the caller does with an open stream; notes what it sees.
        outcome: the request's.
        error_type: `None` unless it failed.
        last: what the server sends instead of the third chunk and what follows.
    """

    act: Step
    outcome: str
    error_type: str | None = None
    last: tuple[Part, ...] = ()

    def reply(self, body: Json) -> Reply:
        if not self.last:
            return answer(body)
        return Reply([*map(event, answer_chunks(body)[:2]), *self.last])


async def drain(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream))


async def drain_and_go_on(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream))
    seen.extend(await caller.read(stream))
    try:
        await caller.step(stream)
    except (StopIteration, StopAsyncIteration) as error:
        seen.append(shown(error))


async def drain_step_by_step(caller: Caller, stream: Any, seen: Seen) -> None:
    while (chunk := await caller.step(stream)) is not END:
        seen.append(chunk)


async def break_and_go_on(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream, most=2))
    await collect_garbage()
    seen.extend(await caller.read(stream))


async def break_off(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream, most=2))


async def break_inside_with(caller: Caller, stream: Any, seen: Seen) -> None:
    await caller.enter(stream)
    seen.extend(await caller.read(stream, most=2))
    await caller.leave(stream)
    await read_what_is_left(caller, stream, seen)


async def read_what_is_left(caller: Caller, stream: Any, seen: Seen) -> None:
    try:
        seen.extend(await caller.read(stream))
    except Exception as error:  # noqa: BLE001
        seen.append(shown(error))


async def close_early(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream, most=2))
    await caller.done(stream.close())
    seen.append(stream.response.is_closed)


async def close_response_early(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream, most=2))
    response = stream.response
    await (response.aclose() if caller.is_async else caller.done(response.close()))
    seen.append(stream.response.is_closed)


async def close_at_the_end(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream))
    await caller.done(stream.close())
    await caller.done(stream.close())


async def close_unread(caller: Caller, stream: Any, seen: Seen) -> None:
    await caller.done(stream.close())
    await read_what_is_left(caller, stream, seen)


async def never_read(caller: Caller, stream: Any, seen: Seen) -> None:
    pass


async def fail_while_reading(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream, most=2))
    raise CallerError("of the application")


async def fail_inside_with(caller: Caller, stream: Any, seen: Seen) -> None:
    await caller.enter(stream)
    seen.extend(await caller.read(stream, most=2))
    mistake = CallerError("of the application")
    await caller.leave(stream, mistake)
    raise mistake


async def fail_and_go_on(caller: Caller, stream: Any, seen: Seen) -> None:
    iterator = caller.iterate(stream)
    try:
        while (chunk := await caller.step(iterator)) is not END:
            seen.append(chunk)
    except Exception as error:  # noqa: BLE001
        seen.append(shown(error))
    await read_what_is_left(caller, stream, seen)


async def drain_in_another_thread(caller: Caller, stream: Any, seen: Seen) -> None:
    def work() -> None:
        asyncio.run(drain(caller, stream, seen))

    if caller.is_async:
        # Another task is to an event loop what another thread is to a program.
        await asyncio.create_task(drain(caller, stream, seen))
    else:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


ENDINGS = {
    "drained": Ending(drain, "completed"),
    "drained step by step": Ending(drain_step_by_step, "completed"),
    "iterated further after the end": Ending(drain_and_go_on, "completed"),
    "break, then to the end": Ending(break_and_go_on, "completed"),
    "break, then collected": Ending(break_off, "abandoned"),
    "break inside with": Ending(break_inside_with, "abandoned"),
    "closed early": Ending(close_early, "abandoned"),
    "response closed early": Ending(close_response_early, "abandoned"),
    "closed after the end": Ending(close_at_the_end, "completed"),
    "closed unread": Ending(close_unread, "abandoned"),
    "collected unread": Ending(never_read, "abandoned"),
    "consumer failed": Ending(fail_while_reading, "abandoned"),
    "consumer failed inside with": Ending(fail_inside_with, "abandoned"),
    "drained elsewhere": Ending(drain_in_another_thread, "completed"),
    "connection dropped": Ending(
        fail_and_go_on, "error", "openai.APIConnectionError", (ServerGone(),)
    ),
    "error event": Ending(
        fail_and_go_on,
        "error",
        "openai.APIError",
        (event({"error": {"message": "out of memory", "code": 500}}), DONE),
    ),
    "malformed event": Ending(
        fail_and_go_on,
        "error",
        "json.decoder.JSONDecodeError",
        (b'data: {"id": "chatcm\n\n', DONE),
    ),
    "read timeout": Ending(
        fail_and_go_on,
        "error",
        "openai.APITimeoutError",
        (httpx2.ReadTimeout("timed out"),),
    ),
    "cut off without a word": Ending(fail_and_go_on, "completed", None, (b"",)),
}


async def seen_by_caller(caller: Caller, client: Any, act: Step) -> Seen:
    """Open a stream, act on it and drop it; return all that the caller saw."""
    seen: Seen = []
    try:
        stream = await caller.stream(client)
        kind = openai.AsyncStream if caller.is_async else openai.Stream
        seen.append((isinstance(stream, kind), type(stream).__name__))
        await act(caller, stream, seen)
    except CallerError as error:
        seen.append(shown(error))
    stream = None
    await collect_garbage()
    return seen


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_each_ending_is_recorded_once_and_seen_as_with_a_bare_client(
    caller: Caller, name: str, telemetry: Telemetry
) -> None:
    ending = ENDINGS[name]
    bare = await seen_by_caller(caller, caller.bare(Wire(ending.reply)), ending.act)
    client = caller.wrapped(Wire(ending.reply), telemetry)
    with otel_specdecode.capture() as records:
        seen = await seen_by_caller(caller, client, ending.act)

    assert seen == bare
    span = telemetry.span
    assert span.attributes["specdecode.outcome"] == ending.outcome
    assert span.attributes.get("error.type") == ending.error_type
    failed = ending.outcome == "error"
    assert span.status.status_code is (StatusCode.ERROR if failed else StatusCode.UNSET)
    assert [outcome for outcome, *_ in telemetry.requests()] == [ending.outcome]
    assert [record.outcome for record in records] == [ending.outcome]


@pytest.mark.parametrize(
    "act", [break_inside_with, close_early, close_response_early, close_unread]
)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_stream_that_is_closed_ends_then_and_not_when_it_is_collected(
    caller: Caller, act: Step, telemetry: Telemetry
) -> None:
    stream = await caller.stream(caller.wrapped(Wire(answer), telemetry))
    await act(caller, stream, [])
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"
    assert otel_specdecode.record_of(stream) is not None


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_what_is_unknown_when_a_stream_is_left_stays_unknown(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    with otel_specdecode.capture() as records:
        stream = await caller.stream(client)
        await close_early(caller, stream, [])
    (record,) = records
    assert record.usage is None
    assert record.acceptance is None
    assert record.tpot_s is None
    assert record.usage_origin == "absent"
    assert telemetry.points("specdecode.client.output_tokens") == []
    assert "gen_ai.usage.output_tokens" not in telemetry.attributes


async def read_in_two_loops(caller: Caller, client: Any, act: Step) -> Seen:
    """What a caller sees who reads on after `asyncio.run` has closed its loop."""
    seen: Seen = []

    async def begin() -> Any:
        stream = await caller.stream(client)
        await act(caller, stream, seen)
        return stream

    async def go_on(stream: Any) -> None:
        await read_what_is_left(caller, stream, seen)

    def in_other_loops() -> None:
        stream = asyncio.run(begin())
        asyncio.run(go_on(stream))

    await asyncio.to_thread(in_other_loops)
    return seen


async def begin_to_read(caller: Caller, stream: Any, seen: Seen) -> None:
    seen.extend(await caller.read(stream, most=2))


@pytest.mark.parametrize(
    ("act", "outcome"), [(begin_to_read, "abandoned"), (drain, "completed")]
)
@pytest.mark.parametrize("endpoint", ["chat", "completions"])
async def test_a_stream_ends_with_the_loop_that_began_it(
    endpoint: str, act: Step, outcome: str, telemetry: Telemetry
) -> None:
    """Its generator is shut down there: in another loop it shows nothing more."""
    caller = Caller("async", endpoint)
    bare = await read_in_two_loops(caller, caller.bare(Wire(answer)), act)
    seen = await read_in_two_loops(caller, caller.wrapped(Wire(answer), telemetry), act)
    assert seen == bare
    assert telemetry.attributes["specdecode.outcome"] == outcome
    assert len(telemetry.requests()) == 1


async def test_it_is_abandoned_too_where_it_is_read_on_before_that_is_recorded(
    telemetry: Telemetry,
) -> None:
    caller = Caller("async")
    stream = await caller.stream(caller.wrapped(Wire(answer), telemetry))
    await caller.read(stream, most=2)
    # A loop shuts its generators down in any order; here that of the stream is first.
    generator: AsyncGenerator[Any] = stream._iterator._next.__self__
    with abandoned._recording:  # whoever records is busy
        await generator.aclose()
        assert await caller.read(stream) == []
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"
    assert len(telemetry.requests()) == 1


async def test_the_rest_that_is_read_by_a_generator_that_is_closed_counts(
    telemetry: Telemetry,
) -> None:
    """A server closes what its client left, and may want the usage all the same."""
    caller = Caller("async")
    stream = await caller.stream(caller.wrapped(Wire(answer), telemetry))

    async def served() -> AsyncIterator[Any]:
        try:
            async for chunk in stream:
                yield chunk
        finally:
            async for _ in stream:
                pass

    serving = served()
    await anext(serving)
    await serving.aclose()
    assert telemetry.requests() == [("completed", "forced", "present")]


async def test_a_step_that_is_thrown_away_is_recorded_later_and_elsewhere(
    telemetry: Telemetry,
) -> None:
    """The garbage collector throws away coroutines, and recording there may hang."""
    caller = Caller("async")
    stream = await caller.stream(caller.wrapped(Wire(hanging), telemetry))
    await caller.read(stream, most=2)
    in_here: list[bool] = []
    here, throwing_away = threading.get_ident(), [True]
    telemetry.on_end(
        lambda: in_here.append(threading.get_ident() == here and any(throwing_away))
    )
    step = stream.__anext__()
    step.send(None)
    step.close()
    throwing_away.clear()
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"
    assert in_here == [False]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_chunk_is_handed_on_before_the_next_is_asked_for(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(answer)
    stream = await caller.stream(caller.wrapped(wire, telemetry))
    iterator = caller.iterate(stream)
    for number in range(3):
        await caller.step(iterator)
        assert wire.log == [f"send {n}" for n in range(number + 1)]
    await caller.done(stream.close())


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_nothing_is_read_before_the_first_step(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(answer)
    stream = await caller.stream(caller.wrapped(wire, telemetry))
    assert wire.log == []
    await caller.done(stream.close())


def hanging(body: Json) -> Reply:
    return Reply([*map(event, answer_chunks(body)[:2]), HANG])


async def cancelled_read(client: Any, caller: Caller, seen: Seen) -> None:
    stream = await caller.stream(client)
    waiting = asyncio.Event()

    async def consume() -> None:
        async for chunk in stream:
            seen.append(chunk)
            if len(seen) == 2:
                waiting.set()

    task = asyncio.create_task(consume())
    await waiting.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await read_what_is_left(caller, stream, seen)


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
async def test_a_task_cancelled_while_it_waits_for_a_chunk(
    endpoint: str, telemetry: Telemetry
) -> None:
    caller = Caller("async", endpoint)
    bare: Seen = []
    await cancelled_read(caller.bare(Wire(hanging)), caller, bare)
    seen: Seen = []
    await cancelled_read(caller.wrapped(Wire(hanging), telemetry), caller, seen)
    assert seen == bare
    assert telemetry.attributes["specdecode.outcome"] == "cancelled"
    assert telemetry.span.status.status_code is StatusCode.UNSET
    assert telemetry.requests() == [("cancelled", "absent", "absent")]


class Silent(httpx2.AsyncBaseTransport):
    """Takes a request and never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize("stream", [True, False])
async def test_a_task_cancelled_while_it_waits_for_the_response(
    telemetry: Telemetry, *, stream: bool
) -> None:
    caller, transport = Caller("async"), Silent()
    client = caller.wrapped(Wire(answer), telemetry)
    client = client.with_options(http_client=httpx2.AsyncClient(transport=transport))
    task = asyncio.create_task(caller.create(client, stream=stream))
    await transport.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert telemetry.attributes["specdecode.outcome"] == "cancelled"
    assert "error.type" not in telemetry.attributes


async def test_a_coroutine_thrown_away_while_it_waits_is_recorded_outside_of_it(
    telemetry: Telemetry,
) -> None:
    caller, transport = Caller("async"), Silent()
    client = caller.wrapped(Wire(answer), telemetry).with_options(
        http_client=httpx2.AsyncClient(transport=transport)
    )
    coroutine = caller.create(client)
    coroutine.send(None)
    coroutine.close()
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"
    assert len(telemetry.spans) == 1


async def test_a_read_thrown_away_while_it_waits_is_recorded_outside_of_it(
    telemetry: Telemetry,
) -> None:
    caller = Caller("async")
    stream = await caller.stream(caller.wrapped(Wire(hanging), telemetry))
    await caller.read(stream, most=2)
    coroutine = stream.__anext__()
    coroutine.send(None)
    coroutine.close()
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"
    await caller.done(stream.close())
    assert len(telemetry.spans) == 1


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
@pytest.mark.parametrize("most", [1000, 2], ids=["drained", "left"])
async def test_the_stream_helper_ends_as_its_block_does(
    caller: Caller, most: int, telemetry: Telemetry
) -> None:
    async def events(client: Any) -> list[str]:
        manager = client.chat.completions.stream(**caller.request())
        stream = await caller.enter(manager)
        found = [repr(event) for event in await caller.read(stream, most=most)]
        if most > 2:
            final = await caller.done(stream.get_final_completion())
            found.append(repr(final))
        await caller.leave(manager)
        return found

    bare = await events(caller.bare(Wire(answer)))
    gc.disable()  # the end of the block is the end, and not a collection
    try:
        seen = await events(caller.wrapped(Wire(answer), telemetry))
        outcome = "completed" if most > 2 else "abandoned"
        assert telemetry.attributes["specdecode.outcome"] == outcome
    finally:
        gc.enable()
    assert seen == bare
    assert len(telemetry.spans) == 1


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_connection_that_fails_before_the_answer(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(lambda body: httpx2.ConnectError("refused"))
    errors: list[tuple[str, str, str]] = []
    for client in (caller.bare(wire), caller.wrapped(wire, telemetry)):
        with pytest.raises(Exception, match="Connection error") as caught:
            await caller.stream(client)
        errors.append(shown(caught.value))
    assert errors[0] == errors[1]
    assert telemetry.attributes["specdecode.outcome"] == "error"
    assert telemetry.attributes["error.type"] == "openai.APIConnectionError"
    assert telemetry.span.status.description == "openai.APIConnectionError"


async def test_two_streams_at_once_do_not_mix(telemetry: Telemetry) -> None:
    caller = Caller("sync")
    client = caller.wrapped(Wire(answer), telemetry)
    first, second = await caller.stream(client), await caller.stream(client)
    next(first)
    assert len(list(second)) == 4
    assert len(list(first)) == 3
    assert telemetry.requests() == [("completed", "forced", "present")] * 2
    assert telemetry.total("output_tokens") == 14
