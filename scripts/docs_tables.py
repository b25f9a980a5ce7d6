"""Write `docs/records.md` from the docstrings of the model's values.

    .venv/bin/python scripts/docs_tables.py

A test holds the page to what this writes.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

from otel_specdecode.model import (
    Acceptance,
    Arrivals,
    Bounds,
    ChunkCountSite,
    ChunkGaps,
    RequestRecord,
    ServerTiming,
    Totals,
    Usage,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "records.md"
VALUES = (
    *(RequestRecord, Totals, Acceptance, Arrivals, ChunkGaps),
    *(Bounds, Usage, ServerTiming, ChunkCountSite),
)
INTRODUCTION = """\
# Records

What `capture()`, `record_of()`, `observe_sse()` and `record_from()` give: frozen \
values, written from the docstrings by `scripts/docs_tables.py`. A name in `_s` is in \
seconds, one that starts with `num_` is a count. `None` means unknown, never 0. A \
record is plain data: it can be pickled, and `json.dumps(dataclasses.asdict(record))` \
writes it. The formulas are in [concepts](concepts.md).

```python
from openai import OpenAI

import otel_specdecode

client = otel_specdecode.wrap(OpenAI())
with otel_specdecode.capture() as requests:
    for _ in range(2):
        stream = client.chat.completions.create(
            model="spec-demo",
            messages=[{"role": "user", "content": "Hello"}],
            stream=True,
        )
        for chunk in stream:
            pass
one, two = requests
assert otel_specdecode.record_of(stream) is two
totals = otel_specdecode.Totals.of(requests)
assert totals.num_output_tokens == one.num_output_tokens + two.num_output_tokens
assert totals.acceptance == one.acceptance + two.acceptance
assert totals.gaps.quantile(0.95).high_s <= totals.gaps.max_s
assert one.sources["acceptance"] == "vllm response"
```
"""
_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


def page() -> str:
    """Return the whole page."""
    return "\n".join((INTRODUCTION, *(_section(value) for value in VALUES)))


def _section(value: type) -> str:
    summary, _, rest = inspect.cleandoc(value.__doc__ or "").partition("\n\n")
    attributes = dict(_ATTRIBUTE.findall(rest.partition("Attributes:\n")[2]))
    rows = [
        _row(field.name, attributes[field.name])
        for field in dataclasses.fields(value)  # pyright: ignore[reportArgumentType]
    ]
    rows += [
        _row(name, (member.__doc__ or "").replace("\n\n", " "))
        for name, member in vars(value).items()
        if isinstance(member, property)
    ]
    lines = ("| name | what |", "|---|---|", *rows)
    return f"## {value.__name__}\n\n{_joined(summary)}\n\n" + "\n".join(lines) + "\n"


def _row(name: str, text: str) -> str:
    return f"| `{name}` | {_joined(text).rstrip('.')} |"


def _joined(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
