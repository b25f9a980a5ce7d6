"""The table of `docs/endings.md` is what happens, sync and async."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import collect
from documents import DOCS, Row, code_in, rows

import otel_specdecode
from otel_specdecode.simulator import Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ending = Callable[[openai.AsyncOpenAI | Any, "Ask"], Any]

ROWS = [row for row in rows(DOCS / "endings.md") if len(row.cells) == 4]
CLIENTS_OWN = "that of the client's exception"


class Ask:
    """Makes one streamed request; `await` what it returns for an async client."""

    def __init__(self, model: str) -> None:
        self._arguments: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": "Hello"}],
            "max_tokens": 40,
            "stream": True,
        }

    def __call__(self, client: Any, simulate: str = "", **more: Any) -> Any:
        headers = {"x-simulate": simulate} if simulate else {}
        return client.chat.completions.create(
            **self._arguments, extra_headers=headers, **more
        )

    def raw(self, client: Any) -> Any:
        return client.chat.completions.with_streaming_response.create(**self._arguments)


def _read(simulate: str, **options: Any) -> tuple[Ending, Ending]:
    def read(client: Any, ask: Ask) -> None:
        list(ask(client.with_options(**options), simulate))

    async def read_async(client: Any, ask: Ask) -> None:
        async for _ in await ask(client.with_options(**options), simulate):
            pass

    return read, read_async


def _break_and_go_on(client: Any, ask: Ask) -> None:
    stream = ask(client)
    for _ in stream:
        break
    list(stream)


async def _break_and_go_on_async(client: Any, ask: Ask) -> None:
    stream = await ask(client)
    async for _ in stream:
        break
    async for _ in stream:
        pass


def _break_in_with(client: Any, ask: Ask) -> None:
    with ask(client) as stream:
        for _ in stream:
            break


async def _break_in_with_async(client: Any, ask: Ask) -> None:
    async with await ask(client) as stream:
        async for _ in stream:
            break


def _close(client: Any, ask: Ask) -> None:
    ask(client).close()


async def _close_async(client: Any, ask: Ask) -> None:
    await (await ask(client)).close()


def _never_read(client: Any, ask: Ask) -> None:
    ask(client)
    collect()


def _break_and_collect(client: Any, ask: Ask) -> None:
    stream = ask(client)
    for _ in stream:
        break
    del stream, _
    collect()


def _raise_in_with(client: Any, ask: Ask) -> None:
    with ask(client) as stream:
        for _ in stream:
            raise LookupError("the consumer's own")


async def _raise_in_with_async(client: Any, ask: Ask) -> None:
    async with await ask(client) as stream:
        async for _ in stream:
            raise LookupError("the consumer's own")


async def _cancel_async(client: Any, ask: Ask) -> None:
    started = asyncio.Event()

    async def wait() -> None:
        async for _ in await ask(client, "stall@5:60"):
            started.set()

    task = asyncio.create_task(wait())
    await started.wait()
    task.cancel()
    await task


def _read_lines(client: Any, ask: Ask) -> None:
    with ask.raw(client) as response:
        list(response.iter_lines())


async def _read_lines_async(client: Any, ask: Ask) -> None:
    async with ask.raw(client) as response:
        async for _ in response.iter_lines():
            pass


ENDINGS: dict[str, tuple[Ending | None, Ending | None]] = {
    "read to its end": _read(""),
    "left by `break`, then read on to its end": (
        _break_and_go_on,
        _break_and_go_on_async,
    ),
    "left by `break` inside `with`": (_break_in_with, _break_in_with_async),
    "closed with `.close()`": (_close, _close_async),
    # An async stream is collected when its loop gets round to it.
    "never read, and collected": (_never_read, None),
    "left by `break`, and collected": (_break_and_collect, None),
    "the consumer raises inside `with`": (_raise_in_with, _raise_in_with_async),
    # A thread cannot be cancelled.
    "the task is cancelled while it waits": (None, _cancel_async),
    "the server drops the connection": _read("disconnect@5"),
    "the server sends an error event": _read("error@5"),
    "an event is no JSON": _read("malformed@5"),
    "the read times out": _read("stall@5:60", timeout=0.2),
    "the server answers 503": _read("status=503"),
    "it answers 503 once, and the client tries again": _read(
        "status=503, retry-after=0, times=1", max_retries=1
    ),
    "the server sends no usage": _read("usage=absent"),
    "the server refuses `stream_options`": _read("refuse=openai"),
    "lines are read with `with_streaming_response`": (_read_lines, _read_lines_async),
}


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    """A server of its own for each test: a refusal is remembered by base URL."""
    with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
        yield sim


def test_every_row_is_tried_and_every_trial_is_a_row() -> None:
    assert [row.cells[0] for row in ROWS] == list(ENDINGS)


def _check(row: Row, requests: list[otel_specdecode.RequestRecord]) -> None:
    (request,) = requests
    tokens = "unknown" if request.num_output_tokens is None else "known"
    assert (request.outcome.value, tokens) == (code_in(row.cells[1])[0], row.cells[2])
    if row.cells[3] == CLIENTS_OWN:
        assert request.error_type is not None
    else:
        assert request.error_type == next(iter(code_in(row.cells[3])), None)


@pytest.mark.parametrize(
    "row", [r for r in ROWS if ENDINGS[r.cells[0]][0]], ids=lambda row: row.cells[0]
)
def test_a_sync_stream_ends_as_the_page_says(row: Row, simulator: Simulator) -> None:
    ending = ENDINGS[row.cells[0]][0]
    assert ending is not None
    with (
        openai.OpenAI(
            base_url=simulator.base_url, api_key="unused", max_retries=0
        ) as client,
        otel_specdecode.capture() as requests,
        # What the caller sees is compared with a bare client elsewhere.
        suppress(Exception),
    ):
        ending(otel_specdecode.wrap(client), Ask(simulator.model))
    _check(row, requests)


@pytest.mark.parametrize(
    "row", [r for r in ROWS if ENDINGS[r.cells[0]][1]], ids=lambda row: row.cells[0]
)
async def test_an_async_stream_ends_as_the_page_says(
    row: Row, simulator: Simulator
) -> None:
    ending = ENDINGS[row.cells[0]][1]
    assert inspect.iscoroutinefunction(ending)
    async with openai.AsyncOpenAI(
        base_url=simulator.base_url, api_key="unused", max_retries=0
    ) as client:
        with (
            otel_specdecode.capture() as requests,
            suppress(Exception, asyncio.CancelledError),
        ):
            await ending(otel_specdecode.wrap(client), Ask(simulator.model))
    _check(row, requests)
