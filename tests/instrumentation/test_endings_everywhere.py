"""Every ending, by every way to ask for a stream, whoever reads it: one matrix.

`docs/endings.md` says what is recorded of each, and is held to it here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from callers import END, Caller, collect_garbage, shown
from scripted_wire import (
    DONE,
    NUM_OUTPUT_TOKENS,
    Json,
    Part,
    Reply,
    ServerGone,
    Wire,
    answer,
    event,
)

import otel_specdecode

if TYPE_CHECKING:
    from telemetry import Telemetry

DOCS = Path(__file__).parents[2] / "docs" / "endings.md"
MODES = ("sync", "async")


class CallerError(Exception):
    """The application's own."""


@dataclass
class Opened:
    """A stream that is under way.

    Attributes:
        items: what is iterated: chunks, events or lines.
        holder: what is closed, and left by `with`.
    """

    items: Any
    holder: Any


async def as_chunks(caller: Caller, client: Any) -> Opened:
    stream = await caller.stream(client)
    return Opened(stream, stream)


async def as_raw_response(caller: Caller, client: Any) -> Opened:
    create = client.chat.completions.with_raw_response.create
    raw = await caller.done(create(**caller.request(stream=True)))
    stream = raw.parse()
    return Opened(stream, stream)


async def as_helper(caller: Caller, client: Any) -> Opened:
    manager = client.chat.completions.stream(**caller.request())
    return Opened(await caller.enter(manager), manager)


async def _entered(caller: Caller, client: Any) -> tuple[Any, Any]:
    create = client.chat.completions.with_streaming_response.create
    manager = create(**caller.request(stream=True))
    return manager, await caller.enter(manager)


async def as_lines(caller: Caller, client: Any) -> Opened:
    manager, response = await _entered(caller, client)
    return Opened(response.iter_lines(), manager)


async def as_bytes(caller: Caller, client: Any) -> Opened:
    manager, response = await _entered(caller, client)
    return Opened(response.iter_bytes(), manager)


async def as_parsed(caller: Caller, client: Any) -> Opened:
    manager, response = await _entered(caller, client)
    return Opened(await caller.done(response.parse()), manager)


async def as_copy(caller: Caller, client: Any) -> Opened:
    return await as_chunks(caller, client.with_options(timeout=30))


async def as_events(caller: Caller, client: Any) -> Opened:
    created = client.responses.create(model="m", input="count", stream=True)
    stream = await caller.done(created)
    return Opened(stream, stream)


@dataclass(frozen=True)
class Way:
    """One way to ask for a stream.

    Attributes:
        open: asks for it.
        endpoint: whose resource it uses.
        counted: whether the output tokens of a stream read to its end are known.
    """

    open: Callable[[Caller, Any], Awaitable[Opened]]
    endpoint: str = "chat"
    counted: bool = True


WAYS = {
    "chat.completions.create": Way(as_chunks),
    "completions.create": Way(as_chunks, "completions"),
    "responses.create": Way(as_events),
    "chat.completions.stream": Way(as_helper),
    "with_options": Way(as_copy),
    "with_raw_response": Way(as_raw_response),
    "with_streaming_response, parse": Way(as_parsed, counted=False),
    "with_streaming_response, lines": Way(as_lines, counted=False),
    "with_streaming_response, bytes": Way(as_bytes, counted=False),
}


