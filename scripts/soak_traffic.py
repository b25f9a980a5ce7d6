"""Calls that end in every way that a stream can, picked at random."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from openai import AsyncOpenAI, OpenAI

COMPLETED = "completed"
ABANDONED = "abandoned"
CANCELLED = "cancelled"
ERROR = "error"

SyncEnding = tuple["Callable[[OpenAI, dict[str, Any]], None]", str]
AsyncEnding = tuple["Callable[[AsyncOpenAI, dict[str, Any]], Awaitable[None]]", str]


class CallerError(Exception):
    """What an application raises while it reads."""


def ask_for(model: str, random: Random) -> dict[str, Any]:
    """Arguments of one call."""
    return {
        "model": model,
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": random.randint(8, 40),
    }


def sync_call(client: OpenAI, model: str, random: Random) -> str:
    """Make one call that ends in one of many ways; return the outcome to expect."""
    act, outcome = random.choice(SYNC_ENDINGS)
    act(client, ask_for(model, random))
    return outcome


async def async_call(client: AsyncOpenAI, model: str, random: Random) -> str:
    """Make one asynchronous call; return the outcome to expect."""
    act, outcome = random.choice(ASYNC_ENDINGS)
    await act(client, ask_for(model, random))
    return outcome


def _plain(client: OpenAI, ask: dict[str, Any]) -> None:
    client.chat.completions.create(**ask)


def _several_choices(client: OpenAI, ask: dict[str, Any]) -> None:
    for _ in client.chat.completions.create(**ask, stream=True, n=2):
        pass


def _drained(client: OpenAI, ask: dict[str, Any]) -> None:
    for _ in client.chat.completions.create(**ask, stream=True):
        pass


def _broken_off_and_drained(client: OpenAI, ask: dict[str, Any]) -> None:
    stream = client.chat.completions.create(**ask, stream=True)
    next(stream)
    for _ in stream:
        pass


def _broken_off(client: OpenAI, ask: dict[str, Any]) -> None:
    for _ in client.chat.completions.create(**ask, stream=True):
        break


def _left_by_with(client: OpenAI, ask: dict[str, Any]) -> None:
    with client.chat.completions.create(**ask, stream=True) as stream:
        next(stream)


def _closed(client: OpenAI, ask: dict[str, Any]) -> None:
    stream = client.chat.completions.create(**ask, stream=True)
    next(stream)
    stream.close()


def _never_read(client: OpenAI, ask: dict[str, Any]) -> None:
    client.chat.completions.create(**ask, stream=True)


def _consumer_failed(client: OpenAI, ask: dict[str, Any]) -> None:
    with suppress(CallerError):
        for _ in client.chat.completions.create(**ask, stream=True):
            raise CallerError


def _raw_and_parsed(client: OpenAI, ask: dict[str, Any]) -> None:
    raw = client.chat.completions.with_raw_response.create(**ask, stream=True)
    for _ in raw.parse():
        pass


def _lines(client: OpenAI, ask: dict[str, Any]) -> None:
    streaming = client.chat.completions.with_streaming_response
    with streaming.create(**ask, stream=True) as response:
        for _ in response.iter_lines():
            pass


def _failing(directive: str) -> Callable[[OpenAI, dict[str, Any]], None]:
    def failed(client: OpenAI, ask: dict[str, Any]) -> None:
        headers = {"x-simulate": directive}
        with suppress(Exception):
            stream = client.chat.completions.create(
                **ask, stream=True, extra_headers=headers
            )
            for _ in stream:
                pass

    return failed


async def _async_plain(client: AsyncOpenAI, ask: dict[str, Any]) -> None:
    await client.chat.completions.create(**ask)


async def _async_drained(client: AsyncOpenAI, ask: dict[str, Any]) -> None:
    async for _ in await client.chat.completions.create(**ask, stream=True):
        pass


async def _async_broken_off(client: AsyncOpenAI, ask: dict[str, Any]) -> None:
    async for _ in await client.chat.completions.create(**ask, stream=True):
        break


async def _async_left_by_with(client: AsyncOpenAI, ask: dict[str, Any]) -> None:
    async with await client.chat.completions.create(**ask, stream=True) as stream:
        await anext(aiter(stream))


async def _async_closed(client: AsyncOpenAI, ask: dict[str, Any]) -> None:
    stream = await client.chat.completions.create(**ask, stream=True)
    await stream.close()


async def _async_cancelled(client: AsyncOpenAI, ask: dict[str, Any]) -> None:
    reading = asyncio.Event()

    async def read() -> None:
        headers = {"x-simulate": "stall@2:60"}
        stream = await client.chat.completions.create(
            **ask, stream=True, extra_headers=headers
        )
        async for _ in stream:
            reading.set()

    task = asyncio.create_task(read())
    await reading.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _async_disconnected(client: AsyncOpenAI, ask: dict[str, Any]) -> None:
    headers = {"x-simulate": "disconnect@3"}
    with suppress(Exception):
        stream = await client.chat.completions.create(
            **ask, stream=True, extra_headers=headers
        )
        async for _ in stream:
            pass


SYNC_ENDINGS: tuple[SyncEnding, ...] = (
    (_plain, COMPLETED),
    (_several_choices, COMPLETED),
    (_drained, COMPLETED),
    (_broken_off_and_drained, COMPLETED),
    (_raw_and_parsed, COMPLETED),
    (_lines, COMPLETED),
    (_broken_off, ABANDONED),
    (_left_by_with, ABANDONED),
    (_closed, ABANDONED),
    (_never_read, ABANDONED),
    (_consumer_failed, ABANDONED),
    (_failing("hang-up"), ERROR),
    (_failing("disconnect@3"), ERROR),
    (_failing("error@3"), ERROR),
    (_failing("malformed@3"), ERROR),
    (_failing("status=500"), ERROR),
)
ASYNC_ENDINGS: tuple[AsyncEnding, ...] = (
    (_async_plain, COMPLETED),
    (_async_drained, COMPLETED),
    (_async_broken_off, ABANDONED),
    (_async_left_by_with, ABANDONED),
    (_async_closed, ABANDONED),
    (_async_cancelled, CANCELLED),
    (_async_disconnected, ERROR),
)
