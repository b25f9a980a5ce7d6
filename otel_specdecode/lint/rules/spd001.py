"""Token rate from a count of streamed chunks.

## What it does

Finds a token rate (tok/s, throughput, decode speed) that is computed from how many
chunks, SSE lines or events a streamed LLM response had.

## Why is this bad?

A streamed chunk is not a token. A server with speculative decoding sends every token
that one step accepted in one chunk, so the count stays behind the tokens by exactly
the speed-up that is being measured: 128 tokens in 44 chunks are reported as a third
of the true rate. Proxies and servers also merge chunks without any speculation
(`--stream-interval`, slow readers), and a parser that holds text back does it too.

The rule follows the count through variables, attributes, dict keys, tuples, helper
functions, generators, classes and files of the same run, up to the division, or to
the largest value of a per-second histogram or a progress bar with `unit="tok"`.

It stays silent where the rate is honestly called something else (`chunks_per_second`,
`events/s`), and where the count comes from usage, a tokenizer or token ids. A
`throughput` or `decode_speed` over a certain LLM stream is a token rate unless it says
otherwise. A stream of the program's own client is told by what the call is named
(`provider.stream_chat(...)`), and a rate over it reported where it is called tokens.

## Example

```python
num_tokens = 0
for chunk in client.chat.completions.create(model=m, messages=x, stream=True):
    if chunk.choices[0].delta.content:
        num_tokens += 1
tokens_per_second = num_tokens / (time.perf_counter() - start)
```

## Use instead

```python
usage = None
for chunk in client.chat.completions.create(
    model=m, messages=x, stream=True, stream_options={"include_usage": True}
):
    usage = chunk.usage or usage
tokens_per_second = usage.completion_tokens / (time.perf_counter() - start)
```

If the number of chunks is what you want, call it that: `chunks_per_second`.

## Fix safety

There is no automatic fix: only the author knows which server answers and whether it
reports usage.

## References

- [vLLM: TPOT and ITL differ once a streamed output holds several tokens](https://github.com/vllm-project/vllm/pull/50600)
- [llama-benchy: 5.51 tok/s reported, 25.16 after reading usage](https://github.com/eugr/llama-benchy/pull/11)
- [OpenAI API: `stream_options.include_usage`](https://platform.openai.com/docs/api-reference/chat/create)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint._verdicts import reported
from otel_specdecode.lint.facts import RateKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD001"
NAME = "token-rate-from-chunks"
KINDS = (RateKind.PER_SECOND, RateKind.WINDOW, RateKind.PEAK, RateKind.PROGRESS)
MESSAGE = (
    "token rate from a count of streamed chunks: one chunk can carry several tokens; "
    "divide `usage.completion_tokens` by the time, or call it a chunk rate"
)


def check(source: Source) -> Iterator[Finding]:
    """Report chunk counts that are turned into a token rate."""
    for rate in reported(source.facts, KINDS):
        yield source.finding(
            CODE, rate.node, MESSAGE, module=rate.module, steps=rate.steps
        )
