"""The counts that go onto the wire: usage, acceptance, timing.

Source: vLLM 0.32, `generate/base/protocol.py` and `v1/metrics/stats.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_specdecode.simulator.directives import PayloadFault
from otel_specdecode.simulator.profile import PayloadLevel

if TYPE_CHECKING:
    from otel_specdecode.simulator._engine import Choice

TIMING_FIELDS = (
    "time_to_first_token_ms",
    "generation_time_ms",
    "queue_time_ms",
    "mean_itl_ms",
    "tokens_per_second",
)


def usage(num_prompt_tokens: int, num_output_tokens: int) -> dict[str, Any]:
    """Chat and completions usage, in vLLM's order."""
    return {
        "prompt_tokens": num_prompt_tokens,
        "total_tokens": num_prompt_tokens + num_output_tokens,
        "completion_tokens": num_output_tokens,
    }


def acceptance(choice: Choice, *, num_spec_tokens: int, level: str) -> Any:
    """Build `metrics.speculative_decoding`, or what stands in its place.

    Args:
        choice: the sequence that it is about.
        num_spec_tokens: k.
        level: a `PayloadLevel` but `NONE`, or a `PayloadFault`.
    """
    histogram = [0] * (num_spec_tokens + 1)
    for accepted in choice.per_step_accepted:
        histogram[accepted] += 1
    num_steps = len(choice.per_step_accepted)
    num_accepted = sum(choice.per_step_accepted)
    num_drafted = sum(choice.per_step_drafted)
    payload: dict[str, Any] = {
        # vLLM's own floats for a request that never drafted are 1.0 and 0.0.
        "mean_acceptance_length": 1 + num_accepted / num_steps if num_steps else 1.0,
        "draft_acceptance_rate": num_accepted / num_drafted if num_drafted else 0.0,
        "acceptance_histogram": histogram,
        "num_spec_steps": num_steps,
        "num_accepted_draft_tokens": num_accepted,
        "num_draft_tokens": num_drafted,
        "num_spec_tokens": num_spec_tokens,
    }
    if level == PayloadLevel.DETAILED and num_steps:
        payload["per_step_accepted"] = choice.per_step_accepted
        payload["per_step_drafted"] = choice.per_step_drafted
    if level in tuple(PayloadFault):
        return _spoiled(payload, PayloadFault(level))
    return payload


def _spoiled(payload: dict[str, Any], fault: PayloadFault) -> Any:
    """Make a payload wrong in one way."""
    if fault is PayloadFault.NULL:
        return None
    if fault is PayloadFault.NOT_AN_OBJECT:
        return [payload["num_accepted_draft_tokens"]]
    if fault is PayloadFault.MISSING_FIELD:
        return {k: v for k, v in payload.items() if k != "num_draft_tokens"}
    counts: dict[str, int] = {
        name: payload[name]
        for name in ("num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens")
    }
    histogram: list[int] = payload["acceptance_histogram"]
    changes: dict[PayloadFault, dict[str, Any]] = {
        PayloadFault.NEGATIVE: {"num_draft_tokens": -1 - counts["num_draft_tokens"]},
        PayloadFault.HUGE: {"num_draft_tokens": 10**30},
        PayloadFault.NAN: dict.fromkeys(counts, float("nan")),
        PayloadFault.STRINGS: {name: str(count) for name, count in counts.items()},
        PayloadFault.FLOATS: {name: count + 0.5 for name, count in counts.items()},
        PayloadFault.SHORT_HISTOGRAM: {"acceptance_histogram": histogram[:-1]},
        PayloadFault.LONG_HISTOGRAM: {"acceptance_histogram": [*histogram, 0, 0]},
        PayloadFault.CONTRADICTION: {
            "num_accepted_draft_tokens": counts["num_draft_tokens"] + 1
        },
    }
    return payload | changes[fault]


def timing(prefill_s: float, total_s: float, num_tokens: int) -> dict[str, Any]:
    """Build the five timing fields from the engine's own clock.

    `mean_itl_ms` is vLLM's name for decode time per token.
    """
    decode_s = total_s - prefill_s
    return {
        "time_to_first_token_ms": prefill_s * 1000,
        "generation_time_ms": decode_s * 1000,
        # Nothing ever waits for a place in the batch here.
        "queue_time_ms": 0.0,
        "mean_itl_ms": decode_s / (num_tokens - 1) * 1000 if num_tokens > 1 else None,
        "tokens_per_second": num_tokens / total_s if total_s > 0 else None,
    }
