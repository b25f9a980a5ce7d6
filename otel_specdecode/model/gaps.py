"""The gaps between content chunks: a delivery measure, never a token latency."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

_FIRST_BOUND_S = 0.0001
_RATIO = 1.1
_NUM_BOUNDS = 141

GAP_BOUNDS_S: tuple[float, ...] = tuple(
    _FIRST_BOUND_S * _RATIO**i for i in range(_NUM_BOUNDS)
)
"""Upper bounds of the buckets in seconds, 10 % apart, from 0.1 ms to a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileBounds:
    """The bucket of a quantile, which lies in `low_s` to `high_s`, both included."""

    low_s: float
    high_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkGaps:
    """Gaps between consecutive content chunks of one stream or of several.

    Attributes:
        counts: gaps by bucket of `GAP_BOUNDS_S`, one more for those above.
        sum_s: all gaps together, seconds.
        max_s: the largest gap, seconds; `None` when there is none.

    Raises:
        ValueError: buckets or largest gap do not fit the gaps.
    """

    counts: tuple[int, ...]
    sum_s: float
    max_s: float | None

    def __post_init__(self) -> None:
        if len(self.counts) != len(GAP_BOUNDS_S) + 1:
            raise ValueError(
                f"counts: expected {len(GAP_BOUNDS_S) + 1} buckets,"
                f" got {len(self.counts)}"
            )
        if (self.max_s is None) != (self.num_gaps == 0):
            raise ValueError(
                f"max_s: expected one exactly where there are gaps,"
                f" got {self.max_s} with {self.num_gaps} gaps"
            )

    @property
    def num_gaps(self) -> int:
        """How many gaps there are: content chunks less one for each stream."""
        return sum(self.counts)

    @property
    def mean_s(self) -> float | None:
        """Mean gap in seconds; `None` when there is no gap."""
        gaps = self.num_gaps
        return self.sum_s / gaps if gaps else None

    def quantile(self, share: float) -> QuantileBounds | None:
        """Bound the gap that `share` of all gaps do not exceed.

        Args:
            share: above 0 and up to 1; 0.95 for P95.

        Returns:
            The bucket's edges in seconds, at most 10 % apart between 0.1 ms and
            a minute; `None` when there is no gap.

        Raises:
            ValueError: `share` is not above 0 and up to 1.
        """
        if not 0 < share <= 1:
            raise ValueError(f"share: expected above 0 and up to 1, got {share}")
        if self.max_s is None:
            return None
        # 0.55 of 100 gaps is the 55th, although the product is a little above 55.
        rank = max(1, ceil(share * self.num_gaps * (1 - 1e-12)))
        return self._bucket(
            bisect_left(list(accumulate(self.counts)), rank), self.max_s
        )

    @staticmethod
    def _bucket(index: int, max_s: float) -> QuantileBounds:
        low = GAP_BOUNDS_S[index - 1] if index else 0.0
        high = GAP_BOUNDS_S[index] if index < len(GAP_BOUNDS_S) else max_s
        return QuantileBounds(low_s=min(low, max_s), high_s=min(high, max_s))

    def __add__(self, other: ChunkGaps) -> ChunkGaps:
        """Merge the gaps of two streams."""
        largest = [gap for gap in (self.max_s, other.max_s) if gap is not None]
        return ChunkGaps(
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            sum_s=self.sum_s + other.sum_s,
            max_s=max(largest, default=None),
        )
