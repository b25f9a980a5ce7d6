"""The real OpenAI client, sync and async, finds on every endpoint what it expects."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import openai
import pytest
from simulated_clients import async_client, sync_client

from otel_specdecode.simulator import (
    PROFILES,
    Profile,
    Simulator,
    named_profile,
    simulate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUESTION = [{"role": "user", "content": "Tell me about rivers."}]
_TOOL = {
    "type": "function",
    "function": {"name": "lookup", "parameters": {"type": "object"}},
}
_USAGE = {"include_usage": True}


def _fast(name: str, **changes: object) -> Profile:
    return replace(named_profile(name), time_scale=0, **changes)


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with simulate(_fast("eagle3", tool_calls=True)) as simulator:
        yield simulator


@pytest.fixture
def client(sim: Simulator) -> Iterator[openai.OpenAI]:
    with sync_client(sim) as client:
        yield client


def test_a_chat_stream_ends_with_usage_and_acceptance(sim, client):
    chunks = list(
        client.chat.completions.create(
            model=sim.model,
            messages=_QUESTION,
            max_tokens=40,
            stream=True,
            stream_options=_USAGE,
        )
    )
    truth = sim.ledger.entry(chunks[0].id).totals
    payload = chunks[-1].model_extra["metrics"]["speculative_decoding"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == truth.num_output_tokens == 40
    assert payload["num_accepted_draft_tokens"] == truth.num_accepted_draft_tokens
    assert len(chunks) - 1 == truth.num_choice_chunks
    assert chunks[-2].choices[0].finish_reason == "length"


def test_a_chat_answer_in_one_piece_says_the_same(sim, client):
    answer = client.chat.completions.create(
        model=sim.model, messages=_QUESTION, max_tokens=40
    )
    stream = client.chat.completions.create(
        model=sim.model, messages=_QUESTION, max_tokens=40, stream=True
    )
    parts = [chunk.choices[0].delta.content or "" for chunk in stream]
    assert answer.choices[0].message.content == "".join(parts)


def test_a_completion_has_one_choice_for_each_prompt_and_number(sim, client):
    answer = client.completions.create(
        model=sim.model, prompt=["one", "two"], n=2, max_tokens=9
    )
    stream = client.completions.create(
        model=sim.model, prompt=["one", "two"], n=2, max_tokens=9, stream=True
    )
    texts = ["", "", "", ""]
    for chunk in stream:
        texts[chunk.choices[0].index] += chunk.choices[0].text
    assert [choice.text for choice in answer.choices] == texts
    assert len(set(texts)) == 4
    assert answer.usage.completion_tokens == 36
    # Several sequences: the statistics could not be told apart.
    assert answer.model_extra["metrics"] is None


def test_the_responses_api_has_usage_and_no_acceptance(sim, client):
    answer = client.responses.create(
        model=sim.model, input="Tell me about rivers.", max_output_tokens=20
    )
    with client.responses.stream(
        model=sim.model, input="Tell me about rivers.", max_output_tokens=20
    ) as stream:
        deltas = [
            event.delta
            for event in stream
            if event.type == "response.output_text.delta"
        ]
        final = stream.get_final_response()
    assert answer.usage.output_tokens == final.usage.output_tokens == 20
    assert answer.output_text == final.output_text == "".join(deltas)
    assert answer.model_extra["metrics"] is None


def test_tools_are_called_in_a_stream_and_in_one_piece(sim, client):
    answer = client.chat.completions.create(
        model=sim.model, messages=_QUESTION, tools=[_TOOL]
    )
    with client.chat.completions.stream(
        model=sim.model, messages=_QUESTION, tools=[_TOOL]
    ) as stream:
        streamed = stream.get_final_completion()
    called = answer.choices[0].message.tool_calls[0].function
    assert answer.choices[0].finish_reason == "tool_calls"
    assert called.name == "lookup"
    final = streamed.choices[0].message.tool_calls[0].function
    assert (final.name, final.arguments) == (called.name, called.arguments)


def test_reasoning_comes_before_content(sim, client):
    stream = client.chat.completions.create(
        model=sim.model,
        messages=_QUESTION,
        max_tokens=40,
        stream=True,
        stream_options=_USAGE,
        extra_headers={"x-simulate": "reasoning=20"},
    )
    kinds = []
    for chunk in stream:
        for choice in chunk.choices:
            reasoning = (choice.delta.model_extra or {}).get("reasoning")
            kinds += ["reasoning"] * bool(reasoning)
            kinds += ["content"] * bool(choice.delta.content)
    first_content = kinds.index("content")
    assert 0 < first_content < len(kinds)
    assert "reasoning" not in kinds[first_content + 1 :]
    assert chunk.usage.completion_tokens_details.reasoning_tokens == 20


def test_models_lists_the_served_model(sim, client):
    assert [model.id for model in client.models.list()] == [sim.model]


def test_azure_clients_find_their_deployment(sim):
    with openai.AzureOpenAI(
        azure_endpoint=sim.root_url, api_key="x", api_version="2026-01-01"
    ) as client:
        answer = client.chat.completions.create(
            model=sim.model, messages=_QUESTION, max_tokens=5
        )
    assert answer.usage.completion_tokens == 5


def test_an_unknown_model_is_not_found(client):
    with pytest.raises(openai.NotFoundError, match="`other` does not exist"):
        client.chat.completions.create(model="other", messages=_QUESTION)


def test_stream_options_without_stream_are_refused(sim, client):
    with pytest.raises(openai.BadRequestError, match="`stream=True`"):
        client.chat.completions.create(
            model=sim.model, messages=_QUESTION, stream_options=_USAGE
        )


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
async def test_64_streams_at_once_add_up_to_the_ledger(profile):
    async def last_of(
        client: openai.AsyncOpenAI, number: int
    ) -> openai.types.chat.ChatCompletionChunk:
        stream = await client.chat.completions.create(
            model=profile.model,
            messages=[{"role": "user", "content": f"def f{number}():"}],
            max_tokens=20 + number,
            stream=True,
            stream_options=_USAGE,
        )
        async for chunk in stream:
            last = chunk
        return last

    with simulate(replace(profile, time_scale=0.01)) as sim:
        async with async_client(sim) as client:
            lasts = await asyncio.gather(*(last_of(client, n) for n in range(64)))
    totals = sim.ledger.totals
    payloads = [
        last.model_extra["metrics"]["speculative_decoding"]
        for last in lasts
        if profile.speculation is not None
    ]
    assert totals.num_requests == totals.num_finished == 64
    assert sum(last.usage.completion_tokens for last in lasts) == (
        totals.num_output_tokens
    )
    for name in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens"):
        assert sum(payload[name] for payload in payloads) == getattr(totals, name)
