"""The cells of the demo's tables: one number of one server as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_specdecode.cli._demo_story import Story
    from otel_specdecode.model import Bounds

MISSING = "-"


def num_chunks(story: Story) -> str:
    """Chunks with text that reached the program."""
    return str(story.num_counted_chunks)


def num_tokens(story: Story) -> str:
    """T; missing unless every stream gave it."""
    totals = story.totals
    return MISSING if totals.num_without_usage else str(totals.num_output_tokens)


def chunk_rate(story: Story) -> str:
    """What a chunk counter takes for tokens a second."""
    return _decimal(story.chunk_rate)


def token_rate(story: Story) -> str:
    """Output tokens a second."""
    return _decimal(story.totals.output_token_rate)


def undercount(story: Story) -> str:
    """T over content chunks."""
    factor = story.totals.undercount_factor
    return MISSING if factor is None else f"{factor:.2f}x"


def ttft(story: Story) -> str:
    """Median TTFT, milliseconds."""
    return _ms(story.ttft_median_s)


def gap_mean(story: Story) -> str:
    """Mean chunk gap, milliseconds."""
    return _ms(story.totals.gaps.mean_s if story.totals.gaps else None)


def gap_p95(story: Story) -> str:
    """Upper edge of the bucket that holds the P95 of chunk gaps, milliseconds."""
    return _ms(story.chunk_gap_p95.high_s if story.chunk_gap_p95 else None)


def tpot(story: Story) -> str:
    """TPOT of the sums, milliseconds a token."""
    return _ms(story.totals.tpot_s)


def engine_tpot(story: Story) -> str:
    """The engine's decode time a token, milliseconds."""
    return _ms(story.engine_tpot_s)


def spec_steps(story: Story) -> str:
    """R."""
    acceptance = story.acceptance
    return MISSING if acceptance is None else str(acceptance.num_spec_steps)


def draft_tokens(story: Story) -> str:
    """D."""
    acceptance = story.acceptance
    return MISSING if acceptance is None else str(acceptance.num_draft_tokens)


def accepted_tokens(story: Story) -> str:
    """C."""
    acceptance = story.acceptance
    return MISSING if acceptance is None else str(acceptance.num_accepted_draft_tokens)


def acceptance_rate(story: Story) -> str:
    """C / D; missing when nothing was drafted, which is not 0 %."""
    rate = story.totals.draft_acceptance_rate
    return MISSING if rate is None else f"{rate:.1%}"


def acceptance_length(story: Story) -> str:
    """1 + C / R tokens a speculative step."""
    return _decimal(story.totals.mean_acceptance_length, digits=2)


def decode_steps(story: Story) -> str:
    """S as bounds."""
    return _bounds(story.decode_steps, digits=0)


def step_coverage(story: Story) -> str:
    """R / S as bounds."""
    bounds = story.step_coverage
    if bounds is None or bounds.high is None:
        return MISSING
    low, high = f"{bounds.low:.0%}", f"{min(bounds.high, 1):.0%}"
    return low if low == high else f"{low[:-1]}..{high}"


def tokens_per_step(story: Story) -> str:
    """(T - 1) / S as bounds."""
    return _bounds(story.tokens_per_step, digits=2)


def chunking(story: Story) -> str:
    """The classification; several where the streams differ."""
    return ", ".join(story.chunking)


def _decimal(value: float | None, digits: int = 1) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def _ms(seconds: float | None) -> str:
    return MISSING if seconds is None else f"{seconds * 1000:.1f}"


def _bounds(bounds: Bounds | None, *, digits: int) -> str:
    if bounds is None or bounds.high is None:
        return MISSING
    low, high = f"{bounds.low:.{digits}f}", f"{bounds.high:.{digits}f}"
    return low if low == high else f"{low}..{high}"
