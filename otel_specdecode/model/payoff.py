"""What a speculative step may cost before it stops paying."""

from __future__ import annotations


def amortized_time_per_token_s(elapsed_s: float, num_tokens: int) -> float | None:
    """Seconds of decoding a token, over one interval.

    Args:
        elapsed_s: decode time of the interval, seconds.
        num_tokens: tokens emitted in it, corrections and bonus tokens included.

    Returns:
        Seconds a token; `None` when no token was emitted.
    """
    return elapsed_s / num_tokens if num_tokens > 0 else None


def kappa(speculative_step_s: float, plain_step_s: float) -> float | None:
    """Cost of a speculative step over a plain one; `None` without a plain step."""
    return speculative_step_s / plain_step_s if plain_step_s > 0 else None


def speed_up(tokens_per_step: float, step_cost: float) -> float | None:
    """Tokens a step over the cost of a step; break-even where it is 1.

    Args:
        tokens_per_step: (T - 1) / S.
        step_cost: kappa, the cost of a speculative step over a plain one.

    Returns:
        How many times faster decoding is; `None` when `step_cost` is not above 0.
    """
    return tokens_per_step / step_cost if step_cost > 0 else None
