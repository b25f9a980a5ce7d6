"""The worked examples of the documents that this package is built from."""

from __future__ import annotations

import pytest
from model_streams import arrivals_at, record

from otel_specdecode.model import (
    Acceptance,
    Bounds,
    FirstChunk,
    Totals,
    amortized_time_per_token_s,
    decode_span,
    decode_steps,
    kappa,
    speed_up,
    tokens_per_step,
)

BASELINE_S = [0.100, 0.120, 0.140, 0.160, 0.180, 0.200]
SPECULATION_S = [0.100, 0.135, 0.170]


@pytest.mark.parametrize(
    ("instants", "chunk_gap_s", "tpot_s"),
    [(BASELINE_S, 0.020, 0.020), (SPECULATION_S, 0.035, 0.014)],
)
def test_six_tokens_have_a_longer_chunk_gap_and_a_shorter_tpot_under_speculation(
    instants: list[float], chunk_gap_s: float, tpot_s: float
) -> None:
    answer = record(num_output_tokens=6, arrivals=arrivals_at(instants))
    assert answer.chunk_gap_mean_s == pytest.approx(chunk_gap_s)
    assert answer.tpot_s == pytest.approx(tpot_s)
    assert answer.first_chunk is FirstChunk.ASSUMED


def test_a_cycle_of_four_tokens_wins_at_30_ms_and_loses_at_45_ms() -> None:
    assert amortized_time_per_token_s(0.030, 4) == pytest.approx(0.0075)
    assert amortized_time_per_token_s(0.045, 4) == pytest.approx(0.01125)
    wins, loses = kappa(0.030, 0.010), kappa(0.045, 0.010)
    assert wins is not None
    assert loses is not None
    assert speed_up(4, wins) == pytest.approx(10 / 7.5)
    assert speed_up(4, loses) == pytest.approx(10 / 11.25)
    assert speed_up(4, 4) == 1  # break-even


def test_nothing_is_amortised_over_no_token_and_nothing_costs_no_step() -> None:
    assert amortized_time_per_token_s(0.030, 0) is None
    assert kappa(0.030, 0.0) is None
    assert speed_up(4, 0.0) is None


def test_chunks_of_2_98_tokens_undercount_as_a_chunk_counter_does() -> None:
    """k = 2 and 99 % acceptance: 128 tokens came in 44 chunks, the prefill's first."""
    acceptance = Acceptance(
        num_spec_steps=43,
        num_draft_tokens=86,
        num_accepted_draft_tokens=85,
        histogram=(0, 1, 42),
        num_spec_tokens=2,
    )
    answer = record(
        num_output_tokens=128,
        acceptance=acceptance,
        arrivals=arrivals_at(0.1 + 0.05 * step for step in range(44)),
    )
    assert acceptance.draft_acceptance_rate == pytest.approx(0.99, abs=0.002)
    assert acceptance.mean_acceptance_length == pytest.approx(2.98, abs=0.005)
    assert answer.undercount_factor == pytest.approx(128 / 44)
    assert answer.decode_steps == Bounds(low=43, high=44)
    assert Totals.of([answer]).undercount_factor == answer.undercount_factor


def test_measured_counts_bound_the_steps_and_the_tokens_a_step() -> None:
    """max_tokens 21 to 24 all report R = 6 and C = 17, measured on vLLM 0.32."""
    acceptance = Acceptance(
        num_spec_steps=6,
        num_draft_tokens=17,
        num_accepted_draft_tokens=17,
        num_spec_tokens=4,
    )
    steps = decode_steps(21, acceptance)
    assert steps == Bounds(low=6, high=7)
    per_step = tokens_per_step(21, steps)
    assert per_step is not None
    assert per_step.low == pytest.approx(20 / 7)  # 2.86
    assert per_step.high == pytest.approx(20 / 6)  # 3.33
    # As many drafts as were accepted, of a k that is one less, is nothing an engine
    # does; of the four lengths each has its own bounds.
    lows = [decode_steps(tokens, acceptance) for tokens in (22, 23, 24)]
    assert lows == [
        Bounds(low=6, high=8),
        Bounds(low=6, high=9),
        Bounds(low=6, high=10),
    ]


def test_more_accepted_than_delivered_stays_inside_its_bounds() -> None:
    acceptance = Acceptance(
        num_spec_steps=2,
        num_draft_tokens=32,
        num_accepted_draft_tokens=30,
        num_spec_tokens=16,
    )
    steps = decode_steps(20, acceptance)
    assert steps == Bounds(low=2, high=5)
    assert tokens_per_step(20, steps) == Bounds(low=19 / 5, high=19 / 2)


def test_tpot_leaves_out_the_tokens_that_the_server_counted_in_the_first_chunk() -> (
    None
):
    span = decode_span(arrivals_at(SPECULATION_S), 6, num_first_tokens=2)
    assert span is not None
    assert span.first_chunk is FirstChunk.COUNTED
    assert span.time_per_output_token_s == pytest.approx(0.070 / 4)
