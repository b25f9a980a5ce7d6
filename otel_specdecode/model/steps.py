"""How many decode steps the engine took, as far as the counts can say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_specdecode.model.acceptance import Acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A quantity known only to lie between two values, both included.

    Attributes:
        low: the least it can be.
        high: the most it can be; `None` when nothing limits it.
    """

    low: float
    high: float | None

    @property
    def exact(self) -> float | None:
        """The value where both bounds agree, else `None`."""
        return self.low if self.low == self.high else None


def decode_steps(num_output_tokens: int, acceptance: Acceptance) -> Bounds | None:
    """Bound S, the engine steps after the prefill's, for one request.

    T = 1 + S + C - W, where W tokens of the last step were cut off. At most k are,
    and no more than were accepted, so S lies in
    [max(R, T - 1 - C), T - 1 - C + min(k, C)].

    Args:
        num_output_tokens: T, `usage.completion_tokens`.
        acceptance: counts of the same request.

    Returns:
        Bounds in steps; `None` when nothing was generated. Without k the upper
        bound is missing unless nothing was accepted.
    """
    if num_output_tokens < 1:
        return None
    accepted = acceptance.num_accepted_draft_tokens
    uncut = num_output_tokens - 1 - accepted
    cut_at_most = _most_cut_off(acceptance)
    low = max(acceptance.num_spec_steps, uncut, 0)
    if cut_at_most is None:
        return Bounds(low=low, high=None)
    high = uncut + cut_at_most
    # Counts that no engine could have produced bound nothing.
    return Bounds(low=low, high=high) if high >= low else None


def _most_cut_off(acceptance: Acceptance) -> int | None:
    accepted = acceptance.num_accepted_draft_tokens
    if acceptance.num_spec_tokens is None:
        return 0 if accepted == 0 else None
    # Suffix drafts may be longer than the k the server was started with.
    longest = len(acceptance.histogram) - 1 if acceptance.histogram else 0
    return min(max(acceptance.num_spec_tokens, longest), accepted)


def tokens_per_step(num_output_tokens: int, steps: Bounds | None) -> Bounds | None:
    """(T - 1) / S, which is what buys speed; `None` without a decode step."""
    return _divide(num_output_tokens - 1, steps)


def step_coverage(acceptance: Acceptance, steps: Bounds | None) -> Bounds | None:
    """R / S, the share of steps that speculated, from 0 to 1.

    `None` without a decode step.
    """
    return _divide(acceptance.num_spec_steps, steps)


def _divide(numerator: int, steps: Bounds | None) -> Bounds | None:
    if steps is None or steps.low <= 0:
        return None
    low = 0.0 if steps.high is None else numerator / steps.high
    return Bounds(low=low, high=numerator / steps.low)
