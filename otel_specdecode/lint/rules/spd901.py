"""Token rate estimated from characters or words.

## What it does

Finds a token rate that is computed from the length of the text or its number of words:
`len(text) / 4`, `len(text.split()) * 1.3`, or the plain length, divided by time.

This rule is off by default: an estimate can be good enough, as long as it is called
one.

## Why is this bad?

Characters per token vary between models, languages and kinds of text, by a factor of
two and more between prose, code and Chinese. The estimate moves with the content of
the answer, so two runs of one benchmark differ without any change in speed.

## Example

```python
tokens_per_second = len(text) / 4 / elapsed
```

## Use instead

```python
tokens_per_second = usage.completion_tokens / elapsed
```

## Fix safety

There is no automatic fix.

## References

- [tt-inference-server: `len(text.split())` used as tokens per second](https://github.com/tenstorrent/tt-inference-server/pull/1094)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint._verdicts import reported
from otel_specdecode.lint.facts import RateKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD901"
NAME = "token-rate-from-text-length"
MESSAGE = (
    "token rate estimated from characters or words: divide `usage.completion_tokens` "
    "by the time, or say that it is an estimate"
)


def check(source: Source) -> Iterator[Finding]:
    """Report text lengths that are turned into a token rate."""
    for rate in reported(source.facts, (RateKind.ESTIMATE,)):
        yield source.finding(
            CODE, rate.node, MESSAGE, module=rate.module, steps=rate.steps
        )
