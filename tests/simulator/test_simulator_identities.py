"""The identities of an engine that speculates hold for whatever is simulated."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import CHAT, COMPLETIONS, chat

from otel_specdecode.simulator import (
    Entry,
    PayloadLevel,
    Profile,
    Responder,
    Speculation,
    named_profile,
)

_rates = st.lists(st.floats(0, 1), min_size=1, max_size=16).map(
    lambda rates: tuple(sorted(rates, reverse=True))
)
_speculation = st.builds(
    lambda rates, coverage, least: Speculation(
        method="made-up",
        acceptance_by_position=rates,
        coverage=coverage,
        min_draft_tokens=min(least, len(rates)) if least else None,
    ),
    _rates,
    st.floats(0, 1),
    st.none() | st.integers(1, 16),
)
_max_tokens = st.integers(1, 300)
_seeds = st.integers(0, 1_000)


def _run(
    speculation: Speculation | None, max_tokens: int, seed: int, **body: object
) -> tuple[Entry, object]:
    profile = Profile(
        speculation=speculation, seed=seed, payload=PayloadLevel.DETAILED, time_scale=0
    )
    responder = Responder(profile)
    played = chat(responder, max_tokens=max_tokens, **body)
    return responder.ledger.entries[-1], played


@given(_speculation, _max_tokens, _seeds)
def test_output_tokens_are_what_the_steps_made_less_what_was_cut(
    speculation, max_tokens, seed
):
    entry, _ = _run(speculation, max_tokens, seed)
    sums = entry.totals
    undrafted = sums.num_decode_steps - sums.num_spec_steps
    made = 1 + undrafted + sums.num_spec_steps + sums.num_accepted_draft_tokens
    assert sums.num_output_tokens == made - entry.cut_tokens
    assert sums.num_output_tokens == max_tokens
    assert 0 <= entry.cut_tokens <= speculation.num_spec_tokens


@given(_speculation, _max_tokens, _seeds)
def test_chunks_after_the_role_chunk_are_engine_steps_within_the_bounds(
    speculation, max_tokens, seed
):
    entry, played = _run(speculation, max_tokens, seed)
    num_chunks = len(played.choice_chunks) - 1
    fewest = max_tokens - entry.totals.num_accepted_draft_tokens
    assert num_chunks == 1 + entry.totals.num_decode_steps
    assert fewest <= num_chunks <= fewest + speculation.num_spec_tokens


@given(_speculation, _max_tokens, _seeds)
def test_the_payload_agrees_with_itself_and_with_the_ledger(
    speculation, max_tokens, seed
):
    entry, played = _run(speculation, max_tokens, seed)
    payload, sums = played.acceptance, entry.totals
    histogram = payload["acceptance_histogram"]
    assert len(histogram) == payload["num_spec_tokens"] + 1
    assert sum(histogram) == payload["num_spec_steps"] == sums.num_spec_steps
    accepted = sum(j * count for j, count in enumerate(histogram))
    assert accepted == payload["num_accepted_draft_tokens"]
    assert accepted == sums.num_accepted_draft_tokens == sum(sums.accepted_by_position)
    assert accepted <= payload["num_draft_tokens"] == sums.num_draft_tokens
    assert sum(payload.get("per_step_accepted", [])) == accepted
    assert sum(payload.get("per_step_drafted", [])) == sums.num_draft_tokens
    assert played.usage["completion_tokens"] == sums.num_output_tokens


@given(_speculation, _max_tokens, _seeds)
def test_the_text_does_not_depend_on_speculation_or_on_streaming(
    speculation, max_tokens, seed
):
    _, plain = _run(None, max_tokens, seed)
    _, faster = _run(speculation, max_tokens, seed)
    _, whole = _run(speculation, max_tokens, seed, stream=False)
    content = whole.body["choices"][0]["message"]["content"]
    assert plain.text == faster.text == content


@given(_speculation, _max_tokens, _seeds)
def test_a_shorter_answer_takes_the_same_steps_as_far_as_it_goes(
    speculation, max_tokens, seed
):
    _, longer = _run(speculation, max_tokens + 5, seed)
    _, shorter = _run(speculation, max_tokens, seed)
    steps = shorter.acceptance.get("per_step_accepted", [])
    assert longer.acceptance.get("per_step_accepted", [])[: len(steps)] == steps
    assert longer.text.startswith(shorter.text)


@given(_speculation, st.integers(2, 200), _seeds, st.integers(1, 9))
def test_a_stream_interval_changes_chunks_and_no_sum(
    speculation, max_tokens, seed, interval
):
    plain, whole = _run(speculation, max_tokens, seed)
    entry, played = _run(speculation, max_tokens, seed, stream_interval=interval)
    assert played.text == whole.text
    assert entry.totals.accepted_by_position == plain.totals.accepted_by_position
    # The first token goes at once, then at least `interval` tokens a chunk.
    assert len(played.choice_chunks) - 1 <= 1 + -(-(max_tokens - 1) // interval)


@given(_speculation, _max_tokens, _seeds)
def test_a_server_that_splits_steps_sends_one_chunk_a_token(
    speculation, max_tokens, seed
):
    _, played = _run(speculation, max_tokens, seed, simulate="split")
    assert len(played.choice_chunks) - 1 == max_tokens


@given(_speculation, st.integers(20, 200), _seeds)
def test_merging_loses_no_text_and_hides_steps(speculation, max_tokens, seed):
    entry, whole = _run(speculation, max_tokens, seed)
    _, played = _run(speculation, max_tokens, seed, simulate="merge=1")
    assert played.text == whole.text
    # Everything waits, but for the role, the first token and the end.
    assert len(played.choice_chunks) == min(3, 2 + entry.totals.num_decode_steps)


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
def test_the_same_seed_and_request_give_the_same_bytes_apart_from_ids_and_time(path):
    def answer() -> bytes:
        clocks = iter(range(1_000_000))
        responder = Responder(named_profile("ngram"), wall_clock=lambda: next(clocks))
        body = b'{"prompt": "x", "messages": [{"content": "x"}], "stream": true}'
        for _ in range(3):
            events = responder.respond("POST", path, {}, body).events
            raw = b"".join(data for _, data in events)
        return re.sub(rb'"(id|created)":("[^"]*"|\d+)', b"", raw)

    assert answer() == answer()


def test_max_tokens_cuts_the_last_step_and_leaves_its_accepted_tokens_counted():
    profile = Profile(
        speculation=Speculation(method="made-up", acceptance_by_position=(1.0,) * 4)
    )
    seen = []
    for max_tokens in (22, 23, 24, 25, 26):
        responder = Responder(profile)
        chat(responder, max_tokens=max_tokens)
        entry = responder.ledger.entries[-1]
        sums = entry.totals
        seen.append(
            (sums.num_spec_steps, sums.num_accepted_draft_tokens, entry.cut_tokens)
        )
    assert seen == [(5, 20, 4), (5, 20, 3), (5, 20, 2), (5, 20, 1), (5, 20, 0)]


def test_the_mtp_profile_tells_the_story_of_128_tokens_in_about_44_chunks():
    responder = Responder(named_profile("mtp"))
    played = chat(responder, max_tokens=128)
    sums = responder.ledger.totals
    assert sums.num_output_tokens == 128
    assert 43 <= len(played.choice_chunks) - 1 <= 45
    assert sums.num_accepted_draft_tokens / sums.num_draft_tokens > 0.97
