"""Answers that arrive whole and are none: errors, and what does not fit a type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from callers import CHAT_CALLERS, Caller, shown
from pydantic import BaseModel
from scripted_wire import Json, Reply, Wire, answer, event, json_reply, whole_answer

import otel_specdecode

if TYPE_CHECKING:
    from telemetry import Telemetry

ERROR = {"error": {"message": "the model is gone", "code": 500}}
RESPONSE: Json = {
    "id": "resp-1",
    "object": "response",
    "created_at": 1795958016,
    "model": "spec-demo",
    "status": "failed",
    "error": {"code": "server_error", "message": "the model is gone"},
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
DELTA: Json = {
    "type": "response.output_text.delta",
    "item_id": "msg-1",
    "output_index": 0,
    "content_index": 0,
    "delta": "one",
    "logprobs": [],
    "sequence_number": 1,
}
LAST_EVENTS: dict[str, Json] = {
    "a response that failed": {
        "type": "response.failed",
        "response": RESPONSE,
        "sequence_number": 2,
    },
    "an error": {
        "type": "error",
        "code": "server_error",
        "message": "the model is gone",
        "param": None,
        "sequence_number": 2,
    },
}


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_error_under_status_200_is_an_error_although_nothing_is_raised(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(lambda body: json_reply(ERROR))
    bare = await caller.create(caller.bare(wire))
    seen = await caller.create(caller.wrapped(wire, telemetry))
    assert repr(seen) == repr(bare)
    assert telemetry.requests() == [("error", "absent", "absent")]
    assert telemetry.attributes["error.type"] == "error_response"


async def test_a_completion_with_a_warning_called_error_is_complete(
    telemetry: Telemetry,
) -> None:
    caller = Caller("sync")
    wire = Wire(lambda body: json_reply(whole_answer(body) | ERROR))
    await caller.create(caller.wrapped(wire, telemetry))
    assert telemetry.requests() == [("completed", "requested", "present")]


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_response_that_failed_is_an_error(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(lambda body: json_reply(RESPONSE)), telemetry)
    response = await caller.done(client.responses.create(model="m", input="count"))
    assert response.status == "failed"
    assert telemetry.requests() == [("error", "absent", "not_applicable")]
    assert telemetry.attributes["error.type"] == "error_response"


@pytest.mark.parametrize("most", [1000, 2], ids=["to the end", "left there"])
@pytest.mark.parametrize("name", LAST_EVENTS)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_stream_of_events_that_says_so_ends_in_error(
    caller: Caller, name: str, most: int, telemetry: Telemetry
) -> None:
    events = [DELTA, LAST_EVENTS[name]]
    wire = Wire(
        lambda body: Reply(
            [f"event: {one['type']}\n".encode() + event(one) for one in events]
        )
    )
    client = caller.wrapped(wire, telemetry)
    stream = await caller.done(
        client.responses.create(model="m", input="count", stream=True)
    )
    assert len(await caller.read(stream, most=most)) == 2
    await caller.done(stream.close())
    assert telemetry.requests() == [("error", "absent", "not_applicable")]
    assert telemetry.attributes["error.type"] == "stream_error"


class City(BaseModel):
    name: str


UNFIT = {
    "cut off": ('{"na', "length"),
    "held back": ("", "content_filter"),
    "of another shape": ('{"town": "Delft"}', "stop"),
}


@pytest.mark.parametrize("name", UNFIT)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_tokens_of_an_answer_that_does_not_fit_were_made_all_the_same(
    caller: Caller, name: str, telemetry: Telemetry
) -> None:
    content, finish = UNFIT[name]

    def unfit(body: Json) -> Reply:
        answered = whole_answer(body)
        answered["choices"][0] |= {"finish_reason": finish}
        answered["choices"][0]["message"]["content"] = content
        return json_reply(answered)

    errors: list[Exception] = []
    wire = Wire(unfit)
    for client in (caller.bare(wire), caller.wrapped(wire, telemetry)):
        with pytest.raises((openai.OpenAIError, ValueError)) as raised:
            await caller.done(
                client.chat.completions.parse(**caller.request(response_format=City))
            )
        errors.append(raised.value)
    assert shown(errors[0]) == shown(errors[1])
    assert telemetry.requests() == [("error", "requested", "present")]
    assert telemetry.total("output_tokens") == 7
    assert telemetry.attributes["gen_ai.response.finish_reasons"] == (finish,)


async def test_a_parser_that_is_called_again_changes_no_record(
    telemetry: Telemetry,
) -> None:
    def fits(body: Json) -> Reply:
        answered = whole_answer(body)
        answered["choices"][0]["message"]["content"] = '{"name": "Delft"}'
        return json_reply(answered)

    caller = Caller("sync")
    client = caller.wrapped(Wire(fits), telemetry)
    raw = client.chat.completions.with_raw_response.parse(
        **caller.request(response_format=City)
    )
    record = otel_specdecode.record_of(raw)
    assert raw.parse().choices[0].message.parsed == City(name="Delft")
    assert otel_specdecode.record_of(raw) is record
    assert telemetry.requests() == [("completed", "requested", "present")]


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_answer_that_is_handed_on_as_http_is_read(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    response: Any = await caller.done(
        client.post("/chat/completions", body=caller.request(), cast_to=httpx2.Response)
    )
    record = otel_specdecode.record_of(response)
    assert record is not None
    assert response.json()["usage"]["completion_tokens"] == record.num_output_tokens
    assert telemetry.requests() == [("completed", "requested", "present")]
