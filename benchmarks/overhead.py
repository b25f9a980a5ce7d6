"""What the wrapper costs over the bare client, both in one process, turn by turn.

    overhead.py            CPU time: medians of pairs, so that a machine whose speed
                           drifts slows both alike
    overhead.py --opcodes  bytecode instructions: repeatable to the digit, whatever
                           else the machine is doing; prints one JSON line

The transport is in the process, so the figures are the client's own cost. Spans and
metrics go to the SDK's providers, with an exporter that drops them.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import openai

try:
    import httpx2 as httpx
except ImportError:
    import httpx
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_CHUNKS = 2000
NUM_PAIRS = 15
NUM_PLAIN = 50
ASK: dict[str, Any] = {
    "model": "spec-demo",
    "messages": [{"role": "user", "content": "def scale(value): return value"}],
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


def two_clients(num_chunks: int) -> tuple[openai.OpenAI, openai.OpenAI]:
    """Return a bare client and a wrapped one, alike in all else."""
    transport = httpx.Client(transport=httpx.MockTransport(answering(num_chunks)))
    bare, wrapped = (
        openai.OpenAI(
            api_key="x", base_url="http://127.0.0.1:1/v1", http_client=transport
        )
        for _ in range(2)
    )
    spans = TracerProvider()
    spans.add_span_processor(BatchSpanProcessor(DroppingExporter()))
    meters = MeterProvider(metric_readers=[InMemoryMetricReader()])
    return bare, otel_specdecode.wrap(
        wrapped, tracer_provider=spans, meter_provider=meters
    )


def read_stream(client: openai.OpenAI) -> None:
    for _ in client.chat.completions.create(**ASK, stream=True):
        pass


def ask_plainly(client: openai.OpenAI) -> None:
    client.chat.completions.create(**ASK)


def cpu_seconds(work: Callable[[], None]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def paired(
    bare: Callable[[], None], wrapped: Callable[[], None]
) -> tuple[float, float, float]:
    """Return median seconds of both, and the median of the ratios of pairs."""
    pairs: list[tuple[float, float]] = []
    for turn in range(NUM_PAIRS):
        if turn % 2:
            one = cpu_seconds(bare)
            pairs.append((one, cpu_seconds(wrapped)))
        else:
            two = cpu_seconds(wrapped)
            pairs.append((cpu_seconds(bare), two))
    ratio = statistics.median(two / one for one, two in pairs)
    medians = (statistics.median(values) for values in zip(*pairs, strict=True))
    return (*medians, ratio)  # pyright: ignore[reportReturnType] (two medians)


def num_opcodes(work: Callable[[], None]) -> int:
    """Count the bytecode instructions that some work takes in this thread."""
    count = 0

    def trace(frame: Any, what: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += what == "opcode"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def opcodes() -> dict[str, dict[str, float]]:
    """Count instructions a chunk and a plain request, bare and wrapped."""
    counts: dict[str, dict[str, float]] = {}
    for name, client in zip(("bare", "wrapped"), two_clients(100), strict=True):
        ask_plainly(client)
        read_stream(client)
        chunks = iter(client.chat.completions.create(**ASK, stream=True))
        # Past the role chunk and the first with content, which are looked at closer.
        next(chunks)
        next(chunks)

        def read_ten(chunks: Any = chunks) -> None:
            for _ in range(10):
                next(chunks)

        def ask(client: openai.OpenAI = client) -> None:
            ask_plainly(client)

        counts[name] = {
            "chunk": num_opcodes(read_ten) / 10,
            "plain_request": num_opcodes(ask),
        }
    return counts


def peak_kib(client: openai.OpenAI) -> int:
    tracemalloc.start()
    read_stream(client)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(peak / 1024)


def main() -> None:
    if "--opcodes" in sys.argv[1:]:
        print(json.dumps(opcodes()))
        return
    bare, wrapped = two_clients(NUM_CHUNKS)
    read_stream(wrapped)
    one, two, ratio = paired(lambda: read_stream(bare), lambda: read_stream(wrapped))
    per_chunk = [f"{seconds / NUM_CHUNKS * 1e6:.1f} us" for seconds in (one, two)]
    print(f"a chunk: bare {per_chunk[0]}, wrapped {per_chunk[1]}, ratio {ratio:.3f}")

    def plainly(client: openai.OpenAI) -> Callable[[], None]:
        return lambda: [ask_plainly(client) for _ in range(NUM_PLAIN)] and None

    one, two, ratio = paired(plainly(bare), plainly(wrapped))
    each = [f"{seconds / NUM_PLAIN * 1e6:.0f} us" for seconds in (one, two)]
    print(f"a plain request: bare {each[0]}, wrapped {each[1]}, ratio {ratio:.3f}")
    for num_chunks in (2000, 20000):
        bare, wrapped = two_clients(num_chunks)
        read_stream(wrapped)
        print(
            f"peak of a stream of {num_chunks} chunks:"
            f" bare {peak_kib(bare)} KiB, wrapped {peak_kib(wrapped)} KiB"
        )


if __name__ == "__main__":
    main()
