"""Where usage and acceptance stand, for each habit of a server."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from simulated import CHAT, COMPLETIONS, WITH_USAGE, call, chat
from simulated import RESPONSES as RESPONSES_PATH

from otel_specdecode.simulator import (
    PayloadLevel,
    Profile,
    Responder,
    UsagePlacement,
    named_profile,
)

_FAST = replace(named_profile("mtp"), time_scale=0)
_TOOL = {
    "type": "function",
    "function": {"name": "lookup", "parameters": {"type": "object"}},
}
_NAMED = {"type": "function", "function": {"name": "other"}}


def _usage_seen(placement: UsagePlacement, **body: object) -> dict[str, list[object]]:
    """T, or what stands for it, by kind of chunk; kinds in the order they come."""
    responder = Responder(replace(_FAST, usage=placement))
    played = chat(responder, max_tokens=7, **body)
    seen: dict[str, list[object]] = {}
    for chunk in played.chunks:
        if not chunk["choices"]:
            kind = "no choice"
        elif chunk["choices"][0].get("finish_reason"):
            kind = "finish"
        else:
            kind = "choice" if chunk["choices"][0]["delta"] else "empty choice"
        usage = chunk.get("usage", "absent")
        told = usage["completion_tokens"] if isinstance(usage, dict) else usage
        seen.setdefault(kind, []).append(told)
    return seen


_ABSENT = ["absent"] * 3
_ASKED = {
    UsagePlacement.ON_REQUEST: {
        "choice": _ABSENT,
        "finish": ["absent"],
        "no choice": [7],
    },
    UsagePlacement.FORCED: {"choice": [0, 1, 4], "finish": [7], "no choice": [7]},
    UsagePlacement.UNASKED: {
        "choice": _ABSENT,
        "finish": ["absent"],
        "no choice": [7],
    },
    UsagePlacement.ABSENT: {"choice": _ABSENT, "finish": ["absent"]},
    UsagePlacement.NULL_ELSEWHERE: {
        "choice": [None] * 3,
        "finish": [None],
        "no choice": [7],
    },
    UsagePlacement.WITH_CHOICE: {
        "choice": _ABSENT,
        "finish": ["absent"],
        "no choice": ["absent"],
        "empty choice": [7],
    },
    UsagePlacement.ON_FINISH: {"choice": _ABSENT, "finish": [7]},
    UsagePlacement.ZEROS: {"choice": [0] * 3, "finish": [0], "no choice": [7]},
}


@pytest.mark.parametrize("placement", UsagePlacement)
def test_usage_stands_where_the_server_puts_it(placement):
    assert _usage_seen(placement) == _ASKED[placement]


@pytest.mark.parametrize("placement", UsagePlacement)
def test_who_did_not_ask_gets_usage_only_from_those_who_send_it_unasked(placement):
    seen = _usage_seen(placement, stream_options=None)
    told = [value for values in seen.values() for value in values if value != "absent"]
    unasked = {
        UsagePlacement.FORCED,
        UsagePlacement.UNASKED,
        UsagePlacement.WITH_CHOICE,
        UsagePlacement.ON_FINISH,
    }
    assert bool(told) == (placement in unasked)


def test_continuous_usage_grows_with_each_chunk():
    options = {"include_usage": True, "continuous_usage_stats": True}
    seen = _usage_seen(UsagePlacement.ON_REQUEST, stream_options=options)
    assert seen == {"choice": [0, 1, 4], "finish": [7], "no choice": [7]}


def test_token_ids_say_how_many_tokens_a_chunk_carries():
    played = chat(Responder(_FAST), max_tokens=30, return_token_ids=True)
    ids = [chunk["choices"][0].get("token_ids") for chunk in played.choice_chunks]
    whole = chat(
        Responder(_FAST), max_tokens=30, return_token_ids=True, stream=False
    ).body["choices"][0]["token_ids"]
    assert ids[0] is None
    assert [each for chunk in ids[1:] for each in chunk] == whole
    assert len(whole) == 30


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_was_started_without_it_sends_no_payload(stream):
    responder = Responder(replace(_FAST, payload=PayloadLevel.NONE))
    assert chat(responder, max_tokens=20, stream=stream).acceptance is None


@pytest.mark.parametrize("level", [PayloadLevel.SUMMARY, PayloadLevel.DETAILED])
def test_the_payload_has_the_level_that_the_server_was_started_with(level):
    responder = Responder(replace(_FAST, payload=level))
    streamed = chat(responder, max_tokens=20).acceptance
    whole = chat(responder, max_tokens=20, stream=False).acceptance
    arrays = {"per_step_accepted", "per_step_drafted"}
    assert (arrays <= streamed.keys()) == (level is PayloadLevel.DETAILED)
    assert {key: whole[key] for key in streamed} == streamed
    assert arrays <= whole.keys()


@pytest.mark.parametrize(
    "body",
    [
        {"n": 2},
        {"n": 2, "stream": False},
    ],
)
def test_several_choices_have_no_payload_and_are_counted(body):
    responder = Responder(_FAST)
    played = chat(responder, max_tokens=20, **body)
    assert played.acceptance is None
    assert played.usage["completion_tokens"] == 40
    assert responder.ledger.totals.num_spec_steps > 0
    assert responder.ledger.entries[-1].num_choices == 2


def test_several_prompts_have_no_payload_and_are_counted():
    responder = Responder(_FAST)
    body = {"prompt": [[1, 2, 3], [4]], "max_tokens": 20, **WITH_USAGE}
    played = call(responder, COMPLETIONS, **body)
    assert "metrics" not in played.chunks[-1]
    assert played.usage == {
        "prompt_tokens": 4,
        "completion_tokens": 40,
        "total_tokens": 44,
    }


def test_a_request_that_drafted_nothing_has_a_payload_of_zeros():
    played = chat(Responder(_FAST), max_tokens=1)
    assert played.acceptance == {
        "mean_acceptance_length": 1.0,
        "draft_acceptance_rate": 0.0,
        "acceptance_histogram": [0, 0, 0],
        "num_spec_steps": 0,
        "num_accepted_draft_tokens": 0,
        "num_draft_tokens": 0,
        "num_spec_tokens": 2,
    }


def test_an_end_token_is_counted_and_has_no_text():
    responder = Responder(replace(_FAST, end_after_tokens=10))
    ended = chat(responder, max_tokens=50)
    unended = chat(responder, max_tokens=9)
    assert ended.choice_chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert ended.usage["completion_tokens"] == 10
    assert ended.text == unended.text
    ignoring = chat(responder, max_tokens=50, ignore_eos=True)
    assert ignoring.usage["completion_tokens"] == 50


def test_a_stop_string_is_held_back_and_leaves_the_statistics_out():
    responder = Responder(_FAST)
    free = chat(responder, max_tokens=60)
    stop = free.text[80:86]
    stopped = chat(responder, max_tokens=60, stop=[stop, "never said"])
    whole = chat(responder, max_tokens=60, stop=stop, stream=False)
    choice = whole.body["choices"][0]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", stop)
    expected = free.text[: free.text.index(stop)]
    assert stopped.text == choice["message"]["content"] == expected
    # As on vLLM 0.32.0: the string is found outside the engine.
    assert stopped.acceptance is whole.acceptance is None
    assert responder.ledger.entries[-1].totals.num_spec_steps > 0


def test_a_stop_string_that_is_never_said_changes_nothing():
    responder = Responder(_FAST)
    free = chat(responder, max_tokens=60)
    held = chat(responder, max_tokens=60, stop="never said")
    assert (held.text, held.usage) == (free.text, free.usage)
    assert held.acceptance == free.acceptance


def test_reasoning_is_the_same_streamed_and_in_one_piece_and_is_counted():
    profile = replace(_FAST, num_reasoning_tokens=30)
    responder = Responder(profile)
    played = chat(responder, max_tokens=80)
    reasoning = "".join(
        chunk["choices"][0]["delta"].get("reasoning", "")
        for chunk in played.choice_chunks
    )
    whole = chat(responder, max_tokens=80, stream=False).body["choices"][0]["message"]
    assert (reasoning, played.text) == (whole["reasoning"], whole["content"])
    assert played.usage["completion_tokens_details"] == {"reasoning_tokens": 30}


def test_thinking_to_the_end_leaves_no_content():
    profile = replace(_FAST, num_reasoning_tokens=500)
    whole = chat(Responder(profile), max_tokens=20, stream=False).body
    assert whole["choices"][0]["message"]["content"] is None
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 20}


@pytest.mark.parametrize("buffering", [False, True])
def test_tool_calls_come_in_pieces_or_all_at_once(buffering):
    profile = replace(_FAST, tool_calls=True, buffering_tool_parser=buffering)
    responder = Responder(profile)
    played = chat(responder, tools=[_TOOL])
    deltas = [chunk["choices"][0]["delta"] for chunk in played.choice_chunks]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    whole = chat(responder, tools=[_TOOL], stream=False).body["choices"][0]
    arguments = "".join(call["function"].get("arguments", "") for call in calls)
    called = whole["message"]["tool_calls"][0]["function"]
    assert called == {"name": "lookup", "arguments": arguments}
    assert json.loads(arguments)["limit"] == 3
    assert (len(calls) == 1) == buffering
    assert played.choice_chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("choice", "name"),
    [("none", None), ("auto", None), ("required", "lookup"), (_NAMED, "other")],
)
def test_who_must_call_a_tool_calls_it(choice, name):
    whole = chat(Responder(_FAST), tools=[_TOOL], tool_choice=choice, stream=False)
    calls = whole.body["choices"][0]["message"].get("tool_calls", [])
    assert [call["function"]["name"] for call in calls] == ([name] if name else [])


def test_a_tool_call_that_is_cut_off_ends_for_its_length():
    whole = chat(
        Responder(_FAST),
        tools=[_TOOL],
        tool_choice="required",
        max_tokens=3,
        stream=False,
    )
    assert whole.body["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("stream", [True, False])
def test_log_probabilities_cover_every_token(stream):
    options = {"max_tokens": 12, "stream": stream}
    of_chat = chat(Responder(_FAST), logprobs=True, top_logprobs=2, **options)
    of_text = call(Responder(_FAST), COMPLETIONS, prompt="x", logprobs=2, **options)
    in_chat = [
        entry
        for choice in _choices(of_chat)
        if choice["logprobs"]
        for entry in choice["logprobs"]["content"]
    ]
    in_text = [choice["logprobs"] for choice in _choices(of_text)]
    assert len(in_chat) == 12
    assert {len(entry["top_logprobs"]) for entry in in_chat} == {2}
    tokens = [token for each in in_text for token in each["tokens"]]
    offsets = [offset for each in in_text for offset in each["text_offset"]]
    assert len(tokens) == 12
    assert offsets == sorted(offsets)


def _choices(played: object) -> list[dict]:
    answers = [played.body] if played.body else played.choice_chunks
    return [choice for answer in answers for choice in answer["choices"]]


def test_prompts_that_hold_code_are_accepted_more_by_methods_that_copy():
    rates = {}
    for prompt in ("Tell me about rivers.", "def f(x):\n    return x"):
        responder = Responder(replace(named_profile("ngram"), time_scale=0))
        for number in range(20):
            chat(responder, prompt=f"{prompt} {number}", max_tokens=200)
        totals = responder.ledger.totals
        rates[prompt[:3]] = totals.num_accepted_draft_tokens / totals.num_draft_tokens
    assert rates["Tel"] < 0.3
    assert rates["def"] > 0.6


def test_acceptance_and_coverage_can_be_asked_for():
    responder = Responder(_FAST)
    for number in range(20):
        directives = "acceptance=0.5, coverage=0.5, seed=3"
        chat(responder, prompt=f"{number}", max_tokens=200, simulate=directives)
    totals = responder.ledger.totals
    # With k = 2, half of the first and a quarter of the second drafts.
    assert totals.num_accepted_draft_tokens / totals.num_draft_tokens == pytest.approx(
        0.375, abs=0.03
    )
    assert totals.num_spec_steps / totals.num_decode_steps == pytest.approx(
        0.5, abs=0.03
    )


def test_a_responses_stream_starts_before_anything_is_generated():
    played = call(
        Responder(named_profile("mtp")), RESPONSES_PATH, input="x", stream=True
    )
    kinds = [chunk["type"] for chunk in played.chunks]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert [at_s for at_s, _ in played.events[:2]] == [0, 0]
    assert kinds[-1] == "response.completed"
    assert not played.done


def test_a_prompt_that_fills_the_context_is_refused():
    responder = Responder(Profile(max_model_len=20))
    assert chat(responder, prompt="x" * 200).status == 400
    assert chat(responder, prompt="x", max_tokens=18).usage["total_tokens"] == 20


@pytest.mark.parametrize(
    "body",
    [{"n": 0}, {"max_tokens": 0}, {"stream_interval": "4"}, {"max_tokens": 10**6}],
)
def test_a_value_that_cannot_be_is_refused_by_name(body):
    played = chat(Responder(), **body)
    assert played.status == 400
    assert played.body["error"]["param"] == next(iter(body))


def test_a_completion_stops_at_a_stop_string_too():
    responder = Responder(_FAST)
    ask = {"prompt": "x", "max_tokens": 60}
    free = call(responder, COMPLETIONS, **ask, stream=True)
    stop = free.text[90:95]
    stopped = call(responder, COMPLETIONS, **ask, stop=stop, **WITH_USAGE)
    whole = call(responder, COMPLETIONS, **ask, stop=stop)
    assert stopped.text == free.text[: free.text.index(stop)]
    assert whole.body["choices"][0]["text"] == stopped.text
    assert whole.usage["completion_tokens"] == stopped.usage["completion_tokens"] < 60


def test_a_completion_gives_prompt_token_ids_with_its_first_chunk():
    body = {"prompt": "x", "return_token_ids": True, "stream": True}
    chunks = call(Responder(_FAST), COMPLETIONS, **body).choice_chunks
    ids = [chunk["choices"][0]["prompt_token_ids"] for chunk in chunks]
    assert len(ids[0]) == 1
    assert set(ids[1:]) == {None}


def test_answers_may_be_longer_than_the_text_that_they_repeat():
    options = {"max_tokens": 10_000, "stream_interval": 9_000}
    streamed = chat(Responder(_FAST), **options, return_token_ids=True)
    whole = chat(Responder(_FAST), max_tokens=10_000, stream=False)
    ids = [chunk["choices"][0].get("token_ids") or [] for chunk in streamed.chunks[:-1]]
    assert streamed.text == whole.body["choices"][0]["message"]["content"]
    assert sum(map(len, ids)) == 10_000


def test_parts_of_a_message_are_read_as_one():
    parts = [{"type": "text", "text": "Tell me "}, {"type": "text", "text": "more."}]
    responder = Responder(_FAST)
    body = {"messages": [{"role": "user", "content": parts}], "stream": True}
    assert call(responder, CHAT, **body).text == chat(responder, "Tell me more.").text


@pytest.mark.parametrize(
    "body",
    [
        {"messages": ["x"]},
        {"messages": [], "stop": 5},
        {"messages": [], "temperature": "hot"},
        {"messages": [], "tools": [1]},
    ],
)
def test_a_field_of_the_wrong_type_is_refused(body):
    assert call(Responder(), CHAT, **body).status == 400


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, RESPONSES_PATH])
def test_a_null_is_as_good_as_nothing(path):
    fields = (
        "temperature",
        "max_tokens",
        "n",
        "stop",
        "stream_options",
        "tools",
        "seed",
    )
    body = {"messages": [], "prompt": "x", "input": "x", **dict.fromkeys(fields)}
    assert call(Responder(_FAST), path, **body).status == 200


def test_an_entry_that_never_was_is_not_found():
    with pytest.raises(KeyError):
        Responder().ledger.entry("chatcmpl-unknown")


@pytest.mark.parametrize(
    ("changes", "more", "details"),
    [
        ({"num_reasoning_tokens": 20}, {}, {"reasoning_tokens": 20}),
        ({}, {"tools": [_TOOL], "tool_choice": "required"}, None),
    ],
    ids=["reasoning", "tool"],
)
def test_token_ids_are_complete_where_a_parser_swallows_steps(changes, more, details):
    responder = Responder(replace(_FAST, **changes))
    usage = {"include_usage": True, "continuous_usage_stats": True}
    options = {"return_token_ids": True, "stream_options": usage, "logprobs": True}
    chunks = chat(responder, max_tokens=60, **options, **more).choice_chunks[1:]
    ids = [chunk["choices"][0]["token_ids"] for chunk in chunks]
    told = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    logprobs = [chunk["choices"][0]["logprobs"]["content"] for chunk in chunks]
    assert [sum(map(len, ids[: at + 1])) for at in range(len(ids))] == told
    assert [len(each) for each in logprobs] == [len(each) for each in ids]
    assert chunks[-1]["usage"].get("completion_tokens_details") == details
