"""Which chunk is kept from the caller, where servers do not end as they should."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CHAT_CALLERS, Caller
from openai.types.chat import ChatCompletionChunk
from scripted_wire import (
    ACCEPTANCE,
    DONE,
    Json,
    Reply,
    Wire,
    answer,
    chat_chunk,
    delta,
    event,
    role,
    usage,
    wants_usage,
)

if TYPE_CHECKING:
    from telemetry import Telemetry

USAGE = chat_chunk(usage=usage(7), metrics=ACCEPTANCE)
BEGIN = [chat_chunk(role()), chat_chunk(delta("one"))]
FINISH = chat_chunk(delta("", "stop"))


def ending(chunks: list[Json], last: Json = USAGE) -> Wire:
    """A server that adds one chunk where usage is asked for."""

    def reply(body: Json) -> Reply:
        sent = [*chunks, last] if wants_usage(body) else chunks
        return Reply([*map(event, sent), DONE])

    return Wire(reply)


async def seen_by(caller: Caller, client: Any, **more: Any) -> list[Json]:
    stream = await caller.stream(client, **more)
    return [chunk.to_dict(warnings=False) for chunk in await caller.read(stream)]


UNFINISHED: dict[str, tuple[list[Json], Json]] = {
    "one choice where two are wanted": ([*BEGIN, FINISH], {"n": 2}),
    "no finish reason": (BEGIN, {}),
    "a finish reason that is empty": ([*BEGIN, chat_chunk(delta("", ""))], {}),
}


@pytest.mark.parametrize("name", UNFINISHED)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_counts_alone_are_hidden_where_a_choice_never_finishes(
    caller: Caller, name: str, telemetry: Telemetry
) -> None:
    """Callers take `chunk.choices[0]`, and nobody asked for the chunk without one."""
    chunks, more = UNFINISHED[name]
    bare = await seen_by(caller, caller.bare(ending(chunks)), **more)
    client = caller.wrapped(ending(chunks), telemetry)
    assert await seen_by(caller, client, **more) == bare
    ((outcome, origin, _),) = telemetry.requests()
    assert (outcome, origin) == ("completed", "forced")
    assert telemetry.total("output_tokens") == 7


async def test_content_behind_counts_alone_shows_that_nobody_had_to_ask(
    telemetry: Telemetry,
) -> None:
    counted = chat_chunk(usage=usage(1))
    chunks = [*BEGIN, counted, chat_chunk(delta("two")), counted, FINISH]
    caller = Caller("sync")
    seen = await seen_by(caller, caller.wrapped(ending(chunks), telemetry))
    # The first might have been the end; then the server's habit is known.
    assert seen == [*BEGIN, *chunks[3:], USAGE]
    assert telemetry.requests() == [("completed", "unasked", "present")]


async def test_counts_before_content_are_the_servers_own_habit(
    telemetry: Telemetry,
) -> None:
    chunks = [chat_chunk(role()), chat_chunk(usage=usage(0)), *BEGIN[1:], FINISH]
    caller = Caller("sync")
    seen = await seen_by(caller, caller.wrapped(ending(chunks), telemetry))
    assert seen == [*chunks, USAGE]


async def test_padding_of_each_chunk_is_no_reason_to_show_ours(
    telemetry: Telemetry,
) -> None:
    """OpenAI pads each chunk with a string of another length."""
    chunks = [
        chunk | {"obfuscation": "x" * number}
        for number, chunk in enumerate([*BEGIN, FINISH], 1)
    ]
    caller = Caller("sync")
    wire = ending(chunks, USAGE | {"obfuscation": "last"})
    assert await seen_by(caller, caller.wrapped(wire, telemetry)) == chunks
    # As plain JSON no field is declared.
    stream = caller.wrapped(wire, telemetry).post(
        "/chat/completions",
        body=caller.request(stream=True),
        cast_to=object,
        stream=True,
        stream_cls=openai.Stream[object],
    )
    assert list(stream) == chunks


async def test_what_comes_by_itself_after_the_end_stays_visible(
    telemetry: Telemetry,
) -> None:
    """Newer clients declare the field, for which OpenAI sends a chunk of its own."""
    moderated = chat_chunk(moderation={"input": {"type": "x"}})
    caller = Caller("sync")
    wire = ending([*BEGIN, FINISH, moderated])
    seen = await seen_by(caller, caller.wrapped(wire, telemetry))
    assert seen == [*BEGIN, FINISH, moderated]
    assert telemetry.total("output_tokens") == 7


@pytest.mark.parametrize("more", [{}, {"stream": False}])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_nothing_is_asked_for_where_the_body_asks_for_no_stream(
    caller: Caller, more: Json, telemetry: Telemetry
) -> None:
    """Servers refuse `stream_options` there, which would be taken for their habit."""
    wire = Wire(answer)
    client = caller.wrapped(wire, telemetry)
    stream_class = openai.AsyncStream if caller.is_async else openai.Stream
    stream = await caller.done(
        client.post(
            "/chat/completions",
            body=caller.request(**more),
            cast_to=ChatCompletionChunk,
            stream=True,
            stream_cls=stream_class[ChatCompletionChunk],
        )
    )
    assert await caller.read(stream) == []
    await caller.read(await caller.stream(client, extra_body={"stream": False}))
    assert ["stream_options" in body for body in wire.bodies] == [False, False]
