"""What the demo tells about one server, as values: sums first, then ratios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from otel_specdecode.cli._demo_advice import advise
from otel_specdecode.model import (
    Acceptance,
    Bounds,
    QuantileBounds,
    RequestRecord,
    ServerTiming,
    Totals,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from otel_specdecode.cli._demo_measure import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One server: the chunk counter's reading, and the truth beside it.

    Attributes:
        name: the server's, one word.
        description: what it is.
        base_url: where it was, without credentials.
        model: what was asked for.
        totals: sums over its streams.
        num_counted_chunks: chunks that the chunk counter saw.
        chunk_rate: those over its own clock, chunks a second: the wrong "tok/s".
            `None` when no time passed.
        ttft_median_s: `None` when no stream brought content.
        chunk_gap_p95: the bucket that holds it; `None` without a gap.
        server_timing: means on the engine's clock; `None` where it does not say.
        engine_tpot_s: the engine's own decode time over T - 1, of the sums, seconds
            a token; `None` unless every stream gave it.
        decode_steps: S summed, as bounds; `None` unless every stream gave it.
        tokens_per_step: (T - 1) / S of the sums, as bounds; `None` likewise.
        step_coverage: R / S of the sums, as bounds; `None` likewise.
        chunking: streams by classification.
        usage_origins: streams by why there was usage.
        acceptance_states: streams by whether there was acceptance.
        acceptance_reason: why there was none; `None` where there was.
        sources: where each number of the last stream came from.
        advice: what the server does not give, and what turns it on.
        shows_advice: whether to print it; simulated servers lack nothing by
            accident.
    """

    name: str
    description: str
    base_url: str
    model: str
    totals: Totals
    num_counted_chunks: int
    chunk_rate: float | None
    ttft_median_s: float | None
    chunk_gap_p95: QuantileBounds | None
    server_timing: ServerTiming | None
    engine_tpot_s: float | None
    decode_steps: Bounds | None
    tokens_per_step: Bounds | None
    step_coverage: Bounds | None
    chunking: Mapping[str, int]
    usage_origins: Mapping[str, int]
    acceptance_states: Mapping[str, int]
    acceptance_reason: str | None
    sources: Mapping[str, str | None]
    advice: tuple[str, ...]
    shows_advice: bool

    @property
    def acceptance(self) -> Acceptance | None:
        """Summed counts; `None` when no stream gave any."""
        return self.totals.acceptance

    @property
    def arrival_slowdown(self) -> float | None:
        """TPOT of what arrived over the engine's own; `None` where one is unknown."""
        arrived_s, engine_s = self.totals.tpot_s, self.engine_tpot_s
        return arrived_s / engine_s if arrived_s and engine_s else None


def tell(measured: Measured) -> Story:
    """Compute the story of one server from its streams."""
    records = measured.records
    totals = Totals.of(records)
    num_chunks = sum(count.num_chunks for count in measured.chunk_counts)
    elapsed_s = sum(count.elapsed_s for count in measured.chunk_counts)
    last = records[-1]
    steps = _sum_bounds(record.decode_steps for record in records)
    return Story(
        name=measured.target.name,
        description=measured.target.description,
        base_url=measured.target.address.shown,
        model=measured.model,
        totals=totals,
        num_counted_chunks=num_chunks,
        chunk_rate=num_chunks / elapsed_s if elapsed_s else None,
        ttft_median_s=_median(record.ttft_s for record in records),
        chunk_gap_p95=totals.gaps.quantile(0.95) if totals.gaps else None,
        server_timing=_mean_timing(records),
        engine_tpot_s=_engine_tpot_s(records),
        decode_steps=steps,
        tokens_per_step=_over(totals.num_output_tokens - len(records), steps),
        step_coverage=None
        if totals.acceptance is None
        else _over(totals.acceptance.num_spec_steps, steps),
        chunking=_count(records, lambda record: record.chunking.value),
        usage_origins=_count(records, lambda record: record.usage_origin.value),
        acceptance_states=_count(records, lambda record: record.acceptance_state.value),
        acceptance_reason=last.acceptance_reason,
        sources=last.sources,
        advice=advise(records),
        shows_advice=not measured.target.simulated,
    )


def _count(
    records: Sequence[RequestRecord], word: Callable[[RequestRecord], str]
) -> Mapping[str, int]:
    return dict(Counter(word(record) for record in records))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _mean_timing(records: Sequence[RequestRecord]) -> ServerTiming | None:
    timings = [r.server_timing for r in records if r.server_timing is not None]
    if not timings:
        return None
    return ServerTiming(
        queue_s=_mean(timing.queue_s for timing in timings),
        prefill_s=_mean(timing.prefill_s for timing in timings),
        decode_s=_mean(timing.decode_s for timing in timings),
    )


def _engine_tpot_s(records: Sequence[RequestRecord]) -> float | None:
    elapsed_s, num_tokens = 0.0, 0
    for record in records:
        timing, tokens = record.server_timing, record.num_output_tokens
        if timing is None or timing.decode_s is None or tokens is None:
            return None
        elapsed_s, num_tokens = elapsed_s + timing.decode_s, num_tokens + tokens - 1
    return elapsed_s / num_tokens if num_tokens else None


def _sum_bounds(parts: Iterable[Bounds | None]) -> Bounds | None:
    low, high = 0.0, 0.0
    for part in parts:
        if part is None or part.high is None:
            return None
        low, high = low + part.low, high + part.high
    return Bounds(low=low, high=high)


def _over(numerator: int, steps: Bounds | None) -> Bounds | None:
    if steps is None or steps.high is None or steps.low <= 0:
        return None
    return Bounds(low=numerator / steps.high, high=numerator / steps.low)
