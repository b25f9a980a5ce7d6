"""Time per output token, and where its parts come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.model.kinds import FirstChunk

if TYPE_CHECKING:
    from otel_specdecode.model.arrivals import Arrivals


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeSpan:
    """Numerator and denominator of TPOT, kept apart so that they can be summed.

    Attributes:
        elapsed_s: from the first content chunk to the last choice chunk, seconds.
        num_tokens: tokens that arrived after the first content chunk.
        first_chunk: where the number of tokens left out comes from.
    """

    elapsed_s: float
    num_tokens: int
    first_chunk: FirstChunk

    @property
    def time_per_output_token_s(self) -> float:
        """TPOT: (t_last - t_first) / (T - n_first), seconds a token."""
        return self.elapsed_s / self.num_tokens


def decode_span(
    arrivals: Arrivals,
    num_output_tokens: int | None,
    num_first_tokens: int | None = None,
) -> DecodeSpan | None:
    """Find the part of a single-choice stream that TPOT is taken over.

    Args:
        arrivals: the client's clock.
        num_output_tokens: T; `None` when no usage arrived.
        num_first_tokens: tokens up to and including the first content chunk, those
            of the same instant among them, as counted by the server; `None` to
            assume 1.

    Returns:
        `None` without usage, where all content came at one instant, in one chunk or
        cut into several, or with no token left to divide by.
    """
    first, last = arrivals.first_content_s, arrivals.last_choice_s
    if num_output_tokens is None or first is None or last is None:
        return None
    counted = num_first_tokens is not None
    num_tokens = num_output_tokens - (num_first_tokens if counted else 1)
    if arrivals.last_content_s == first or num_tokens < 1:
        return None
    return DecodeSpan(
        elapsed_s=last - first,
        num_tokens=num_tokens,
        first_chunk=FirstChunk.COUNTED if counted else FirstChunk.ASSUMED,
    )
