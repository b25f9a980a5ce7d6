"""What applications do with a client, each as one short program of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
from callers import Caller, collect_garbage, shown
from scripted_wire import (
    DONE,
    Json,
    Reply,
    Wire,
    answer,
    answer_chunks,
    event,
    json_reply,
    wants_usage,
)

import otel_specdecode

Use = Callable[[Caller, Any], Awaitable[Any]]


@dataclass(frozen=True)
class Call:
    """One way to use a client.

    Attributes:
        use: what is done with it; returns what the application sees.
        reply: what the server answers.
        options: the wrapper's, for both kinds of client.
        num_requests: how many requests it makes.
        endpoint: whose resource it uses.
        retries: of the client.
    """

    use: Use
    reply: Callable[[Json], Reply | BaseException] = answer
    options: dict[str, Any] = field(default_factory=dict)
    num_requests: int = 1
    endpoint: str = "chat"
    retries: int = 0


async def plain(caller: Caller, client: Any) -> Any:
    return await caller.create(client)


async def drained(caller: Caller, client: Any) -> Any:
    stream = await caller.stream(client)
    seen = [type(stream).__name__]
    seen += map(repr, await caller.read(stream))
    return [*seen, stream.response.is_closed]


async def read_while_it_goes(caller: Caller, client: Any) -> Any:
    seen: list[Any] = []
    try:
        iterator = caller.iterate(await caller.stream(client))
        while len(items := await caller.read(iterator, most=1)) == 1:
            seen += map(repr, items)
    except Exception as error:  # noqa: BLE001 (compared with the bare client's)
        seen.append(shown(error))
    return seen


async def left(caller: Caller, client: Any) -> Any:
    seen = await caller.read(await caller.stream(client), most=2)
    await collect_garbage()
    return seen


async def closed(caller: Caller, client: Any) -> Any:
    stream = await caller.stream(client)
    seen = await caller.read(stream, most=2)
    await caller.done(stream.close())
    return [*seen, stream.response.is_closed]


async def helped(caller: Caller, client: Any) -> Any:
    manager = client.chat.completions.stream(**caller.request())
    stream = await caller.enter(manager)
    seen = list(map(repr, await caller.read(stream, most=3)))
    await caller.leave(manager)
    return seen


async def failing(caller: Caller, client: Any) -> Any:
    try:
        return await caller.create(client)
    except Exception as error:  # noqa: BLE001 (compared with the bare client's)
        return shown(error)


async def copied(caller: Caller, client: Any) -> Any:
    with otel_specdecode.tag(task="code"):
        return await caller.create(client.with_options(timeout=3))


async def raw(caller: Caller, client: Any) -> Any:
    create = client.chat.completions.with_raw_response.create
    response = await caller.done(create(**caller.request()))
    return response.status_code, repr(response.parse())


async def raw_stream(caller: Caller, client: Any) -> Any:
    create = client.chat.completions.with_raw_response.create
    response = await caller.done(create(**caller.request(stream=True)))
    return list(map(repr, await caller.read(response.parse())))


def _streaming_response(caller: Caller, client: Any, **more: Any) -> Any:
    create = client.chat.completions.with_streaming_response.create
    return create(**caller.request(**more))


async def raw_lines(caller: Caller, client: Any) -> Any:
    manager = _streaming_response(caller, client, stream=True)
    response = await caller.enter(manager)
    seen = await caller.read(response.iter_lines())
    await caller.leave(manager)
    return seen


async def raw_lines_left(caller: Caller, client: Any) -> Any:
    manager = _streaming_response(caller, client, stream=True)
    response = await caller.enter(manager)
    seen = await caller.read(response.iter_lines(), most=2)
    await caller.leave(manager)
    return seen


async def raw_json(caller: Caller, client: Any) -> Any:
    manager = _streaming_response(caller, client)
    response = await caller.enter(manager)
    seen = await caller.done(response.read())
    await caller.leave(manager)
    return seen


async def responses(caller: Caller, client: Any) -> Any:
    made = client.responses.create(model="m", input="count", stream=True)
    return list(map(repr, await caller.read(await caller.done(made))))


def refusing(body: Json) -> Reply:
    if wants_usage(body):
        return json_reply({"error": {"message": "unknown: stream_options"}}, 400)
    return answer(body)


def failing_midway(body: Json) -> Reply:
    gone = event({"error": {"message": "out of memory", "code": 500}})
    return Reply([*map(event, answer_chunks(body)[:2]), gone, DONE])


def malformed_midway(body: Json) -> Reply:
    first, *others = map(event, answer_chunks(body))
    return Reply([first, event({"choices": [None]}), *others, DONE])


class BusyOnce:
    """Answers 503 to every other request."""

    def __init__(self) -> None:
        self._num_asked = 0

    def __call__(self, body: Json) -> Reply:
        self._num_asked += 1
        if self._num_asked % 2:
            busy: dict[str, str] = {"retry-after-ms": "1"}
            return json_reply({"error": {"message": "busy"}}, 503, **busy)
        return answer(body)


CALLS = {
    "plain": Call(plain),
    "text completion": Call(plain, endpoint="completions"),
    "stream": Call(drained),
    "stream of text": Call(drained, endpoint="completions"),
    "stream, step by step": Call(read_while_it_goes),
    "stream, everything asked for": Call(
        drained,
        options={
            "time_per_output_chunk": True,
            "continuous_usage": True,
            "token_ids": True,
        },
    ),
    "stream left": Call(left),
    "stream closed": Call(closed),
    "stream helper": Call(helped),
    "stream refused": Call(drained, refusing),
    "stream that fails": Call(read_while_it_goes, failing_midway),
    "stream with a malformed chunk": Call(read_while_it_goes, malformed_midway),
    "error answer": Call(
        failing, lambda body: json_reply({"error": {"message": "no such model"}}, 404)
    ),
    "no connection": Call(failing, lambda body: httpx2.ConnectError("refused")),
    "busy once": Call(plain, BusyOnce(), retries=1),
    "copied client": Call(copied),
    "raw response": Call(raw),
    "raw response, stream": Call(raw_stream),
    "streaming response, lines": Call(raw_lines),
    "streaming response, lines that bring usage": Call(
        raw_lines, options={"usage": "never"}
    ),
    "streaming response, left": Call(raw_lines_left),
    "streaming response, JSON": Call(raw_json),
    "Responses API": Call(responses),
}


def caller_of(call: Call, mode: str) -> Caller:
    return Caller(mode, call.endpoint)


def client_of(call: Call, mode: str, providers: dict[str, Any] | None) -> Any:
    """A bare client, or one that is wrapped where providers are given."""
    bare = caller_of(call, mode).bare(Wire(call.reply), max_retries=call.retries)
    if providers is None:
        return bare
    return otel_specdecode.wrap(bare, **providers, **call.options)
