"""`/metrics` as vLLM 0.32 shows it: the counters that speculation is read from.

The families of speculation are absent when it is off, and pre-created for every
position when it is on. Source: vLLM 0.32, `v1/spec_decode/metrics.py` and
`v1/metrics/loggers.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.simulator._latency_histograms import (
    LatencyHistograms,
    histogram_lines,
)
from otel_specdecode.simulator.ledger import Ledger, Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otel_specdecode.simulator._latency_histograms import EngineTimes

_FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")
_SPEC_FAMILIES = (
    ("spec_decode_num_drafts", "Number of spec decoding drafts.", "num_spec_steps"),
    ("spec_decode_num_draft_tokens", "Number of draft tokens.", "num_draft_tokens"),
    (
        "spec_decode_num_accepted_tokens",
        "Number of accepted tokens.",
        "num_accepted_draft_tokens",
    ),
)
_TOKEN_FAMILIES = (
    ("prompt_tokens", "Number of prefill tokens processed.", "num_prompt_tokens"),
    (
        "generation_tokens",
        "Number of generation tokens processed.",
        "num_output_tokens",
    ),
)


class Exposition:
    """The counters of one server: the ledger's, since the last reset, and others'.

    Args:
        ledger: what was generated.
        num_spec_tokens: k; `None` leaves the families of speculation out.
        clock: wall clock for the `_created` series.
    """

    def __init__(
        self, ledger: Ledger, num_spec_tokens: int | None, clock: Callable[[], float]
    ) -> None:
        self._ledger = ledger
        self._k = num_spec_tokens
        self._clock = clock
        self._foreign = [Totals()] * ledger.num_engines
        self._baseline = self._foreign
        self._reasons_before = ledger.finish_reasons
        self._created_at = clock()
        self._histograms = [LatencyHistograms() for _ in self._foreign]

    def reset(self) -> None:
        """Start again at zero, foreign traffic included."""
        self._baseline = list(self._ledger.engines)
        self._reasons_before = self._ledger.finish_reasons
        self._foreign = [Totals()] * len(self._baseline)
        self._histograms = [LatencyHistograms() for _ in self._baseline]
        self._created_at = self._clock()

    def observe(self, engine: int, times: EngineTimes) -> None:
        """Count the latencies of a request that finished."""
        self._histograms[engine].observe(times)

    def add_foreign(self, totals: Totals, engine: int) -> None:
        """Add traffic that is not in the ledger."""
        self._foreign = [
            row + totals if at == engine else row
            for at, row in enumerate(self._foreign)
        ]

    def text(self, num_running: Sequence[int]) -> str:
        """All families, in Prometheus text format."""
        return "\n".join([*self._lines(num_running), ""])

    def _lines(self, num_running: Sequence[int]) -> Iterator[str]:
        rows = [
            engine - before + foreign
            for engine, before, foreign in zip(
                self._ledger.engines, self._baseline, self._foreign, strict=True
            )
        ]
        yield from self._gauge(
            "num_requests_running",
            "Number of requests in model execution batches.",
            num_running,
        )
        yield from self._gauge(
            "num_requests_waiting",
            "Number of requests waiting to be processed.",
            [0] * len(rows),
        )
        for name, text, attribute in _TOKEN_FAMILIES:
            series = self._by_engine([getattr(row, attribute) for row in rows])
            yield from self._counter(name, text, series)
        yield from self._counter(
            "request_success",
            "Count of successfully processed requests.",
            list(self._finish_reasons()),
        )
        labels = [self._labels(engine) for engine in range(len(rows))]
        yield from histogram_lines(self._histograms, labels, self._created_at)
        if self._k is None:
            return
        for name, text, attribute in _SPEC_FAMILIES:
            series = self._by_engine([getattr(row, attribute) for row in rows])
            yield from self._counter(name, text, series)
        yield from self._counter(
            "spec_decode_num_accepted_tokens_per_pos",
            "Accepted tokens per draft position.",
            list(self._by_position(rows)),
        )

    def _labels(self, engine: int) -> str:
        return f'engine="{engine}",model_name="{_escaped(self._ledger.model)}"'

    def _by_engine(self, values: Sequence[int]) -> list[tuple[str, int]]:
        return [(self._labels(engine), value) for engine, value in enumerate(values)]

    def _finish_reasons(self) -> Iterator[tuple[str, int]]:
        for engine, reasons in enumerate(self._ledger.finish_reasons):
            before = self._reasons_before[engine]
            for reason in _FINISH_REASONS:
                count = reasons.get(reason, 0) - before.get(reason, 0)
                labels = (
                    f'engine="{engine}",finished_reason="{reason}",'
                    f'model_name="{_escaped(self._ledger.model)}"'
                )
                yield labels, count

    def _by_position(self, rows: Sequence[Totals]) -> Iterator[tuple[str, int]]:
        for engine, row in enumerate(rows):
            for position in range(self._k or 0):
                counts = row.accepted_by_position
                value = counts[position] if position < len(counts) else 0
                yield f'{self._labels(engine)},position="{position}"', value

    def _gauge(self, name: str, text: str, values: Sequence[int]) -> Iterator[str]:
        yield f"# HELP vllm:{name} {text}"
        yield f"# TYPE vllm:{name} gauge"
        for labels, value in self._by_engine(values):
            yield f"vllm:{name}{{{labels}}} {float(value)}"

    def _counter(
        self, name: str, text: str, series: Sequence[tuple[str, int]]
    ) -> Iterator[str]:
        yield f"# HELP vllm:{name}_total {text}"
        yield f"# TYPE vllm:{name}_total counter"
        for labels, value in series:
            yield f"vllm:{name}_total{{{labels}}} {float(value)}"
        yield f"# HELP vllm:{name}_created {text}"
        yield f"# TYPE vllm:{name}_created gauge"
        for labels, _ in series:
            yield f"vllm:{name}_created{{{labels}}} {self._created_at!r}"


def _escaped(text: str) -> str:
    """A label's value as the text format has it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
