"""What the target model accepted of the draft tokens, as counts and their ratios."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, zip_longest
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_COUNTS = (
    "num_spec_steps",
    "num_draft_tokens",
    "num_accepted_draft_tokens",
    "num_spec_tokens",
)


class CountError(ValueError):
    """Counts that contradict each other.

    Attributes:
        field: the one of `Acceptance` that does not fit the others.
        message: what was expected of it and what was there, without the field's name.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Counts of speculative decoding for one request, or summed over several.

    The bonus token of a step is in none of them. vLLM counts before it cuts the
    last step at a stop string or `max_tokens`, so `num_accepted_draft_tokens` can
    exceed what was delivered.

    Attributes:
        num_spec_steps: R, steps that verified at least one draft token.
        num_draft_tokens: D, draft tokens proposed and verified.
        num_accepted_draft_tokens: C, draft tokens accepted; at most D.
        histogram: entry j is the number of steps that accepted exactly j draft
            tokens; sums to R, and weighted by j to C. `None` where the server
            does not say.
        num_spec_tokens: k, the most draft tokens a step proposes. `None` where
            the server does not say or where requests of different k were summed.

    Raises:
        CountError: the counts contradict each other.
    """

    num_spec_steps: int
    num_draft_tokens: int
    num_accepted_draft_tokens: int
    histogram: tuple[int, ...] | None = None
    num_spec_tokens: int | None = None

    def __post_init__(self) -> None:
        counts = (
            self.num_spec_steps,
            self.num_draft_tokens,
            self.num_accepted_draft_tokens,
            self.num_spec_tokens or 0,
        )
        least = min(counts)
        if least < 0:
            raise CountError(
                _COUNTS[counts.index(least)], f"expected 0 or more, got {least}"
            )
        if self.num_accepted_draft_tokens > self.num_draft_tokens:
            raise CountError(
                "num_accepted_draft_tokens",
                f"expected at most the {self.num_draft_tokens} draft tokens,"
                f" got {self.num_accepted_draft_tokens}",
            )
        if self.num_spec_steps == 0 and self.num_draft_tokens:
            raise CountError(
                "num_draft_tokens",
                f"expected 0 without a speculative step, got {self.num_draft_tokens}",
            )
        if self.histogram is not None:
            self._check_histogram(self.histogram)

    def _check_histogram(self, histogram: tuple[int, ...]) -> None:
        if min(histogram, default=0) < 0:
            raise CountError("histogram", f"expected 0 or more, got {min(histogram)}")
        if sum(histogram) != self.num_spec_steps:
            raise CountError(
                "histogram",
                f"expected entries that sum to the {self.num_spec_steps} speculative"
                f" steps, got {sum(histogram)}",
            )
        weighted = sum(map(mul, histogram, range(len(histogram))))
        if weighted != self.num_accepted_draft_tokens:
            raise CountError(
                "histogram",
                f"expected entries that stand for the"
                f" {self.num_accepted_draft_tokens} accepted draft tokens,"
                f" got {weighted}",
            )

    @property
    def draft_acceptance_rate(self) -> float | None:
        """C / D, from 0 to 1; `None` when nothing was drafted."""
        if self.num_draft_tokens == 0:
            return None
        return self.num_accepted_draft_tokens / self.num_draft_tokens

    @property
    def mean_acceptance_length(self) -> float | None:
        """1 + C / R tokens a speculative step, bonus token included.

        `None` when no step speculated.
        """
        if self.num_spec_steps == 0:
            return None
        return 1 + self.num_accepted_draft_tokens / self.num_spec_steps

    @property
    def accepted_by_position(self) -> tuple[int, ...] | None:
        """Entry i is the number of steps that accepted at least i + 1 draft tokens.

        Positions count from 0, as the server's own counter does. `None` without
        a histogram.
        """
        if self.histogram is None:
            return None
        from_the_last = tuple(accumulate(self.histogram[:0:-1]))
        return from_the_last[::-1]

    @property
    def acceptance_rate_by_position(self) -> tuple[float, ...] | None:
        """Share of speculative steps that accepted at least i + 1 draft tokens.

        `None` without a histogram or without a speculative step.
        """
        positions = self.accepted_by_position
        if positions is None or self.num_spec_steps == 0:
            return None
        return tuple(steps / self.num_spec_steps for steps in positions)

    def __add__(self, other: Acceptance) -> Acceptance:
        """Sum the counts; ratios are taken of the sums afterwards."""
        same_k = self.num_spec_tokens == other.num_spec_tokens
        return Acceptance(
            num_spec_steps=self.num_spec_steps + other.num_spec_steps,
            num_draft_tokens=self.num_draft_tokens + other.num_draft_tokens,
            num_accepted_draft_tokens=(
                self.num_accepted_draft_tokens + other.num_accepted_draft_tokens
            ),
            histogram=_sum_histograms(self.histogram, other.histogram),
            num_spec_tokens=self.num_spec_tokens if same_k else None,
        )


def sum_acceptance(parts: Iterable[Acceptance]) -> Acceptance | None:
    """Sum the counts of several requests; `None` when there are none."""
    total: Acceptance | None = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _sum_histograms(
    left: tuple[int, ...] | None, right: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if left is None or right is None:
        return None
    return tuple(a + b for a, b in zip_longest(left, right, fillvalue=0))
