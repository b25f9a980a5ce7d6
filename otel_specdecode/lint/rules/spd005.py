"""Missing acceptance or usage taken as zero.

## What it does

Finds a usage or acceptance field whose absence is turned into 0 (`or 0`,
`.get(field, 0)`, `getattr(usage, field, 0)`, `... if usage else 0`,
`except: tokens = 0`) where the value goes on into a rate, a sum or a metric.

It is reported where the field is one of a server's answer: of something that is called
usage, a response or a chunk, of what a request returned, of a parsed body, of a record
that declares the field optional, or one whose name only servers use
(`draft_n_accepted`). Records of the program's own are left to SPD904.

## Why is this bad?

A missing number is not zero. A stream without `include_usage` then generates at
0 tok/s, a server without the metrics flag accepts 0 % of its drafts, and an average
falls because some requests were not measured. Nobody sees that anything is missing.

The rule stays silent where nothing that was left out counts as 0:

- the value is only shown, compared or tested;
- the quotient is computed only where the value is not 0 (`if tokens > 0`, an early
  `return`, `... if tokens else None`; but `... else 0.0` is reported);
- the rows are those that have the field (`if row.output_tokens is not None`), or
  nothing is computed where it is missing (`if usage.output_tokens is None: return`);
- the object's class says that the field is a number, or the function that makes the
  dict always writes the key;
- the row is a sum already: it counts its requests beside (`row.request_count or 0`),
  or is called a total (`total_usage.get("completion_tokens", 0)`).

## Example

```python
total_tokens += usage.get("completion_tokens", 0)
print(total_tokens / elapsed, "tok/s")
```

## Use instead

```python
tokens = usage.get("completion_tokens")
if tokens is None:
    num_without_usage += 1
else:
    total_tokens += tokens
```

## Fix safety

There is no automatic fix: what a missing value means has to be decided.

## References

- [vLLM: a request without drafts reports zeros, one without metrics nothing](https://github.com/vllm-project/vllm/pull/48915)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint import _zeroes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD005"
NAME = "missing-taken-as-zero"

may_apply = _zeroes.may_apply


def check(source: Source) -> Iterator[Finding]:
    """Report fields of answers whose absence becomes 0 on the way to a number."""
    for zero in _zeroes.zeroes(source, of_answers=True):
        message = (
            f"missing `{zero.field}` taken as zero: what was not reported is unknown, "
            "not 0; leave it out and count it as missing"
        )
        yield source.finding(CODE, zero.node, message)
