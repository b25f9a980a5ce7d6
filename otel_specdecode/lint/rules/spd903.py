"""Chunk count published as tokens.

## What it does

Finds a count of streamed chunks that is stored, sent or recorded under the name of
tokens: a `completion_tokens` field, a `*_tokens_total` counter that gains one per
chunk, a price multiplied by it.

This rule is off by default: where SPD001 is silent, such a number is often for display
only.

## Why is this bad?

The division then happens elsewhere: in a dashboard (`rate(llm_tokens_total[1m])`), in
a bill, in another service that takes the field at its word.

## Example

```python
async for chunk in stream:
    COMPLETION_TOKENS.inc()
```

## Use instead

```python
async for chunk in stream:
    if chunk.usage:
        COMPLETION_TOKENS.inc(chunk.usage.completion_tokens)
```

## Fix safety

There is no automatic fix.

## References

- [OpenTelemetry: `gen_ai.usage.output_tokens`](https://opentelemetry.io/docs/specs/semconv/gen-ai/)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD903"
NAME = "chunk-count-published-as-tokens"


def check(source: Source) -> Iterator[Finding]:
    """Report chunk counts that leave the program as tokens."""
    for publication in source.facts.publications.values():
        message = (
            f"chunk count published as tokens (`{publication.name}`): one chunk can "
            "carry several tokens; publish `usage.completion_tokens`"
        )
        yield source.finding(
            CODE,
            publication.node,
            message,
            module=publication.module,
            steps=publication.steps,
        )
