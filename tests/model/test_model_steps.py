"""Decode steps: bounds that hold the truth, and say when they know it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_oracle import Run, runs
from hypothesis import given

from otel_specdecode.model import (
    Acceptance,
    Bounds,
    decode_steps,
    step_coverage,
    tokens_per_step,
)

NOTHING_ACCEPTED = Acceptance(
    num_spec_steps=3, num_draft_tokens=9, num_accepted_draft_tokens=0
)


@given(runs())
def test_the_true_number_of_steps_lies_within_the_bounds(run: Run) -> None:
    steps = decode_steps(run.num_output_tokens, run.acceptance)
    assert steps is not None
    assert steps.high is not None
    assert steps.low <= run.num_decode_steps <= steps.high
    k = run.acceptance.num_spec_tokens
    assert k is not None
    assert steps.high - steps.low <= k


@given(runs())
def test_without_k_and_histogram_the_lower_bound_still_holds(run: Run) -> None:
    acceptance = replace(run.acceptance, histogram=None, num_spec_tokens=None)
    steps = decode_steps(run.num_output_tokens, acceptance)
    assert steps is not None
    assert steps.low <= run.num_decode_steps
    # Where nothing was accepted nothing can have been cut off.
    known = acceptance.num_accepted_draft_tokens == 0
    assert (steps.high is not None) == known
    assert not known or steps.exact == run.num_decode_steps


@given(runs())
def test_tokens_a_step_and_coverage_hold_the_truth_too(run: Run) -> None:
    steps = decode_steps(run.num_output_tokens, run.acceptance)
    per_step = tokens_per_step(run.num_output_tokens, steps)
    coverage = step_coverage(run.acceptance, steps)
    if run.num_decode_steps == 0:
        return
    assert steps is not None
    if steps.low == 0:
        assert per_step is None
        assert coverage is None
        return
    assert per_step is not None
    assert coverage is not None
    assert per_step.high is not None
    assert coverage.high is not None
    truth = (run.num_output_tokens - 1) / run.num_decode_steps
    assert per_step.low <= truth <= per_step.high
    true_coverage = run.acceptance.num_spec_steps / run.num_decode_steps
    assert 0 <= coverage.low <= true_coverage <= coverage.high <= 1


def test_a_single_value_is_published_only_where_the_bounds_agree() -> None:
    assert Bounds(low=6, high=7).exact is None
    assert Bounds(low=6, high=6).exact == 6
    assert Bounds(low=6, high=None).exact is None


def test_a_request_of_one_token_took_no_decode_step() -> None:
    nothing = replace(NOTHING_ACCEPTED, num_spec_steps=0, num_draft_tokens=0)
    steps = decode_steps(1, nothing)
    assert steps == Bounds(low=0, high=0)
    assert tokens_per_step(1, steps) is None
    assert step_coverage(nothing, steps) is None


def test_without_an_upper_bound_the_lower_one_of_the_ratio_is_zero() -> None:
    acceptance = replace(NOTHING_ACCEPTED, num_accepted_draft_tokens=2)
    steps = decode_steps(9, acceptance)
    assert steps == Bounds(low=6, high=None)
    assert tokens_per_step(9, steps) == Bounds(low=0.0, high=8 / 6)


@pytest.mark.parametrize("num_output_tokens", [0, -1])
def test_nothing_generated_took_no_known_number_of_steps(
    num_output_tokens: int,
) -> None:
    assert decode_steps(num_output_tokens, NOTHING_ACCEPTED) is None


def test_counts_that_no_engine_could_have_produced_bound_nothing() -> None:
    """More speculative steps than tokens: usage and acceptance disagree."""
    impossible = replace(
        NOTHING_ACCEPTED, num_spec_steps=50, num_draft_tokens=150, num_spec_tokens=3
    )
    assert decode_steps(10, impossible) is None


def test_drafts_longer_than_k_widen_the_bounds() -> None:
    """Suffix drafts may be longer than the k that the server was started with."""
    acceptance = Acceptance(
        num_spec_steps=2,
        num_draft_tokens=14,
        num_accepted_draft_tokens=14,
        histogram=(0, 0, 0, 0, 0, 0, 0, 2),
        num_spec_tokens=3,
    )
    assert decode_steps(10, acceptance) == Bounds(low=2, high=2)
    assert decode_steps(15, acceptance) == Bounds(low=2, high=7)
