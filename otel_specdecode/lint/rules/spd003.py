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
usage, and Ollama's own API does not know the option. Services that report usage unasked
(OpenRouter, Mistral, Groq and others, told by the address or by what the client,
branch, function, class or file is named), clients of other packages that have OpenAI's
shape, tests that ask an application in their own process, bodies of the caller's whose
answer is handed through, and answers that are read whole are left alone.

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

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint._tree import walk
from otel_specdecode.lint._usage_fix import usage_fix
from otel_specdecode.lint._vendors import is_vendors
from otel_specdecode.lint.facts import Request, Usage
from otel_specdecode.lint.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding

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

_NATIVE_INPUTS = frozenset({"inputs", "text_input"})
_OPENAI_INPUTS = frozenset({"messages", "prompt"})
"""What Triton's and TGI's own APIs are asked by, and what OpenAI's are."""
_TEST_CLIENT = re.compile(r"\bTestClient\(|\btest_client\(|\bASGITransport\(")
_OF_AN_ANSWER = frozenset(
    {"choices", "usage", "model_dump", "model_dump_json", "to_dict", "to_json"}
)
_READS_OF_A_WHOLE = frozenset(
    {"json", "raise_for_status", "status_code", "status", "ok", "text", "headers"}
    | {"is_success", "is_error", "reason", "reason_phrase", "elapsed", "read"}
)


def check(source: Source) -> Iterator[Finding]:
    """Report streamed requests that leave usage out."""
    if source.is_instrumented:
        return
    requests = list(source.facts.requests.values())
    streamed = {request.body for request in requests if _opens_stream(request)}
    for request in requests:
        if request.is_instrumented or not _lacks_usage(request):
            continue
        if request.body in streamed and not _opens_stream(request):
            continue  # sent whole where the same body is not streamed
        if _is_second_try(request) or _is_whole_here(request):
            continue
        if _is_left_at_once(request) or _is_read_whole(source, request):
            continue
        if _is_of_another_api(request) or _is_streamed_elsewhere(source, request):
            continue
        yield source.finding(
            CODE,
            request.node,
            REFUSED if request.usage is Usage.REFUSED else ABSENT,
            module=request.module,
            fix=usage_fix(request),
        )


def _opens_stream(request: Request) -> bool:
    """Whether a raw request is sent by httpx's `client.stream()`."""
    function, keywords = request.node.func, request.node.keywords
    return (
        request.is_raw
        and request.body is not None
        and isinstance(function, ast.Attribute)
        and (
            function.attr == "stream"
            or any(keyword.arg == "stream" for keyword in keywords)
        )
    )


def _is_left_at_once(request: Request) -> bool:
    """Whether only the first chunk is read: how long it took, not how much it was."""
    return bool(request.loops) and all(map(_reads_one, request.loops))


def _reads_one(loop: ast.AST) -> bool:
    match loop:
        case ast.For(body=body) | ast.AsyncFor(body=body):
            return any(isinstance(each, ast.Return | ast.Break) for each in body)
        case ast.Call(
            func=ast.Name(id="next" | "anext"),
            args=[ast.Call(func=ast.Name(id="iter" | "aiter")), *_],
        ):
            return True
        case _:
            return False


def _is_streamed_elsewhere(source: Source, request: Request) -> bool:
    """Whether options that a helper makes are given `stream` in another function.

    `kwargs = self.options()` is one dict to the analysis in all functions.
    """
    if not any(keyword.arg is None for keyword in request.node.keywords):
        return False
    if request.module is not source.module:
        source = Source(request.module)
    own = source.bindings.scope_of(request.node)
    if isinstance(own, ast.Module) or own is None:
        return False
    if any(word == "stream" for word in _words(own)):
        return False
    return any(
        isinstance(place.ctx, ast.Store)
        and isinstance(place.slice, ast.Constant)
        and place.slice.value == "stream"
        for place in source.nodes(ast.Subscript)
    )


