"""vLLM 0.29 and newer: acceptance and timing at the root of a response.

`--per-request-spec-decode-metrics summary|detailed` puts
`metrics.speculative_decoding` on chat and text completions with one choice;
`--enable-per-request-metrics` puts times beside it. A stream carries both on the
usage chunk, which exists only where usage was asked for. Absent and null both mean
that the server says nothing; a request that drafted nothing carries zeros.

Source: https://github.com/vllm-project/vllm/pull/48915 and
https://github.com/vllm-project/vllm/pull/46768
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard, cast

from otel_specdecode.errors import PayloadError
from otel_specdecode.model import Acceptance, CountError, ServerTiming
from otel_specdecode.servers.adapter import Payload, ServerAdapter

_PATH = "metrics.speculative_decoding"
_TIMING_KEYS = ("queue_time_ms", "time_to_first_token_ms", "generation_time_ms")

_K = "num_spec_tokens"
_COUNTS = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")

# No request comes near these; beyond them the numbers are not counts of one.
_MOST_TOKENS = 10**9
_MOST_BUCKETS = 4096
_LONGEST_MS = 1e10
# vLLM's own floats are unrounded, but a gateway may round them.
_FLOAT_TOLERANCE = 0.01
# bool is an int as well, and true is no count.
_INTEGERS = frozenset({int})
_WIRE_NAMES = {"histogram": "acceptance_histogram"}


def _matches(payload: Payload) -> bool:
    metrics = payload.get("metrics")
    if not isinstance(metrics, Mapping):
        return False
    return "speculative_decoding" in metrics or "queue_time_ms" in metrics


def _parse_acceptance(payload: Payload) -> Acceptance | None:
    metrics = cast("Mapping[str, object]", payload["metrics"])
    stats = metrics.get("speculative_decoding")
    if stats is None:
        return None
    if not isinstance(stats, Mapping):
        raise PayloadError(_PATH, f"expected an object, got {type(stats).__name__}")
    fields = cast("Mapping[str, object]", stats)
    says_k = fields.get(_K) is not None
    *found, num_steps, num_drafts, num_accepted = _counts(
        fields, (_K, *_COUNTS) if says_k else _COUNTS
    )
    k = found[0] if says_k else None
    try:
        acceptance = Acceptance(
            num_spec_steps=num_steps,
            num_draft_tokens=num_drafts,
            num_accepted_draft_tokens=num_accepted,
            histogram=_histogram(fields, k),
            num_spec_tokens=k,
        )
    except CountError as error:
        name = _WIRE_NAMES.get(error.field, error.field)
        raise PayloadError(f"{_PATH}.{name}", error.message) from error
    _check_proposed(acceptance)
    _cross_check(fields, "draft_acceptance_rate", acceptance.draft_acceptance_rate)
    _cross_check(fields, "mean_acceptance_length", acceptance.mean_acceptance_length)
    return acceptance


def _counts(fields: Mapping[str, object], names: tuple[str, ...]) -> list[int]:
    values = [*map(fields.get, names)]
    if _are_counts(values):
        return values
    name = next(name for name in names if not _are_counts([fields.get(name)]))
    value = fields.get(name)
    expected = f"0 to {_MOST_TOKENS}" if type(value) is int else "an integer"
    raise PayloadError(f"{_PATH}.{name}", f"expected {expected}, got {_shown(value)}")


def _histogram(fields: Mapping[str, object], k: int | None) -> tuple[int, ...] | None:
    """Read the histogram; `per_step_*` arrays, as long as the answer, are left."""
    value = fields.get("acceptance_histogram")
    if value is None:
        return None
    path = f"{_PATH}.acceptance_histogram"
    if not isinstance(value, list):
        raise PayloadError(path, f"expected a list, got {type(value).__name__}")
    buckets = cast("list[object]", value)
    if len(buckets) > _MOST_BUCKETS:
        raise PayloadError(
            path, f"expected at most {_MOST_BUCKETS} buckets, got {len(buckets)}"
        )
    # Suffix drafts of ArcticInference may be longer than k, never shorter.
    if k is not None and len(buckets) < k + 1:
        raise PayloadError(
            path,
            f"expected {k + 1} buckets (num_spec_tokens + 1), got {len(buckets)}",
        )
    if not _are_counts(buckets):
        index = next(i for i, one in enumerate(buckets) if not _are_counts([one]))
        raise PayloadError(
            f"{path}[{index}]", f"expected a count, got {_shown(buckets[index])}"
        )
    return tuple(buckets)


def _are_counts(values: list[object]) -> TypeGuard[list[int]]:
    """Say whether all of them are counts; without a loop, since most answers are."""
    if not {*map(type, values)} <= _INTEGERS:
        return False
    numbers = cast("list[int]", values)
    return min(numbers, default=0) >= 0 and max(numbers, default=0) <= _MOST_TOKENS


def _check_proposed(acceptance: Acceptance) -> None:
    """Hold D to R steps of k drafts, or of as many as the histogram has room for."""
    if acceptance.num_spec_tokens is None:
        return
    room = len(acceptance.histogram or ()) - 1
    most = acceptance.num_spec_steps * max(acceptance.num_spec_tokens, room)
    if acceptance.num_draft_tokens > most:
        raise PayloadError(
            f"{_PATH}.num_draft_tokens",
            f"expected at most {most} in {acceptance.num_spec_steps} steps,"
            f" got {acceptance.num_draft_tokens}",
        )


def _cross_check(
    fields: Mapping[str, object], name: str, expected: float | None
) -> None:
    """Hold the server's float to its counts; without a denominator it means nothing."""
    value = fields.get(name)
    if value == expected and type(value) is float:
        # vLLM's own: the same division.
        return
    if value is None or expected is None:
        return
    # Compared, not subtracted: an integer on the wire may be beyond any float.
    low, high = expected - _FLOAT_TOLERANCE, expected + _FLOAT_TOLERANCE
    if not (_is_number(value) and low <= value <= high):
        raise PayloadError(
            f"{_PATH}.{name}",
            f"expected {expected:.4g} from the counts, got {_shown(value)}",
        )


def _parse_timing(payload: Payload) -> ServerTiming | None:
    metrics = cast("Mapping[str, object]", payload["metrics"])
    if metrics.keys().isdisjoint(_TIMING_KEYS):
        return None
    queue, first_token, decode = (_seconds(metrics, key) for key in _TIMING_KEYS)
    if queue is None and first_token is None and decode is None:
        return None
    return ServerTiming(queue_s=queue, prefill_s=first_token, decode_s=decode)


def _seconds(metrics: Mapping[str, object], name: str) -> float | None:
    value = metrics.get(name)
    # Also false for nan, which compares with nothing.
    if not (_is_number(value) and 0 <= value <= _LONGEST_MS):
        return None
    return value / 1000


def _is_number(value: object) -> TypeGuard[float]:
    # bool is an int, and true is no number.
    return type(value) in {int, float}


def _shown(value: object) -> str:
    """Show a wire value in an error, but never much of it."""
    if not _is_number(value):
        return type(value).__name__
    if value != value:  # noqa: PLR0124 (nan, which alone differs from itself)
        return "nan"
    return f"{value:.6g}" if -1e300 < value < 1e300 else "a huge number"


VLLM = ServerAdapter(
    name="vllm",
    matches=_matches,
    parse_acceptance=_parse_acceptance,
    parse_timing=_parse_timing,
)
