"""Time per token from the gaps between chunks.

## What it does

Finds TPOT or per-token latency that is computed from the time between streamed chunks:
time divided by the number of chunks, means and percentiles of chunk gaps that are
called per token, and a token rate that is one over such a gap.

## Why is this bad?

The gap between two chunks is the time of one engine step. With speculative decoding
one step yields several tokens, so the gap *rises* when speculation helps: a request
that became a third faster shows a TPOT that looks worse. SGLang's benchmark showed a
median of 8.72 ms where the time per token was 3.20 ms.

ITL is taken at its customary word, the gap between two outputs: a mean of gaps called
`itl` is left alone. The same mean called `tpot` or `ms_per_token`, or turned into
tok/s, is reported, and so is `time / (num_chunks - 1)` under any name for tokens.

## Example

```python
for chunk in stream:
    arrivals.append(time.perf_counter())
tpot = (arrivals[-1] - arrivals[0]) / (len(arrivals) - 1)
```

## Use instead

```python
for chunk in stream:
    usage = chunk.usage or usage
    if chunk.choices:
        arrivals.append(time.perf_counter())
tpot = (arrivals[-1] - arrivals[0]) / (usage.completion_tokens - 1)
```

The gaps are a measure of delivery: keep them, and call them chunk gaps.

## Fix safety

There is no automatic fix.

## References

- [SGLang: ITL per verify step, divided by the accept length](https://github.com/sgl-project/sglang/pull/12064)
- [SGLang: ITL there means latency between streaming chunks](https://github.com/sgl-project/sglang/pull/1340)
- [vLLM: TPOT and ITL differ once a streamed output holds several tokens](https://github.com/vllm-project/vllm/pull/50600)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint._verdicts import reported
from otel_specdecode.lint.facts import RateKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD002"
NAME = "time-per-token-from-chunk-gaps"
PER_TOKEN = (RateKind.PER_COUNT, RateKind.MEAN_GAP, RateKind.GAP_STATISTIC)
MESSAGE = (
    "time per token from the gaps between chunks: a gap is one engine step, not one "
    "token; divide the time by `usage.completion_tokens - 1`, or call it a chunk gap"
)
INVERSE_MESSAGE = (
    "token rate from the inverse of a chunk gap: a gap is one engine step, not one "
    "token; divide `usage.completion_tokens` by the time"
)


def check(source: Source) -> Iterator[Finding]:
    """Report chunk gaps that are taken for the time of a token."""
    for rate in reported(source.facts, (*PER_TOKEN, RateKind.INVERSE_GAP)):
        inverse = rate.kind is RateKind.INVERSE_GAP
        yield source.finding(
            CODE,
            rate.node,
            INVERSE_MESSAGE if inverse else MESSAGE,
            module=rate.module,
            steps=rate.steps,
        )
