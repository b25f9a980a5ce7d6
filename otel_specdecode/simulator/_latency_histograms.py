"""The engine's own latency histograms on `/metrics`, one observation a request.

Inter-token latency is one a step, whatever the step yielded: that is what vLLM counts.

Names and buckets are vLLM 0.32's (`v1/metrics/loggers.py`, `v1/metrics/buckets.py`).
The times are the engine's, so that a client's figures can be held against them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_REQUEST = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0),
    *(60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
_FIRST_TOKEN = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5),
    *(5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
_PER_TOKEN = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0),
    *(7.5, 10.0, 20.0, 40.0, 80.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTimes:
    """One finished request on the engine's clock, in seconds.

    Attributes:
        prefill_s: until the first token.
        decode_s: from the first token to the last.
        num_tokens: T.
        num_steps: decode steps, the prefill's not among them.
    """

    prefill_s: float
    decode_s: float
    num_tokens: int
    num_steps: int


@dataclass(slots=True)
class _Histogram:
    bounds: tuple[float, ...]
    counts: list[int] = field(init=False)
    total_s: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, value_s: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value_s)] += times
        self.total_s += value_s * times


_FAMILIES = {
    "time_to_first_token_seconds": (
        "Histogram of time to first token in seconds.",
        _FIRST_TOKEN,
    ),
    "inter_token_latency_seconds": (
        "Histogram of inter-token latency in seconds.",
        _PER_TOKEN,
    ),
    "request_time_per_output_token_seconds": (
        "Histogram of time_per_output_token_seconds per request.",
        _PER_TOKEN,
    ),
    "e2e_request_latency_seconds": (
        "Histogram of e2e request latency in seconds.",
        _REQUEST,
    ),
    "request_queue_time_seconds": (
        "Histogram of time spent in WAITING phase for request.",
        _REQUEST,
    ),
    "request_inference_time_seconds": (
        "Histogram of time spent in RUNNING phase for request.",
        _REQUEST,
    ),
    "request_prefill_time_seconds": (
        "Histogram of time spent in PREFILL phase for request.",
        _REQUEST,
    ),
    "request_decode_time_seconds": (
        "Histogram of time spent in DECODE phase for request.",
        _REQUEST,
    ),
}


class LatencyHistograms:
    """All families of one engine, since the last reset."""

    def __init__(self) -> None:
        self._histograms = {
            name: _Histogram(bounds) for name, (_, bounds) in _FAMILIES.items()
        }

    def observe(self, times: EngineTimes) -> None:
        """Count one finished request."""
        whole_s = times.prefill_s + times.decode_s
        per_token_s = times.decode_s / max(1, times.num_tokens - 1)
        for name, value_s in (
            ("time_to_first_token_seconds", times.prefill_s),
            ("request_time_per_output_token_seconds", per_token_s),
            ("e2e_request_latency_seconds", whole_s),
            ("request_queue_time_seconds", 0.0),
            ("request_inference_time_seconds", whole_s),
            ("request_prefill_time_seconds", times.prefill_s),
            ("request_decode_time_seconds", times.decode_s),
        ):
            self._histograms[name].observe(value_s)
        if times.num_steps:
            step_s = times.decode_s / times.num_steps
            self._histograms["inter_token_latency_seconds"].observe(
                step_s, times.num_steps
            )

    def series(self, name: str, labels: str) -> Iterator[str]:
        """The lines of one family for this engine."""
        histogram = self._histograms[name]
        running = 0
        bounds = [*map(str, histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, histogram.counts, strict=True):
            running += count
            yield f'vllm:{name}_bucket{{{labels},le="{bound}"}} {float(running)}'
        yield f"vllm:{name}_count{{{labels}}} {float(running)}"
        yield f"vllm:{name}_sum{{{labels}}} {histogram.total_s!r}"


def histogram_lines(
    engines: list[LatencyHistograms], labels: list[str], created_at: float
) -> Iterator[str]:
    """All families of all engines, in Prometheus text format."""
    for name, (text, _) in _FAMILIES.items():
        yield f"# HELP vllm:{name} {text}"
        yield f"# TYPE vllm:{name} histogram"
        for engine, own in zip(engines, labels, strict=True):
            yield from engine.series(name, own)
        yield f"# HELP vllm:{name}_created {text}"
        yield f"# TYPE vllm:{name}_created gauge"
        for own in labels:
            yield f"vllm:{name}_created{{{own}}} {created_at!r}"
