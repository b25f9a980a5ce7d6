"""Streamed request that never asks for usage.

## What it does

Finds streamed chat and text completions without
`stream_options={"include_usage": True}`: calls of the OpenAI SDK and of litellm, and
raw HTTP requests to `/chat/completions` and `/completions`.

## Why is this bad?

A streamed response carries its token counts on the last chunk, and only if the request
asked for them. Without them a client can count chunks, which are not tokens, or guess
from the text. With speculative decoding the acceptance statistics travel on the same
chunk, so they are lost too.

The rule follows `**options`, dict literals, later `payload["stream_options"] = ...`,
`setdefault` and `update`, `extra_body`, constants and bodies that a function builds. A
`stream=` whose value cannot be told is left alone. The Responses API always reports
usage, and Ollama's own API does not know the option.

It also stays silent where usage is asked for by other means: the client comes from
`otel_specdecode.wrap()`, a file of the run calls
`SpecDecodeInstrumentor().instrument()`, or `assume-instrumented = true` is set in
`[tool.otel-specdecode.lint]`.

## Example

```python
stream = client.chat.completions.create(model=m, messages=x, stream=True)
```

## Use instead

```python
stream = client.chat.completions.create(
    model=m, messages=x, stream=True, stream_options={"include_usage": True}
)
for chunk in stream:
    if chunk.usage:
        usage = chunk.usage
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")
```

## Fix safety

The fix adds the option. The chunk that brings usage has an empty `choices`, so code
that reads `chunk.choices[0]` without looking fails on it: there, and where the loop
that reads the stream is not in the same file, the fix is unsafe and needs
`--unsafe-fixes`. A few servers refuse `stream_options`; for those, use
`# noqa: SPD003` with the reason, or per-file ignores.

## References

- [OpenAI API: `stream_options.include_usage`](https://platform.openai.com/docs/api-reference/chat/create)
- [vLLM: OpenAI-compatible server](https://docs.vllm.ai/en/latest/serving/openai_compatible_server/)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint._usage_fix import usage_fix
from otel_specdecode.lint.facts import Request, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD003"
NAME = "stream-without-usage"
ABSENT = (
    "streamed request never asks for usage: token counts are lost; add "
    '`stream_options={"include_usage": True}`'
)
REFUSED = (
    "streamed request does not ask for usage: `stream_options` is there without "
    '`"include_usage": True`, so token counts are lost'
)


def check(source: Source) -> Iterator[Finding]:
    """Report streamed requests that leave usage out."""
    if source.is_instrumented:
        return
    for request in source.facts.requests.values():
        if request.is_instrumented or not _lacks_usage(request):
            continue
        yield source.finding(
            CODE,
            request.node,
            REFUSED if request.usage is Usage.REFUSED else ABSENT,
            module=request.module,
            fix=usage_fix(request),
        )


def _lacks_usage(request: Request) -> bool:
    return request.usage in {Usage.ABSENT, Usage.REFUSED}