async def all_of(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    iterator = caller.iterate(opened.items)
    while (item := await caller.step(iterator)) is not END:
        seen.append(repr(item))


async def two_of(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    iterator = caller.iterate(opened.items)
    for _ in range(2):
        seen.append(repr(await caller.step(iterator)))  # noqa: PERF401 (step by step)


async def nothing_of(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    pass


async def break_and_go_on(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    iterator = caller.iterate(opened.items)
    for _ in range(2):
        seen.append(repr(await caller.step(iterator)))  # noqa: PERF401 (step by step)
    while (item := await caller.step(iterator)) is not END:
        seen.append(repr(item))


async def and_collect(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    opened.items = opened.holder = None
    await collect_garbage()


async def and_close(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    # Managers have no close of their own: to leave them is to close the response.
    close = getattr(opened.holder, "close", None)
    await (caller.leave(opened.holder) if close is None else caller.done(close()))


async def and_leave(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    await caller.leave(opened.holder)


async def and_fail(caller: Caller, opened: Opened, seen: list[Any]) -> None:
    mistake = CallerError("of the application")
    await caller.leave(opened.holder, mistake)


Act = Callable[[Caller, Opened, list[Any]], Awaitable[None]]


@dataclass(frozen=True)
class Ending:
    """How a stream ends.

    Attributes:
        outcome: the request's.
        read: how much is read.
        then: what is done with the stream after that.
        last: what the server sends after two parts; `None` for all it has.
    """

    outcome: str
    read: Act = all_of
    then: Act = and_leave
    last: tuple[Part, ...] | None = None

    def reply(self, body: Json) -> Reply:
        whole = answer(body)
        if self.last is None:
            return whole
        return Reply([*whole.parts[:2], *self.last])


OUT_OF_MEMORY = event({"error": {"message": "out of memory", "code": 500}})
ENDINGS = {
    "read to its end": Ending("completed"),
    "left by `break`, then read on to its end": Ending("completed", break_and_go_on),
    "left by `break` inside `with`": Ending("abandoned", two_of),
    "closed with `.close()`": Ending("abandoned", two_of, and_close),
    "never read, and collected": Ending("abandoned", nothing_of, and_collect),
    "left by `break`, and collected": Ending("abandoned", two_of, and_collect),
    "the consumer raises inside `with`": Ending("abandoned", two_of, and_fail),
    "the server drops the connection": Ending("error", last=(ServerGone(),)),
    "the server sends an error event": Ending("error", last=(OUT_OF_MEMORY, DONE)),
    "an event is no JSON": Ending("error", last=(b'data: {"id": "chatc\n\n', DONE)),
    "the read times out": Ending("error", last=(httpx2.ReadTimeout("timed out"),)),
    "the server ends without `[DONE]`": Ending("completed", last=(b"",)),
}


async def consumed(
    caller: Caller, client: Any, way: Way, ending: Ending, *, elsewhere: bool
) -> list[Any]:
    """Open a stream, let it be read, end it; return all that the application saw."""
    seen: list[Any] = []
    opened = await way.open(caller, client)
    read = ending.read(caller, opened, seen)
    try:
        if not elsewhere:
            await read
        elif caller.is_async:
            await asyncio.create_task(read)  # type: ignore[arg-type]
        else:
            await in_another_thread(read)
    except Exception as error:  # noqa: BLE001 (compared with the bare client's)
        seen.append(shown(error))
    await ending.then(caller, opened, seen)
    del read
    opened.items = opened.holder = None
    await collect_garbage()
    return seen


async def in_another_thread(reading: Any) -> None:
    raised: list[Exception] = []

    def work() -> None:
        try:
            asyncio.run(reading)
        except Exception as error:  # noqa: BLE001 (raised again below)
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    for error in raised:
        raise error


# Whoever reads changes from case to case, so that each ending and each way has both.
CASES = [
    pytest.param(name, way_name, mode, bool((n + w + m) % 2))
    for n, name in enumerate(ENDINGS)
    for w, way_name in enumerate(WAYS)
    for m, mode in enumerate(MODES)
]


@pytest.mark.parametrize(("name", "way_name", "mode", "elsewhere"), CASES)
async def test_each_ending_by_each_way_is_recorded_once_and_seen_as_with_a_bare_client(
    name: str, way_name: str, mode: str, telemetry: Telemetry, *, elsewhere: bool
) -> None:
    ending, way = ENDINGS[name], WAYS[way_name]
    caller = Caller(mode, way.endpoint)
    bare = caller.bare(Wire(ending.reply))
    expected = await consumed(caller, bare, way, ending, elsewhere=elsewhere)
    client = caller.wrapped(Wire(ending.reply), telemetry)
    with otel_specdecode.capture() as records:
        seen = await consumed(caller, client, way, ending, elsewhere=elsewhere)

    assert seen == expected
    assert [record.outcome for record in records] == [ending.outcome]
    assert telemetry.attributes["specdecode.outcome"] == ending.outcome
    assert ("error.type" in telemetry.attributes) == (ending.outcome == "error")
    read_whole = ending.outcome == "completed" and ending.last is None
    tokens = NUM_OUTPUT_TOKENS if read_whole and way.counted else None
    assert [record.num_output_tokens for record in records] == [tokens]


def documented() -> dict[str, list[str]]:
    """The rows of the tables in the docs, by their first cell."""
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {row[0]: row[1:] for row in rows}


# A habit of servers, in a sentence of its own.
UNLISTED = "the server ends without `[DONE]`"


def test_the_docs_say_what_is_recorded_of_each() -> None:
    rows = documented()
    for name in ENDINGS.keys() - {UNLISTED}:
        ending = ENDINGS[name]
        known = "known" if ending.outcome == "completed" else "unknown"
        assert rows[name][:2] == [f"`{ending.outcome}`", known]
    for name, way in WAYS.items():
        assert rows[f"`{name}`"][0] == ("known" if way.counted else "unknown")
    assert UNLISTED in DOCS.read_text()
