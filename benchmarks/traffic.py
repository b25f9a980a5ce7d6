"""What the cost of a wrapper is measured with: one request, and its answers.

The transport is in the process, so that the figures are the client's own cost.
"""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

try:
    import httpx2 as httpx
except ImportError:
    import httpx
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

if TYPE_CHECKING:
    from collections.abc import Callable

ASK: dict[str, Any] = {
    "model": "spec-demo",
    "messages": [{"role": "user", "content": "def scale(value): return value"}],
    "max_tokens": 16,
}
IDENTITY = {"id": "chatcmpl-94d4866963563b3d", "created": 1795958016}
ACCEPTANCE = {
    "mean_acceptance_length": 3.0,
    "draft_acceptance_rate": 0.5,
    "acceptance_histogram": [0, 0, 100, 0, 0],
    "num_spec_steps": 100,
    "num_accepted_draft_tokens": 200,
    "num_draft_tokens": 400,
    "num_spec_tokens": 4,
}
STATISTICS = {
    "usage": {"prompt_tokens": 19, "completion_tokens": 301, "total_tokens": 320},
    "metrics": {"speculative_decoding": ACCEPTANCE},
}


class DroppingExporter(SpanExporter):
    """Takes spans and keeps none."""

    def export(self, spans: object) -> SpanExportResult:
        """Drop the spans."""
        return SpanExportResult.SUCCESS


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {
        **IDENTITY,
        "object": "chat.completion.chunk",
        "model": "spec-demo",
        "choices": [{**choice, "token_ids": None}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def stream_body(num_chunks: int, *, usage: bool) -> bytes:
    last = {**IDENTITY, "object": "chat.completion.chunk", "model": "spec-demo"}
    return b"".join(
        (
            event({"role": "assistant", "content": ""}),
            event({"content": " lorem ipsum dolor"}) * (num_chunks - 2),
            event({"content": " end"}, "stop"),
            b"data: " + json.dumps({**last, "choices": [], **STATISTICS}).encode()
            if usage
            else b"",
            b"\n\ndata: [DONE]\n\n",
        )
    )


def answering(num_chunks: int) -> Callable[[Any], Any]:
    """Return a transport's handler that answers as a server that speculates."""
    bodies = {usage: stream_body(num_chunks, usage=usage) for usage in (False, True)}
    message = {"role": "assistant", "content": "hello"}
    whole = {
        **IDENTITY,
        "object": "chat.completion",
        "model": "spec-demo",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        **STATISTICS,
    }

    def answer(request: Any) -> Any:
        body = json.loads(request.content)
        if not body.get("stream"):
            return httpx.Response(200, json=whole)
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, content=bodies[usage], headers=headers)

    return answer


def transport(num_chunks: int) -> Any:
    """Return an HTTP client that answers by itself."""
    return httpx.Client(transport=httpx.MockTransport(answering(num_chunks)))


def transport_async(num_chunks: int) -> Any:
    """Return an async HTTP client that answers by itself."""
    return httpx.AsyncClient(transport=httpx.MockTransport(answering(num_chunks)))


def read_stream(client: Any) -> int:
    """Read one stream to its end; return how many chunks the caller saw."""
    return sum(1 for _ in client.chat.completions.create(**ASK, stream=True))


def peak_kib(client: Any) -> int:
    """Return the most memory that Python holds while one stream is read, KiB."""
    tracemalloc.start()
    read_stream(client)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(peak / 1024)
