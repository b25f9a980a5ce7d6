"""Whether a rate is reported: what its author calls it decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint.facts import Facts, Rate, RateKind
from otel_specdecode.lint.words import (
    says_estimate,
    says_model_speed,
    says_other_unit,
    says_rate,
    says_tokens,
    says_tokens_strictly,
    says_whose,
    says_window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def claims_tokens(rate: Rate) -> bool:
    """Whether a quantity over a certain or guessed stream is called tokens.

    The outermost name wins: a value printed as `tok/s` claims tokens, whatever the
    variable is called. With no word of tokens, another unit in the label or in the
    counter's own name clears it; with no unit at all, a certain stream is enough.
    """
    if any(says_tokens(label) for label in rate.labels):
        return True
    units = [label for label in rate.labels if says_other_unit(label)]
    counted = any(says_tokens(name) for name in rate.operands)
    if units and not (counted and all(map(says_whose, units))):
        return False
    if counted:
        return True
    if any(says_other_unit(name) for name in rate.operands):
        return rate.strong and any(map(says_model_speed, rate.labels))
    return rate.strong


def _says_so(rate: Rate) -> bool:
    """Whether the result, or what it was counted in, is called tokens.

    A label that says "estimated" is what the rule asks for.
    """
    claims = [label for label in rate.labels if says_tokens(label)]
    if claims and all(says_estimate(label) for label in claims):
        return False
    labelled = bool(claims)
    if labelled or any(says_other_unit(label) for label in rate.labels):
        return labelled
    return any(says_tokens(name) for name in rate.operands)


def _is_windowed_rate(rate: Rate) -> bool:
    """A count over a constant is a rate only if it is called one."""
    names = rate.labels | rate.operands
    if any(says_tokens(name) and says_rate(name) for name in rate.labels):
        return True
    per_window = any(says_window(name) for name in rate.divisor)
    return per_window and any(says_tokens(name) for name in names)


def _is_per_token(rate: Rate) -> bool:
    """Time over chunks; under the customary word ITL it is what it says.

    Not where the divisor is called tokens: then they were thought to be.
    """
    if any(says_tokens_strictly(name) for name in rate.labels | rate.operands):
        return claims_tokens(rate)
    is_itl = any(says_tokens(label) for label in rate.labels)
    return not is_itl and claims_tokens(rate)


def _is_per_token_gap(rate: Rate) -> bool:
    return any(says_tokens_strictly(label) for label in rate.labels)


def _is_peak_rate(rate: Rate) -> bool:
    return any(says_tokens(label) for label in rate.labels)


_JUDGES: dict[RateKind, Callable[[Rate], bool]] = {
    RateKind.PER_SECOND: claims_tokens,
    RateKind.WINDOW: _is_windowed_rate,
    RateKind.PEAK: _is_peak_rate,
    RateKind.PROGRESS: _is_peak_rate,
    RateKind.PER_COUNT: _is_per_token,
    RateKind.MEAN_GAP: _is_per_token_gap,
    RateKind.GAP_STATISTIC: _is_per_token_gap,
    RateKind.INVERSE_GAP: claims_tokens,
    RateKind.ESTIMATE: _says_so,
    RateKind.FALLBACK: claims_tokens,
}


def reported(facts: Facts, kinds: Iterable[RateKind]) -> list[Rate]:
    """The rates of these kinds that claim to count tokens."""
    wanted = set(kinds)
    claimed = {
        number: rate for number, rate in facts.rates.items() if _JUDGES[rate.kind](rate)
    }
    # A gap and its inverse are one mistake: the inverse is the one that is read.
    inverted = {
        source
        for rate in claimed.values()
        if rate.kind is RateKind.INVERSE_GAP
        for source in rate.made_from
    }
    kept = {
        (rate.node, rate.kind): rate
        for number, rate in claimed.items()
        if rate.kind in wanted and number not in inverted
    }
    return list(kept.values())
