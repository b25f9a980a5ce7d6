"""Counts of speculative decoding, their ratios and their sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from engine_oracle import runs
from hypothesis import given
from hypothesis import strategies as st

from otel_specdecode.model import Acceptance, CountError, sum_acceptance

NOTHING_DRAFTED = Acceptance(
    num_spec_steps=0,
    num_draft_tokens=0,
    num_accepted_draft_tokens=0,
    histogram=(0, 0, 0, 0),
    num_spec_tokens=3,
)
SOME = Acceptance(
    num_spec_steps=12,
    num_draft_tokens=36,
    num_accepted_draft_tokens=18,
    histogram=(3, 3, 3, 3),
    num_spec_tokens=3,
)

acceptances = runs().map(lambda run: run.acceptance)


def test_ratios_are_those_of_the_counts() -> None:
    assert SOME.draft_acceptance_rate == 0.5
    assert SOME.mean_acceptance_length == 2.5
    assert SOME.accepted_by_position == (9, 6, 3)
    assert SOME.acceptance_rate_by_position == (0.75, 0.5, 0.25)


def test_a_request_that_drafted_nothing_has_counts_and_no_ratios() -> None:
    assert NOTHING_DRAFTED.draft_acceptance_rate is None
    assert NOTHING_DRAFTED.mean_acceptance_length is None
    assert NOTHING_DRAFTED.accepted_by_position == (0, 0, 0)
    assert NOTHING_DRAFTED.acceptance_rate_by_position is None


def test_steps_whose_drafts_a_grammar_refused_have_a_length_and_no_rate() -> None:
    refused = replace(NOTHING_DRAFTED, num_spec_steps=2, histogram=(2, 0, 0, 0))
    assert refused.draft_acceptance_rate is None
    assert refused.mean_acceptance_length == 1.0


def test_without_a_histogram_nothing_is_known_by_position() -> None:
    unknown = replace(SOME, histogram=None)
    assert unknown.accepted_by_position is None
    assert unknown.acceptance_rate_by_position is None


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("num_spec_steps", {"num_spec_steps": -1}),
        ("num_draft_tokens", {"num_draft_tokens": -1}),
        ("num_accepted_draft_tokens", {"num_accepted_draft_tokens": -1}),
        ("num_spec_tokens", {"num_spec_tokens": -3}),
        ("num_accepted_draft_tokens", {"num_draft_tokens": 17}),
        (
            "num_draft_tokens",
            {"num_spec_steps": 0, "num_accepted_draft_tokens": 0, "histogram": None},
        ),
        ("histogram", {"histogram": (-3, 9, 3, 3)}),
        ("histogram", {"histogram": (3, 3, 3, 4)}),
        ("histogram", {"histogram": (0, 7, 5, 0)}),
        ("histogram", {"histogram": (4, 1, 5, 2)}),
        ("histogram", {"histogram": ()}),
    ],
)
def test_counts_that_contradict_each_other_are_refused_by_name(
    field: str, change: dict[str, Any]
) -> None:
    with pytest.raises(CountError) as refused:
        replace(SOME, **change)
    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field}: expected ")


@given(acceptances)
def test_rates_stay_in_range_and_positions_never_rise(acceptance: Acceptance) -> None:
    rate, length = acceptance.draft_acceptance_rate, acceptance.mean_acceptance_length
    assert rate is None or 0 <= rate <= 1
    k = acceptance.num_spec_tokens
    assert k is not None
    assert length is None or 1 <= length <= k + 1
    positions = acceptance.accepted_by_position
    assert positions is not None
    assert list(positions) == sorted(positions, reverse=True)
    assert sum(positions) == acceptance.num_accepted_draft_tokens
    shares = acceptance.acceptance_rate_by_position
    assert shares is None or all(0 <= share <= 1 for share in shares)


@given(acceptances, acceptances, acceptances)
def test_summing_is_associative_and_commutative(
    a: Acceptance, b: Acceptance, c: Acceptance
) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(st.lists(acceptances, min_size=1, max_size=5))
def test_a_sum_divides_sums_and_never_averages_ratios(parts: list[Acceptance]) -> None:
    total = sum_acceptance(parts)
    assert total is not None
    drafted = sum(part.num_draft_tokens for part in parts)
    accepted = sum(part.num_accepted_draft_tokens for part in parts)
    expected = accepted / drafted if drafted else None
    assert total.draft_acceptance_rate == expected


def test_the_rate_of_a_sum_is_not_the_mean_of_the_rates() -> None:
    many = Acceptance(
        num_spec_steps=12, num_draft_tokens=36, num_accepted_draft_tokens=0
    )
    few = Acceptance(
        num_spec_steps=4, num_draft_tokens=12, num_accepted_draft_tokens=12
    )
    total = sum_acceptance([many, few])
    assert total is not None
    assert total.draft_acceptance_rate == 0.25


def test_a_sum_of_nothing_is_missing_and_not_zero() -> None:
    assert sum_acceptance([]) is None


def test_a_sum_keeps_only_what_all_parts_say() -> None:
    without_histogram = replace(SOME, histogram=None)
    longer = Acceptance(
        num_spec_steps=1,
        num_draft_tokens=5,
        num_accepted_draft_tokens=4,
        histogram=(0, 0, 0, 0, 1),
        num_spec_tokens=5,
    )
    assert (SOME + without_histogram).histogram is None
    assert (SOME + SOME).num_spec_tokens == 3
    assert (SOME + longer).num_spec_tokens is None
    assert (SOME + longer).histogram == (3, 3, 3, 3, 1)