def _is_of_another_api(request: Request) -> bool:
    """Whether the server has no such option, or reports usage without it."""
    if isinstance(request.body, ast.Dict):
        keys = {key.value for key in request.body.keys if isinstance(key, ast.Constant)}
        if keys & _NATIVE_INPUTS and not keys & _OPENAI_INPUTS:
            return True
    return _is_in_process(request) or is_vendors(request)


def _is_in_process(request: Request) -> bool:
    """Whether a test asks its own application, by a client that opens no connection.

    That client may be a fixture: then the address is a path alone.
    """
    return bool(_TEST_CLIENT.search(request.client)) or (
        request.module.mentions(_TEST_CLIENT, "Client(", "client(", "Transport(")
        and any(
            isinstance(each, ast.Constant) and str(each.value).startswith("/")
            for each in request.node.args[:2]
        )
    )


def _is_read_whole(source: Source, request: Request) -> bool:
    """Whether the answer is read as one that is not a stream.

    A raw request says `stream=False` or its body is parsed whole, or what the call
    returned is asked for what a stream does not have.
    """
    if request.is_raw and any(
        keyword.arg == "stream"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is False
        for keyword in request.node.keywords
    ):
        return True
    if request.loops:
        return False
    if request.module is not source.module:
        source = Source(request.module)
    answer: ast.AST = request.node
    parent = source.parent(answer)
    if isinstance(parent, ast.Await):
        answer, parent = parent, source.parent(parent)
    match parent:
        case ast.Attribute(attr=name) if name in _OF_AN_ANSWER:
            return True
        case ast.Assign(targets=[ast.Name() as target]):
            reads = _reads_of(source, target)
            if reads is None:
                return False
            if request.is_raw:
                return "json" in reads and reads <= _READS_OF_A_WHOLE
            return not reads.isdisjoint(_OF_AN_ANSWER)
        case _:
            return False


def _reads_of(source: Source, target: ast.Name) -> frozenset[str] | None:
    """Attributes that are read of a variable in its scope, all there is of it.

    `None` where it is also looped over or handed on.
    """
    scope = source.bindings.scope_of(target)
    found: set[str] = set()
    for name in source.nodes(ast.Name):
        if (
            name.id != target.id
            or isinstance(name.ctx, ast.Store)
            or not source.bindings.is_within(name, scope)
        ):
            continue
        parent = source.parent(name)
        if not isinstance(parent, ast.Attribute):
            return None
        found.add(parent.attr)
    return frozenset(found)


def _is_second_try(request: Request) -> bool:
    """Whether the option was refused: it was given in the `try` of this handler."""
    parents = request.module.parents
    parent = parents.get(request.node)
    while parent is not None:
        outer = parents.get(parent)
        if isinstance(parent, ast.ExceptHandler) and isinstance(outer, ast.Try):
            return any(
                part in {"stream_options", "include_usage"}
                for statement in outer.body
                for part in _words(statement)
            )
        parent = outer
    return False


def _words(statement: ast.AST) -> Iterator[object]:
    for part in walk(statement):
        yield getattr(part, "arg", None)
        yield getattr(part, "value", None) if isinstance(part, ast.Constant) else None


def _is_whole_here(request: Request) -> bool:
    """Whether this is the branch in which the body's `"stream": flag` is false."""
    flag = _stream_flag(request.body)
    parents = request.module.parents
    child: ast.AST = request.node
    parent = parents.get(child)
    while flag and parent is not None:
        if isinstance(parent, ast.If):
            in_body = any(child is statement for statement in parent.body)
            match parent.test:
                case ast.Name(id=name) if name == flag:
                    return not in_body
                case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)) if (
                    name == flag
                ):
                    return in_body
                case _:
                    pass
        child, parent = parent, parents.get(parent)
    return False


def _stream_flag(body: ast.expr | None) -> str:
    """The variable that says whether a body is streamed; empty for a constant."""
    if not isinstance(body, ast.Dict):
        return ""
    for key, value in zip(body.keys, body.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "stream":
            return value.id if isinstance(value, ast.Name) else ""
    return ""


def _lacks_usage(request: Request) -> bool:
    return request.usage in {Usage.ABSENT, Usage.REFUSED}
