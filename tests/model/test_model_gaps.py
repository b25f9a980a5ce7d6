"""Gaps between content chunks, in buckets that still give a percentile."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_streams import arrivals_at

from otel_specdecode.model import GAP_BOUNDS_S, ChunkGaps, QuantileBounds

# Binary fractions, so that instants add up without rounding.
gap_lists = st.lists(
    st.integers(0, 2**20).map(lambda n: n / 2**14), min_size=1, max_size=60
)
percents = st.integers(1, 100)


def gaps_of(gaps: list[float]) -> ChunkGaps:
    instants = [0.0]
    for gap in gaps:
        instants.append(instants[-1] + gap)
    return arrivals_at(instants).gaps


@given(gap_lists, percents)
def test_the_bounds_contain_the_true_quantile(gaps: list[float], percent: int) -> None:
    rank = math.ceil(Fraction(percent, 100) * len(gaps))
    truth = sorted(gaps)[rank - 1]
    bounds = gaps_of(gaps).quantile(percent / 100)
    assert bounds is not None
    assert bounds.low_s <= truth <= bounds.high_s <= max(gaps)


@given(gap_lists, percents)
def test_the_bounds_are_ten_percent_apart(gaps: list[float], percent: int) -> None:
    bounds = gaps_of(gaps).quantile(percent / 100)
    assert bounds is not None
    if GAP_BOUNDS_S[0] < bounds.high_s and bounds.low_s < GAP_BOUNDS_S[-1]:
        assert bounds.high_s <= bounds.low_s * 1.1000001


@given(gap_lists, gap_lists)
def test_merged_gaps_are_those_of_both_streams(
    left: list[float], right: list[float]
) -> None:
    merged = gaps_of(left) + gaps_of(right)
    assert merged == gaps_of(right) + gaps_of(left)
    assert merged.num_gaps == len(left) + len(right)
    assert merged.max_s == max(left + right)
    assert merged.sum_s == sum(left + right)
    assert merged.mean_s == pytest.approx(sum(left + right) / len(left + right))


@given(gap_lists, gap_lists, gap_lists)
def test_merging_is_associative(a: list[float], b: list[float], c: list[float]) -> None:
    first, second, third = gaps_of(a), gaps_of(b), gaps_of(c)
    assert (first + second) + third == first + (second + third)


def test_the_55th_percentile_of_100_gaps_is_the_55th() -> None:
    """0.55 times 100 is 55.00000000000001 in floating point."""
    bounds = gaps_of([0.001] * 55 + [1.0] * 45).quantile(0.55)
    assert bounds is not None
    assert bounds.high_s < 0.0012


def test_a_gap_beyond_a_minute_is_bounded_by_the_largest() -> None:
    assert gaps_of([100.0, 128.0]).quantile(1) == QuantileBounds(
        low_s=GAP_BOUNDS_S[-1], high_s=128.0
    )


def test_one_chunk_has_no_gap_and_no_quantile() -> None:
    none = arrivals_at([1.0]).gaps
    assert (none.num_gaps, none.mean_s, none.max_s) == (0, None, None)
    assert none.quantile(0.95) is None
    assert none + none == none


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan")])
def test_a_share_outside_of_its_range_is_a_mistake(share: float) -> None:
    with pytest.raises(ValueError, match="share: expected above 0 and up to 1"):
        gaps_of([1.0]).quantile(share)


def test_gaps_hold_their_invariants() -> None:
    one = gaps_of([1.0])
    with pytest.raises(ValueError, match="counts: expected 142 buckets, got 2"):
        ChunkGaps(counts=(1, 0), sum_s=1.0, max_s=1.0)
    with pytest.raises(ValueError, match="max_s: expected one exactly where"):
        ChunkGaps(counts=one.counts, sum_s=1.0, max_s=None)
