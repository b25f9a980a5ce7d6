"""Zero in place of a count in a record of the program's own.

## What it does

Finds what SPD005 finds, on records of which nothing shows that they are a server's
answer, and where the expression itself says that the count may be missing:
`record.output_tokens or 0`, `row["output_tokens"] if row else 0`, a handler that sets
0, on the way to a rate, a sum or a metric.

This rule is off by default: a program that wrote the record itself may have put the
field into every one, and then nothing is ever missing.

## Why is this bad?

Where a record was made from an answer without usage, or read from an older file, its
count is unknown. As 0 it lowers every sum and mean, and nobody sees that it was not
measured.

The rule stays silent on a plain `row.get("output_tokens", 0)`, which may be no more
than a habit, where a class says that the field is a number, and where SPD005 would:
totals, filtered rows, quotients that are computed only where there are tokens.

## Example

```python
tokens = sum(row.get("output_tokens") or 0 for row in rows)
print(tokens / seconds, "tok/s")
```

## Use instead

```python
counted = [row for row in rows if row.get("output_tokens") is not None]
tokens = sum(row["output_tokens"] for row in counted)
num_without_usage = len(rows) - len(counted)
```

Where every record has the field, `row["output_tokens"]` says so, and fails when one
does not.

## Fix safety

There is no automatic fix: what a missing value means has to be decided.

## References

- [SPD005](SPD005.md), the same for the answers of a server
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint import _zeroes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD904"
NAME = "missing-in-own-records-taken-as-zero"

may_apply = _zeroes.may_apply


def check(source: Source) -> Iterator[Finding]:
    """Report fields of all other records whose absence becomes 0 in a number."""
    for zero in _zeroes.zeroes(source, of_answers=False):
        message = (
            f"`{zero.field}` taken as zero where a record lacks it: leave it out and "
            "count it as missing, or read it without a default if it is always there"
        )
        yield source.finding(CODE, zero.node, message)
