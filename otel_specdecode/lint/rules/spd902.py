"""Chunk count as a fallback for usage.

## What it does

Finds a token rate whose count is taken from usage where there is one, and from the
number of chunks where there is none.

This rule is off by default: some servers report no usage, and a fallback can be better
than nothing if it is marked.

## Why is this bad?

Both numbers end up under one name, and nothing in the result says which it was. A
server that drops usage under load, or a proxy that strips it, then looks several times
slower than it is.

## Example

```python
num_tokens = usage.completion_tokens if usage else len(chunks)
tokens_per_second = num_tokens / elapsed
```

## Use instead

```python
num_tokens = usage.completion_tokens if usage else None
tokens_per_second = num_tokens / elapsed if num_tokens is not None else None
```

A missing count is missing: report it as such, and count how often it happens.

## Fix safety

There is no automatic fix.

## References

- [tpu-inference: a server without usage is a hard error](https://github.com/vllm-project/tpu-inference/pull/3298)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint._verdicts import reported
from otel_specdecode.lint.facts import RateKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD902"
NAME = "chunk-count-as-fallback"
MESSAGE = (
    "falls back to the chunk count where usage is missing: leave the rate missing too, "
    "or keep the two under different names"
)


def check(source: Source) -> Iterator[Finding]:
    """Report rates that are tokens or chunks, whichever there was."""
    for rate in reported(source.facts, (RateKind.FALLBACK,)):
        yield source.finding(
            CODE, rate.node, MESSAGE, module=rate.module, steps=rate.steps
        )
