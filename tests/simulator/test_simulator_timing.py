"""Time passes as the cost model says, and decides whether speculation pays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated import chat

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator import (
    PayloadLevel,
    Profile,
    Responder,
    Speculation,
    StepTime,
    named_profile,
    respond,
)

_TWO_OF_FOUR = Speculation(
    method="made-up", acceptance_by_position=(1.0, 1.0, 0.0, 0.0)
)
_TIME = StepTime(prefill_s=0.1, prompt_token_s=0.0, memory_s=0.02, token_s=0.001)


def _tpot_s(profile: Profile, *, batch: int) -> float:
    """Time per output token of a request while so many run in all."""
    responder = Responder(profile)
    body = b'{"messages": [], "stream": true, "max_tokens": 4000}'
    others = [
        responder.respond("POST", "/v1/chat/completions", {}, body).events
        for _ in range(batch - 1)
    ]
    for other in others:
        next(other)
    played = chat(responder, max_tokens=301)
    first, last = played.events[1][0], played.events[-1][0]
    return (last - first) / 300


def test_chunks_come_at_the_ends_of_their_steps():
    played = chat(Responder(Profile(step_time=_TIME)), max_tokens=4)
    times = [round(at_s, 6) for at_s, _ in played.events]
    # Role and first token together, a step each, and usage with the last one.
    assert times == [0.1, 0.1, 0.121, 0.142, 0.163, 0.163]


def test_a_speculative_step_costs_kappa_times_a_plain_one():
    speculating = Profile(step_time=_TIME, speculation=_TWO_OF_FOUR)
    plain = Profile(step_time=_TIME)
    tokens_per_step = 3
    for batch in (1, 8, 64):
        ratio = _tpot_s(plain, batch=batch) / _tpot_s(speculating, batch=batch)
        assert ratio == pytest.approx(tokens_per_step / _TIME.kappa(4, batch))


def test_speculation_pays_when_the_server_is_quiet_and_not_when_it_is_full():
    speculating = Profile(step_time=_TIME, speculation=_TWO_OF_FOUR)
    plain = Profile(step_time=_TIME)
    assert _tpot_s(speculating, batch=1) < _tpot_s(plain, batch=1)
    assert _tpot_s(speculating, batch=64) > _tpot_s(plain, batch=64)


def test_kappa_grows_with_the_batch_towards_every_token_checked():
    kappas = [_TIME.kappa(4, batch) for batch in (1, 10, 100, 100_000)]
    assert kappas == sorted(kappas)
    assert 1 < kappas[0] < 2
    assert kappas[-1] == pytest.approx(5, rel=0.01)


def test_steps_that_draft_nothing_cost_what_a_plain_one_does():
    never = replace(_TWO_OF_FOUR, coverage=0.0)
    speculating = Profile(step_time=_TIME, speculation=never)
    assert _tpot_s(speculating, batch=1) == pytest.approx(
        _tpot_s(Profile(step_time=_TIME), batch=1)
    )


def test_the_first_requests_after_a_start_are_slower():
    time = replace(_TIME, warmup_factor=5.0, num_warmup_steps=30)
    responder = Responder(Profile(step_time=time))
    lengths = [chat(responder, max_tokens=101).events[-1][0] for _ in range(4)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 1.5 * lengths[-1]
    assert lengths[-1] == pytest.approx(0.1 + 100 * 0.021, rel=0.01)


def test_jitter_moves_times_and_no_bytes():
    steady = chat(Responder(Profile(step_time=_TIME)))
    jittered_time = replace(_TIME, jitter=0.3)
    once, again = (chat(Responder(Profile(step_time=jittered_time))) for _ in range(2))
    times = [[at_s for at_s, _ in played.events] for played in (once, again)]
    assert once.text == steady.text
    assert times[0] == times[1] != [at_s for at_s, _ in steady.events]


def test_the_time_scale_stretches_everything():
    slow = chat(Responder(Profile(step_time=_TIME, time_scale=2.0)), max_tokens=9)
    fast = chat(Responder(Profile(step_time=_TIME)), max_tokens=9)
    assert [at_s for at_s, _ in slow.events] == pytest.approx(
        [2 * at_s for at_s, _ in fast.events]
    )


def test_an_answer_in_one_piece_takes_as_long_as_its_stream():
    profile = named_profile("ngram")
    body = b'{"messages": [], "stream": %s}'
    lengths = [
        [
            at_s
            for at_s, data in respond(
                profile, "POST", "/v1/chat/completions", {}, body % stream
            ).events
            if data
        ][-1]
        for stream in (b"true", b"false")
    ]
    assert lengths[0] == lengths[1] > 1


def test_timing_fields_are_the_engines_own_clock():
    profile = Profile(step_time=_TIME, timing_fields=True)
    streamed = chat(Responder(profile), max_tokens=11).chunks[-1]["metrics"]
    whole = chat(Responder(profile), max_tokens=11, stream=False).body["metrics"]
    expected = {
        "time_to_first_token_ms": pytest.approx(100),
        "generation_time_ms": pytest.approx(210),
        "queue_time_ms": 0.0,
        "mean_itl_ms": pytest.approx(21),
        "tokens_per_second": pytest.approx(11 / 0.31),
    }
    assert streamed == expected
    assert whole == expected | {"speculative_decoding": None}


def test_timing_fields_are_null_beside_acceptance_when_they_are_off():
    profile = Profile(speculation=_TWO_OF_FOUR, payload=PayloadLevel.DETAILED)
    whole = chat(Responder(profile), max_tokens=11, stream=False).body["metrics"]
    payload = whole.pop("speculative_decoding")
    assert set(whole.values()) == {None}
    assert len(whole) == 5
    assert payload["per_step_accepted"] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"acceptance_by_position": ()},
        {"acceptance_by_position": (0.5, 0.6)},
        {"acceptance_by_position": (1.5,)},
        {"coverage": 2.0},
        {"min_draft_tokens": 5},
    ],
)
def test_speculation_that_cannot_be_is_refused(changes):
    with pytest.raises(SimulatorError):
        replace(_TWO_OF_FOUR, **changes)


@pytest.mark.parametrize(
    "changes", [{"num_engines": 0}, {"time_scale": -1.0}, {"stream_interval": 0}]
)
def test_a_profile_that_cannot_be_is_refused(changes):
    with pytest.raises(SimulatorError, match=next(iter(changes))):
        Profile(**changes)


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(SimulatorError, match="plain, mtp, ngram"):
        named_profile("fast")
