"""What an application does with its client: every way to call, and to stop reading.

Each scene returns what the caller saw, as plain data, so that runs can be compared.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

ASK: dict[str, Any] = {
    "model": "spec-demo",
    "max_tokens": 24,
    "messages": [{"role": "user", "content": "hi"}],
}
# The helpers that parse take no answer that was cut off.
ENDING: dict[str, Any] = {**ASK, "extra_headers": {"x-simulate": "tokens=20"}}
PROMPT: dict[str, Any] = {"model": "spec-demo", "max_tokens": 24, "prompt": "hi"}
# What differs between runs; and vLLM's fingerprint, which is on the last chunk, so on
# the one that only we asked for: docs/servers.md names that difference.
_LEFT_OUT = {
    *("id", "created", "created_at", "completed_at", "item_id", "response_id"),
    "system_fingerprint",
}

Seen = list[Any]
Scene = Callable[[Any], Awaitable[Seen]]


async def whole(made: Any) -> Any:
    """Return what a call returns, of either client."""
    return await made if inspect.isawaitable(made) else made


def plain(value: Any) -> Any:
    """Return an answer or a chunk as data, without what differs between runs."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", warnings=False)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in _LEFT_OUT}
    return [plain(each) for each in value] if isinstance(value, list) else value


def is_async(client: Any) -> bool:
    return type(client).__name__.startswith("Async")


async def drain(client: Any, stream: Any) -> Seen:
    if is_async(client):
        return [plain(chunk) async for chunk in stream]
    return [plain(chunk) for chunk in stream]


async def take_two(client: Any, stream: Any) -> Seen:
    """Leave the loop at the second chunk."""
    seen: Seen = []
    if is_async(client):
        async for chunk in stream:
            seen.append(plain(chunk))
            if len(seen) == 2:
                break
    else:
        for chunk in stream:
            seen.append(plain(chunk))
            if len(seen) == 2:
                break
    return seen


async def chat(client: Any, **more: Any) -> Any:
    return await whole(client.chat.completions.create(**ASK, **more))


async def chat_whole(client: Any) -> Seen:
    return [plain(await chat(client))]


async def chat_parse(client: Any) -> Seen:
    return [plain(await whole(client.chat.completions.parse(**ENDING)))]


async def chat_drained(client: Any) -> Seen:
    return await drain(client, await chat(client, stream=True))


async def chat_with_usage(client: Any) -> Seen:
    asked = {"include_usage": True}
    stream = await chat(client, stream=True, stream_options=asked)
    return await drain(client, stream)


async def chat_left(client: Any) -> Seen:
    """The loop is left, and nobody closes the stream."""
    stream = await chat(client, stream=True)
    seen = await take_two(client, stream)
    del stream
    gc.collect()
    return seen


async def chat_left_in_with(client: Any) -> Seen:
    stream = await chat(client, stream=True)
    if is_async(client):
        async with stream:
            return await take_two(client, stream)
    with stream:
        return await take_two(client, stream)


class CallersOwnError(Exception):
    """Raised by the application between two chunks."""


async def _read_and_raise(client: Any, stream: Any, seen: Seen) -> None:
    seen += await take_two(client, stream)
    raise CallersOwnError


async def chat_raised_in_with(client: Any) -> Seen:
    stream = await chat(client, stream=True)
    seen: Seen = []
    try:
        if is_async(client):
            async with stream:
                await _read_and_raise(client, stream, seen)
        else:
            with stream:
                await _read_and_raise(client, stream, seen)
    except CallersOwnError:
        seen.append("raised")
    return seen


async def chat_closed(client: Any) -> Seen:
    stream = await chat(client, stream=True)
    seen = await take_two(client, stream)
    await whole(stream.close())
    return seen


async def chat_helper(client: Any) -> Seen:
    """`.stream()`: events, and the completion put together."""
    manager = client.chat.completions.stream(**ENDING)
    if is_async(client):
        async with manager as stream:
            kinds = [event.type async for event in stream]
            return [*kinds, plain(await stream.get_final_completion())]
    with manager as stream:
        kinds = [event.type for event in stream]
        return [*kinds, plain(stream.get_final_completion())]


async def raw_whole(client: Any) -> Seen:
    answer = await whole(client.chat.completions.with_raw_response.create(**ASK))
    return [answer.status_code, plain(await whole(answer.parse()))]


async def raw_drained(client: Any) -> Seen:
    create = client.chat.completions.with_raw_response.create
    answer = await whole(create(**ASK, stream=True))
    stream = await whole(answer.parse())
    return [answer.status_code, *await drain(client, stream)]


async def lines(client: Any) -> Seen:
    """The caller reads lines, and asked for no usage."""
    manager = client.chat.completions.with_streaming_response.create(**ASK, stream=True)
    if is_async(client):
        async with manager as answer:
            return [line[:5] async for line in answer.iter_lines()]
    with manager as answer:
        return [line[:5] for line in answer.iter_lines()]


async def refused(client: Any) -> Seen:
    return [await chat(client, extra_headers={"x-simulate": "status=400"})]


async def refused_stream(client: Any) -> Seen:
    told = {"x-simulate": "status=400"}
    return [await chat(client, stream=True, extra_headers=told)]


async def dropped(client: Any) -> Seen:
    """The server goes away in the middle of a stream."""
    told = {"x-simulate": "disconnect@2"}
    return await drain(client, await chat(client, stream=True, extra_headers=told))


async def completion_whole(client: Any) -> Seen:
    return [plain(await whole(client.completions.create(**PROMPT)))]


async def completion_drained(client: Any) -> Seen:
    stream = await whole(client.completions.create(**PROMPT, stream=True))
    return await drain(client, stream)


async def responses_whole(client: Any) -> Seen:
    create = client.responses.create
    return [plain(await whole(create(model="spec-demo", input="hi")))]


async def responses_drained(client: Any) -> Seen:
    create = client.responses.create
    stream = await whole(create(model="spec-demo", input="hi", stream=True))
    return await drain(client, stream)


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        *(chat_whole, chat_parse, chat_drained, chat_with_usage, chat_left),
        *(chat_left_in_with, chat_raised_in_with, chat_closed, chat_helper),
        *(raw_whole, raw_drained, lines, refused, refused_stream, dropped),
        *(completion_whole, completion_drained, responses_whole, responses_drained),
    )
}
