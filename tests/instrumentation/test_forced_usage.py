"""Usage is asked for on every stream, and the caller cannot tell."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, Caller
from scripted_wire import (
    ACCEPTANCE,
    Json,
    Reply,
    Wire,
    answer,
    chat_chunk,
    chat_chunks,
    delta,
    event,
    json_reply,
    role,
    streaming,
    text,
    text_chunk,
    usage,
    whole_answer,
)

import otel_specdecode

if TYPE_CHECKING:
    from telemetry import Telemetry

ASKED = {"include_usage": True}
FORCED = [("completed", "forced", "present")]
SYNC = Caller("sync")


async def sent(
    telemetry: Telemetry,
    caller: Caller = SYNC,
    *,
    options: Json | None = None,
    **more: Any,
) -> Json:
    """Stream once, and return the body that the server received."""
    wire = Wire(answer)
    client = caller.wrapped(wire, telemetry, **(options or {}))
    await caller.read(await caller.stream(client, **more))
    (body,) = wire.bodies
    return body


async def bare_body(caller: Caller, **more: Any) -> Json:
    wire = Wire(answer)
    await caller.read(await caller.stream(caller.bare(wire), **more))
    return wire.bodies[0]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_stream_asks_for_usage_and_for_nothing_else(
    caller: Caller, telemetry: Telemetry
) -> None:
    bare = await bare_body(caller)
    assert await sent(telemetry, caller) == bare | {"stream_options": ASKED}


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_request_that_is_no_stream_goes_out_as_it_is(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(answer)
    await caller.create(caller.wrapped(wire, telemetry))
    assert wire.bodies == [caller.request()]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"include_obfuscation": False}, {"include_obfuscation": False, **ASKED}),
        ({"include_usage": True}, ASKED),
        ({"include_usage": False}, ASKED),
        ({"include_usage": None}, ASKED),
        ({"continuous_usage_stats": True}, {"continuous_usage_stats": True, **ASKED}),
        ({}, ASKED),
        (None, ASKED),
        (openai.omit, ASKED),
        (openai.NOT_GIVEN, ASKED),
    ],
    ids=lambda value: str(value).partition(" object")[0],
)
async def test_it_is_merged_into_a_copy_of_what_the_caller_sends(
    given: Any, expected: Json, telemetry: Telemetry
) -> None:
    before = copy.copy(given)
    body = await sent(telemetry, stream_options=given)
    assert body["stream_options"] == expected
    if isinstance(given, dict):
        assert given == before


async def test_it_is_merged_in_the_extra_body_where_the_caller_put_it(
    telemetry: Telemetry,
) -> None:
    extra = {"stream_options": {"include_obfuscation": True}, "top_k": 4}
    before = copy.deepcopy(extra)
    bare = await bare_body(SYNC, extra_body=extra)
    body = await sent(telemetry, extra_body=extra)
    assert body == bare | {"stream_options": {"include_obfuscation": True, **ASKED}}
    assert extra == before


async def test_a_caller_who_puts_none_into_the_extra_body_is_asked_for_as_well(
    telemetry: Telemetry,
) -> None:
    body = await sent(telemetry, extra_body={"stream_options": None})
    assert body["stream_options"] == ASKED


async def test_the_rest_of_an_extra_body_is_left_where_it_is(
    telemetry: Telemetry,
) -> None:
    extra = {"top_k": 4}
    body = await sent(telemetry, extra_body=extra)
    assert (body["top_k"], body["stream_options"]) == (4, ASKED)
    assert extra == {"top_k": 4}


async def test_options_that_are_no_object_are_the_servers_to_refuse(
    telemetry: Telemetry,
) -> None:
    body = await sent(telemetry, extra_body={"stream_options": []})
    assert body["stream_options"] == []
    body = await sent(telemetry, stream_options="all")
    assert body["stream_options"] == "all"


async def test_a_body_of_bytes_is_sent_as_it_is(telemetry: Telemetry) -> None:
    wire = Wire(answer)
    client = SYNC.wrapped(wire, telemetry)
    stream = client.post(
        "/chat/completions",
        content=b'{"model": "m", "messages": [], "stream": true}',
        cast_to=openai.types.chat.ChatCompletionChunk,
        stream=True,
        stream_cls=openai.Stream[openai.types.chat.ChatCompletionChunk],
        options={"headers": {"content-type": "application/json"}},
    )
    assert len(list(stream)) == 4
    assert wire.bodies == [{"model": "m", "messages": [], "stream": True}]


@pytest.mark.parametrize(
    ("policy", "given", "expected"),
    [
        ("always", None, ASKED),
        ("always", {"include_usage": False}, ASKED),
        ("unset", None, ASKED),
        (
            "unset",
            {"include_obfuscation": False},
            {"include_obfuscation": False, **ASKED},
        ),
        ("unset", {"include_usage": False}, {"include_usage": False}),
        ("unset", {"include_usage": True}, ASKED),
        ("never", None, None),
        ("never", {"include_usage": False}, {"include_usage": False}),
        ("never", {"include_usage": True}, ASKED),
    ],
)
async def test_the_policy_says_on_which_streams(
    policy: str, given: Json | None, expected: Json | None, telemetry: Telemetry
) -> None:
    more = {} if given is None else {"stream_options": given}
    body = await sent(telemetry, options={"usage": policy}, **more)
    assert body.get("stream_options") == expected
    asked = bool(expected and expected["include_usage"])
    own = bool(given and given.get("include_usage"))
    usage = "requested" if own else "forced" if asked else "absent"
    acceptance = "present" if asked else "absent"
    assert telemetry.requests() == [("completed", usage, acceptance)]


@pytest.mark.parametrize("asks", [True, False])
async def test_continuous_usage_is_asked_for_only_where_that_is_wanted(
    telemetry: Telemetry, *, asks: bool
) -> None:
    more = {"stream_options": {"include_usage": True}} if asks else {}
    body = await sent(telemetry, options={"continuous_usage": True}, **more)
    assert body["stream_options"] == ASKED | {"continuous_usage_stats": True}


async def test_token_ids_are_asked_for_only_where_that_is_wanted(
    telemetry: Telemetry,
) -> None:
    body = await sent(telemetry, options={"token_ids": True})
    assert body["return_token_ids"] is True
    body = await sent(
        telemetry, options={"token_ids": True}, extra_body={"return_token_ids": False}
    )
    assert body["return_token_ids"] is False


async def test_token_ids_are_not_asked_of_a_request_that_is_no_stream(
    telemetry: Telemetry,
) -> None:
    wire = Wire(answer)
    await SYNC.create(SYNC.wrapped(wire, telemetry, token_ids=True))
    assert wire.bodies == [SYNC.request()]


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_iterable_of_the_callers_is_not_consumed(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(answer)
    messages = ({"role": "user", "content": word} for word in ("one", "two"))
    stream = await caller.stream(caller.wrapped(wire, telemetry), messages=messages)
    await caller.read(stream)
    assert [m["content"] for m in wire.bodies[0]["messages"]] == ["one", "two"]


async def both(
    chunks: list[Json] | Wire,
    telemetry: Telemetry,
    *,
    options: Json | None = None,
    **more: Any,
) -> tuple[list[Json], list[Json]]:
    """Chunks that a wrapped caller sees, and all that the server sent."""
    wire = Wire(streaming(*chunks))
    client = SYNC.wrapped(wire, telemetry, **(options or {}))
    stream = await SYNC.stream(client, **more)
    seen = [chunk.to_dict() for chunk in await SYNC.read(stream)]
    bare = await SYNC.read(await SYNC.stream(SYNC.bare(Wire(streaming(*chunks)))))
    return seen, [chunk.to_dict() for chunk in bare]


ANSWER = chat_chunks(with_usage=False)
USAGE_CHUNK = chat_chunk(usage=usage(7), metrics=ACCEPTANCE)
FINISH = chat_chunk(delta("", "stop"))


async def test_the_chunk_that_only_we_asked_for_is_read_and_not_handed_on(
    telemetry: Telemetry,
) -> None:
    seen, sent = await both([*ANSWER, USAGE_CHUNK], telemetry)
    assert seen == sent[:-1]
    assert telemetry.requests() == FORCED
    assert telemetry.attributes["specdecode.num_chunks"] == 5


async def test_a_caller_who_asked_gets_it(telemetry: Telemetry) -> None:
    seen, sent = await both(
        [*ANSWER, USAGE_CHUNK], telemetry, stream_options={"include_usage": True}
    )
    assert seen == sent
    assert telemetry.requests() == [("completed", "requested", "present")]


async def test_it_is_handed_on_where_hiding_is_switched_off(
    telemetry: Telemetry,
) -> None:
    seen, sent = await both(
        [*ANSWER, USAGE_CHUNK], telemetry, options={"hide_usage_chunk": False}
    )
    assert seen == sent
    assert telemetry.requests() == FORCED


HIDDEN: dict[str, list[Json]] = {
    "usage with a bare choice": [
        chat_chunk(delta(None), usage=usage(7), metrics=ACCEPTANCE)
    ],
    "usage with an empty delta": [
        chat_chunk(delta(""), usage=usage(7), metrics=ACCEPTANCE)
    ],
    "no choice beside usage with a choice": [
        chat_chunk(),
        chat_chunk(delta(None), usage=usage(7), metrics=ACCEPTANCE),
    ],
    "no choice after usage": [USAGE_CHUNK, chat_chunk()],
    "usage without a field for choices": [
        {key: value for key, value in USAGE_CHUNK.items() if key != "choices"}
    ],
    "usage beside choices of null": [USAGE_CHUNK | {"choices": None}],
    "usage of zeros before the real one": [
        chat_chunk(usage=usage(0, 0)),
        USAGE_CHUNK,
    ],
    "fields that the first chunk had as well": [
        chat_chunk(usage=usage(7), metrics=ACCEPTANCE, prompt_token_ids=None)
    ],
}


@pytest.mark.parametrize("name", HIDDEN)
async def test_whatever_comes_after_the_end_only_for_usage_is_hidden(
    name: str, telemetry: Telemetry
) -> None:
    seen, sent = await both([*ANSWER, *HIDDEN[name]], telemetry)
    assert seen == sent[: len(ANSWER)]
    assert telemetry.requests() == FORCED
    assert telemetry.total("output_tokens") == 7


async def test_a_chunk_shaped_like_nothing_known_stays_visible(
    telemetry: Telemetry,
) -> None:
    odd = {"id": "x", "object": "keepalive", "choices": None}
    seen, sent = await both([*ANSWER, odd, USAGE_CHUNK], telemetry)
    assert seen == sent[:-1]
    assert telemetry.requests() == FORCED
    assert telemetry.total("output_tokens") == 7


async def test_a_field_of_the_gateways_on_every_chunk_does_not_keep_ours_visible(
    telemetry: Telemetry,
) -> None:
    chunks = [chunk | {"cluster": "east"} for chunk in (*ANSWER, USAGE_CHUNK)]
    seen, sent = await both(chunks, telemetry)
    assert seen == sent[:-1]


VISIBLE: dict[str, list[Json]] = {
    "a field of somebody else": [USAGE_CHUNK | {"citations": ["https://example.org"]}],
    "a field of a choice": [
        chat_chunk(
            delta(None) | {"content_filter_results": {"hate": {"filtered": False}}},
            usage=usage(7),
            metrics=ACCEPTANCE,
        )
    ],
    "content": [
        chat_chunk(delta(" eight"), usage=usage(7), metrics=ACCEPTANCE),
    ],
    "another finish reason": [
        chat_chunk(delta(None, "length"), usage=usage(7), metrics=ACCEPTANCE),
    ],
    "reasoning": [
        chat_chunk(
            delta(None) | {"delta": {"reasoning": "so"}},
            usage=usage(7),
            metrics=ACCEPTANCE,
        )
    ],
}


@pytest.mark.parametrize("name", VISIBLE)
async def test_a_chunk_that_brings_anything_else_stays_visible(
    name: str, telemetry: Telemetry
) -> None:
    seen, sent = await both([*ANSWER, *VISIBLE[name]], telemetry)
    assert seen == sent
    assert telemetry.total("output_tokens") == 7


async def test_usage_on_the_finish_chunk_is_the_servers_own_habit(
    telemetry: Telemetry,
) -> None:
    chunks = [*ANSWER[:-1], ANSWER[-1] | {"usage": usage(7), "metrics": ACCEPTANCE}]
    seen, sent = await both(chunks, telemetry)
    assert seen == sent
    assert telemetry.requests() == [("completed", "unasked", "present")]


async def test_where_usage_comes_unasked_on_every_chunk_nothing_is_hidden(
    telemetry: Telemetry,
) -> None:
    chunks = [chunk | {"usage": usage(n)} for n, chunk in enumerate(ANSWER, 1)]
    seen, sent = await both([*chunks, USAGE_CHUNK], telemetry)
    assert seen == sent
    assert telemetry.requests() == [("completed", "unasked", "present")]


async def test_a_block_without_a_count_is_no_usage(telemetry: Telemetry) -> None:
    chunks = [*ANSWER, chat_chunk(usage={}), USAGE_CHUNK]
    seen, sent = await both(chunks, telemetry)
    assert seen == sent[: len(ANSWER)]
    assert telemetry.requests() == FORCED


async def test_usage_beside_an_empty_end_of_a_text_completion(
    telemetry: Telemetry,
) -> None:
    caller = Caller("sync", "completions")
    last = text_chunk(text("", "stop"), usage=usage(7), metrics=ACCEPTANCE)
    wire = Wire(streaming(text_chunk(text("one")), last))
    client = caller.wrapped(wire, telemetry)
    assert len(await caller.read(await caller.stream(client))) == 2
    assert telemetry.requests() == [("completed", "unasked", "present")]
    assert telemetry.attributes["specdecode.num_content_chunks"] == 1


async def test_content_after_the_last_count_leaves_the_tokens_unknown(
    telemetry: Telemetry,
) -> None:
    counted = ANSWER[1] | {"usage": usage(1)}
    await both([ANSWER[0], counted, *ANSWER[2:]], telemetry)
    assert "gen_ai.usage.output_tokens" not in telemetry.attributes
    assert telemetry.attributes["gen_ai.usage.input_tokens"] == 5


async def test_usage_of_null_on_every_chunk_changes_nothing(
    telemetry: Telemetry,
) -> None:
    chunks = [chunk | {"usage": None} for chunk in ANSWER]
    seen, sent = await both([*chunks, USAGE_CHUNK], telemetry)
    assert seen == sent[:-1]
    assert telemetry.requests() == FORCED


async def test_continuous_usage_counts_the_first_chunk_and_hides_the_last(
    telemetry: Telemetry,
) -> None:
    counts = (0, 1, 4, 7)
    chunks = [
        chunk | {"usage": usage(count)}
        for chunk, count in zip(ANSWER, counts, strict=True)
    ]
    seen, sent = await both(
        [*chunks, USAGE_CHUNK], telemetry, options={"continuous_usage": True}
    )
    assert seen == sent[:-1]
    assert telemetry.requests() == FORCED
    assert telemetry.attributes["specdecode.first_chunk"] == "counted"


async def test_a_callers_own_continuous_usage_is_no_habit_of_the_server(
    telemetry: Telemetry,
) -> None:
    chunks = [chunk | {"usage": usage(n)} for n, chunk in enumerate(ANSWER)]
    seen, sent = await both(
        [*chunks, USAGE_CHUNK],
        telemetry,
        stream_options={"continuous_usage_stats": True},
    )
    assert seen == sent[:-1]
    assert telemetry.requests() == FORCED


async def test_token_ids_count_the_first_chunk(telemetry: Telemetry) -> None:
    chunks = [
        chat_chunk(role() | {"token_ids": None}),
        chat_chunk(delta("") | {"token_ids": [1]}),
        chat_chunk(delta("one two") | {"token_ids": [2, 3]}),
        chat_chunk(delta(" three", "stop") | {"token_ids": [4, 5]}),
        chat_chunk(usage=usage(5)),
    ]
    with otel_specdecode.capture() as records:
        await both(chunks, telemetry, options={"token_ids": True})
    assert records[0].num_first_tokens == 3
    assert telemetry.attributes["specdecode.first_chunk"] == "counted"


async def test_a_count_on_the_role_chunk_alone_says_nothing_of_the_first_content(
    telemetry: Telemetry,
) -> None:
    counted = chat_chunk(role(), usage=usage(1))
    with otel_specdecode.capture() as records:
        await both([counted, *ANSWER[1:], USAGE_CHUNK], telemetry)
    assert records[0].num_first_tokens is None
    assert telemetry.attributes["specdecode.first_chunk"] == "assumed"


async def test_zeros_all_along_count_nothing(telemetry: Telemetry) -> None:
    chunks = [chunk | {"usage": usage(0, 0)} for chunk in ANSWER]
    with otel_specdecode.capture() as records:
        await both([*chunks, USAGE_CHUNK], telemetry)
    assert records[0].num_first_tokens is None
    assert records[0].num_output_tokens == 7


async def test_with_several_choices_the_last_must_have_finished(
    telemetry: Telemetry,
) -> None:
    chunks = [
        chat_chunk(role(0)),
        chat_chunk(role(1)),
        chat_chunk(delta("a", "stop", 0)),
        chat_chunk(),  # a heartbeat of somebody's gateway
        chat_chunk(delta("b", None, 1), delta("", None, 0)),
        chat_chunk(delta("c", "stop", 1)),
        chat_chunk(usage=usage(9)),
    ]
    seen, sent = await both(chunks, telemetry, n=2)
    assert seen == sent[:-1]
    assert telemetry.requests() == [("completed", "forced", "not_applicable")]
    assert telemetry.total("output_tokens") == 9


async def test_a_content_filter_chunk_before_the_answer_stays_visible(
    telemetry: Telemetry,
) -> None:
    filtered = chat_chunk(prompt_filter_results=[{"prompt_index": 0}])
    seen, sent = await both([filtered, *ANSWER, USAGE_CHUNK], telemetry)
    assert seen == sent[:-1]


@pytest.mark.parametrize("more", [{"delta": None}, {}], ids=repr)
async def test_a_finish_that_is_shaped_like_none_is_a_finish_all_the_same(
    more: Json, telemetry: Telemetry
) -> None:
    finish = {"index": 0, "finish_reason": "stop", **more}
    chunks = [*ANSWER[:-1], chat_chunk(finish), USAGE_CHUNK]
    seen, sent = await both(chunks, telemetry)
    assert seen == sent[:-1]
    assert telemetry.requests() == FORCED
    assert telemetry.attributes["gen_ai.response.finish_reasons"] == ("stop",)


async def test_text_completions_hide_the_same(telemetry: Telemetry) -> None:
    caller = Caller("sync", "completions")
    chunks = [
        text_chunk(text("one")),
        text_chunk(text("")),
        text_chunk(text(" two", "stop"), text("")),
        text_chunk(text(""), usage=usage(7), metrics=ACCEPTANCE),
        text_chunk(),
    ]
    client = caller.wrapped(Wire(streaming(*chunks)), telemetry)
    assert len(await caller.read(await caller.stream(client))) == 3
    assert telemetry.requests() == FORCED
    assert telemetry.attributes["specdecode.num_content_chunks"] == 2


@pytest.mark.parametrize(
    ("choice", "num_content_chunks"),
    [
        (delta("text"), 1),
        (delta(None) | {"delta": {"reasoning": "hm"}}, 1),
        (delta(None) | {"delta": {"reasoning_content": "hm"}}, 1),
        (delta(None) | {"delta": {"refusal": "no"}}, 1),
        (delta(None) | {"delta": {"tool_calls": [{"index": 0, "id": "call"}]}}, 1),
        (delta(None) | {"delta": {"audio": {"id": "a", "data": "UklGRg=="}}}, 1),
        (delta(None) | {"delta": {"audio": None}}, 0),
        (delta(None) | {"delta": {"images": [{"type": "image_url"}]}}, 1),
        (delta(""), 0),
        (delta(None), 0),
        (role(), 0),
    ],
    ids=repr,
)
async def test_content_is_whatever_the_model_generated(
    choice: Json, num_content_chunks: int, telemetry: Telemetry
) -> None:
    chunks = [chat_chunk(choice), FINISH, chat_chunk(usage=usage(3))]
    with otel_specdecode.capture() as records:
        await both(chunks, telemetry)
    assert records[0].num_content_chunks == num_content_chunks


async def test_a_role_chunk_is_no_step_before_the_first_and_one_afterwards(
    telemetry: Telemetry,
) -> None:
    chunks = [
        chat_chunk(role()),
        chat_chunk(delta("a")),
        chat_chunk(role()),
        chat_chunk(delta("b", "stop")),
    ]
    with otel_specdecode.capture() as records:
        await both(chunks, telemetry)
    assert records[0].arrivals is not None
    assert records[0].arrivals.num_choice_chunks == 3


async def test_a_tool_call_makes_the_chunking_unknown(telemetry: Telemetry) -> None:
    call = delta(None) | {"delta": {"tool_calls": [{"index": 0, "id": "call"}]}}
    await both([chat_chunk(call), *ANSWER, USAGE_CHUNK], telemetry)
    assert telemetry.attributes["specdecode.chunking"] == "unknown"


@pytest.mark.parametrize("request_more", [{"n": 2}, {"prompt": ["one", "two"]}])
async def test_several_answers_in_one_request_have_usage_and_no_acceptance(
    request_more: Json, telemetry: Telemetry
) -> None:
    caller = Caller("sync", "completions")
    client = caller.wrapped(
        Wire(lambda body: json_reply(whole_answer(body) | {"metrics": None})), telemetry
    )
    with otel_specdecode.capture() as records:
        await caller.create(client, **request_more)
    assert telemetry.requests() == [("completed", "requested", "not_applicable")]
    assert telemetry.total("output_tokens") == 7
    assert records[0].acceptance_reason == "servers report none for 2 choices together"
    reason = telemetry.attributes["specdecode.acceptance_reason"]
    assert reason == records[0].acceptance_reason


@pytest.mark.parametrize("prompt", [[1, 2, 3], [], "text"])
async def test_one_prompt_of_token_ids_is_one_prompt(
    prompt: Any, telemetry: Telemetry
) -> None:
    caller = Caller("sync", "completions")
    await caller.create(caller.wrapped(Wire(answer), telemetry), prompt=prompt)
    assert telemetry.requests() == [("completed", "requested", "present")]


ABSENT = {
    "no usage": (
        ANSWER,
        "no usage arrived, and the statistics come with it",
    ),
    "no statistics": (
        [*ANSWER, chat_chunk(usage=usage(7))],
        "the response carries no statistics of a known server",
    ),
    "no speculation": (
        [*ANSWER, chat_chunk(usage=usage(7), metrics={"speculative_decoding": None})],
        "vllm reports no speculation for this request",
    ),
}


@pytest.mark.parametrize("name", ABSENT)
async def test_why_there_is_no_acceptance_is_said_in_words(
    name: str, telemetry: Telemetry
) -> None:
    chunks, reason = ABSENT[name]
    await both(list(chunks), telemetry)
    assert telemetry.attributes["specdecode.acceptance"] == "absent"
    assert telemetry.attributes["specdecode.acceptance_reason"] == reason


STOPPED = "it ended at a stop string, where vLLM leaves the statistics out"
NOT_THERE = "the response carries no statistics of a known server"


@pytest.mark.parametrize(
    ("stop", "stop_reason", "reason"),
    [
        ("END", "END", STOPPED),
        (["---", "END"], "END", STOPPED),
        # A stop token's id, and a word of other servers.
        ("END", 128009, NOT_THERE),
        ("END", "end_turn", NOT_THERE),
        (None, "END", NOT_THERE),
        ([7], "END", NOT_THERE),
        ("END", ["END"], NOT_THERE),
    ],
)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_answer_that_ended_at_a_stop_string_is_said_to_have(
    caller: Caller, stop: Any, stop_reason: Any, reason: str, telemetry: Telemetry
) -> None:
    last = delta("one", "stop") | {"stop_reason": stop_reason}
    wire = Wire(streaming(chat_chunk(role()), chat_chunk(last, usage=usage(1))))
    client = caller.wrapped(wire, telemetry)
    await caller.read(await caller.stream(client, stop=stop))
    assert telemetry.attributes["specdecode.acceptance_reason"] == reason
    assert "END" not in repr(telemetry.attributes)


async def test_statistics_that_contradict_themselves_are_malformed(
    telemetry: Telemetry,
) -> None:
    stats = ACCEPTANCE["speculative_decoding"] | {"num_accepted_draft_tokens": 400}
    broken = chat_chunk(usage=usage(7), metrics={"speculative_decoding": stats})
    seen, sent = await both([*ANSWER, broken], telemetry)
    assert seen == sent[:-1]
    assert telemetry.requests() == [("completed", "forced", "malformed")]
    assert telemetry.points("specdecode.client.accepted_tokens") == []
    assert (
        "metrics.speculative_decoding"
        in telemetry.attributes["specdecode.acceptance_reason"]
    )


async def test_a_stream_that_is_shaped_like_nothing_known_is_handed_on(
    telemetry: Telemetry,
) -> None:
    payloads: list[Any] = [5, "text", {"choices": [{}]}, {"choices": "x"}, {}]
    wire = Wire(lambda body: Reply([*map(event, payloads)]))
    bare = await SYNC.read(await SYNC.stream(SYNC.bare(wire)))
    seen = await SYNC.read(await SYNC.stream(SYNC.wrapped(wire, telemetry)))
    assert list(map(repr, seen)) == list(map(repr, bare))
    assert telemetry.requests() == [("completed", "absent", "absent")]
    assert telemetry.attributes["specdecode.num_chunks"] == len(payloads)
