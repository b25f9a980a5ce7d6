"""Requests together: sums first, ratios of the sums afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_oracle import runs
from hypothesis import given
from hypothesis import strategies as st
from model_streams import arrivals_at, record

from otel_specdecode.model import (
    AcceptanceState,
    FirstChunk,
    Outcome,
    RequestRecord,
    Totals,
    sum_acceptance,
)


@st.composite
def records(draw: st.DrawFn) -> RequestRecord:
    """Requests of every kind, at instants that add up without rounding."""
    run = draw(runs(most_tokens=12))
    streaming, seen = draw(st.booleans()), draw(st.booleans())
    known = draw(st.booleans())
    instants = [draw(st.integers(1, 64)) / 64]
    for _ in run.tokens_by_step[1:]:
        instants.append(instants[-1] + draw(st.integers(1, 64)) / 64)
    return record(
        num_output_tokens=run.num_output_tokens if known else None,
        acceptance=run.acceptance if known else None,
        arrivals=arrivals_at(instants) if streaming else None,
        outcome=draw(st.sampled_from(Outcome)),
        request_seen=seen,
        duration_s=draw(st.integers(1, 64)) / 16,
    )


sets = st.lists(records(), max_size=3)


@given(sets, sets, sets)
def test_adding_is_associative_and_commutative(
    a: list[RequestRecord], b: list[RequestRecord], c: list[RequestRecord]
) -> None:
    first, second, third = Totals.of(a), Totals.of(b), Totals.of(c)
    assert (first + second) + third == first + (second + third) == Totals.of(a + b + c)
    assert first + second == second + first
    assert first + Totals() == first


@given(st.lists(records(), min_size=1, max_size=4))
def test_ratios_are_those_of_the_sums(answers: list[RequestRecord]) -> None:
    totals = Totals.of(answers)
    spans = [answer.decode_span for answer in answers if answer.decode_span]
    elapsed_s = sum(span.elapsed_s for span in spans)
    num_tokens = sum(span.num_tokens for span in spans)
    assert totals.tpot_s == (elapsed_s / num_tokens if spans else None)
    timed = [a for a in answers if a.output_token_rate is not None]
    generated = sum(a.num_output_tokens or 0 for a in timed)
    elapsed_s = sum(a.generation_s or 0 for a in timed)
    assert totals.output_token_rate == (generated / elapsed_s if timed else None)
    counts = sum_acceptance(a.acceptance for a in answers if a.acceptance is not None)
    assert totals.acceptance == counts
    if counts is not None:
        assert totals.draft_acceptance_rate == counts.draft_acceptance_rate
        assert totals.mean_acceptance_length == counts.mean_acceptance_length


def test_nothing_summed_has_no_ratio_and_no_part() -> None:
    nothing = Totals.of([])
    assert nothing == Totals()
    ratios = (
        nothing.tpot_s,
        nothing.output_token_rate,
        nothing.undercount_factor,
        nothing.draft_acceptance_rate,
        nothing.mean_acceptance_length,
        nothing.first_chunk,
        nothing.acceptance,
        nothing.gaps,
    )
    assert set(ratios) == {None}


def test_what_is_missing_is_counted_and_not_summed_as_zero() -> None:
    plain = record(num_output_tokens=10, duration_s=1.0)
    malformed = replace(plain, acceptance_state=AcceptanceState.MALFORMED)
    several = replace(plain, acceptance_state=AcceptanceState.NOT_APPLICABLE)
    failed = record(outcome=Outcome.ERROR)
    totals = Totals.of([plain, malformed, several, failed])
    assert totals.num_requests == 4
    assert totals.num_completed == 3
    assert totals.num_failed == 1
    assert totals.num_without_usage == 1
    assert totals.num_without_acceptance == 3
    assert totals.output_token_rate == 10.0


def test_tokens_whose_time_is_unknown_are_in_no_rate() -> None:
    timed = record(num_output_tokens=10, duration_s=1.0)
    untimed = replace(timed, request_seen=False)
    totals = Totals.of([timed, untimed])
    assert totals.num_output_tokens == 20
    assert totals.output_token_rate == 10.0


def test_a_plain_response_is_in_no_undercount() -> None:
    stream = record(num_output_tokens=6, arrivals=arrivals_at([1.0, 2.0]))
    plain = record(num_output_tokens=100)
    assert Totals.of([stream, plain]).undercount_factor == 3.0


@pytest.mark.parametrize(
    ("first_tokens", "expected"),
    [
        ([1, 1], FirstChunk.COUNTED),
        ([1, None], FirstChunk.ASSUMED),
        ([None, None], FirstChunk.ASSUMED),
    ],
)
def test_a_summed_tpot_says_whether_it_assumed_anything(
    first_tokens: list[int | None], expected: FirstChunk
) -> None:
    answers = [
        record(
            num_output_tokens=6,
            arrivals=arrivals_at([1.0, 2.0]),
            num_first_tokens=num_first_tokens,
        )
        for num_first_tokens in first_tokens
    ]
    assert Totals.of(answers).first_chunk is expected
