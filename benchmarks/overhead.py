"""What the wrapper costs over the bare client, both in one process, turn by turn.

    overhead.py            CPU time: medians of pairs, so that a machine whose speed
                           drifts slows both alike
    overhead.py --opcodes  bytecode instructions: repeatable to the digit, whatever
                           else the machine is doing; prints one JSON line

The transport is in the process, so the figures are the client's own cost. Spans and
metrics go to the SDK's providers, with an exporter that drops them.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import openai
from instruction_count import counting_opcodes
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from traffic import (
    ASK,
    DroppingExporter,
    peak_kib,
    read_stream,
    transport,
    transport_async,
)

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_CHUNKS = 2000
NUM_PAIRS = 15
NUM_PLAIN = 50
# Streams that instructions are counted in: short, for tracing is slow.
NUM_COUNTED = 100
NUM_STEPS = 10
ADDRESS: dict[str, str] = {"api_key": "x", "base_url": "http://127.0.0.1:1/v1"}


def observed(client: Any, **options: Any) -> Any:
    """Return a client wrapped with SDK providers of its own."""
    spans = TracerProvider()
    spans.add_span_processor(BatchSpanProcessor(DroppingExporter()))
    meters = MeterProvider(metric_readers=[InMemoryMetricReader()])
    return otel_specdecode.wrap(
        client, tracer_provider=spans, meter_provider=meters, **options
    )


def plain_client(num_chunks: int) -> openai.OpenAI:
    return openai.OpenAI(**ADDRESS, http_client=transport(num_chunks))


def two_clients(num_chunks: int) -> tuple[openai.OpenAI, openai.OpenAI]:
    """Return a bare client and a wrapped one, alike in all else."""
    return plain_client(num_chunks), observed(plain_client(num_chunks))


def two_clients_async(num_chunks: int) -> tuple[Any, Any]:
    """Return the same two, async."""
    bare, wrapped = (
        openai.AsyncOpenAI(**ADDRESS, http_client=transport_async(num_chunks))
        for _ in range(2)
    )
    return bare, observed(wrapped)


def ask_plainly(client: openai.OpenAI, times: int = 1) -> None:
    for _ in range(times):
        client.chat.completions.create(**ASK)


def cpu_seconds(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def paired(
    bare: Callable[[], object], wrapped: Callable[[], object]
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
    ones, twos = zip(*pairs, strict=True)
    return statistics.median(ones), statistics.median(twos), ratio


def opcodes_sync(client: openai.OpenAI) -> dict[str, float]:
    ask_plainly(client)
    read_stream(client)
    chunks = iter(client.chat.completions.create(**ASK, stream=True))
    # Past the role chunk and the first with content, which are looked at closer.
    next(chunks)
    next(chunks)
    with counting_opcodes() as steps:
        for _ in range(NUM_STEPS):
            next(chunks)
    with counting_opcodes() as plain:
        ask_plainly(client)
    with counting_opcodes() as stream:
        read_stream(client)
    return {
        "chunk": steps[0] / NUM_STEPS,
        "plain_request": plain[0],
        "stream": stream[0],
    }


async def opcodes_async(client: Any) -> dict[str, float]:
    await client.chat.completions.create(**ASK)
    chunks = aiter(await client.chat.completions.create(**ASK, stream=True))
    await anext(chunks)
    await anext(chunks)
    with counting_opcodes() as steps:
        for _ in range(NUM_STEPS):
            await anext(chunks)
    with counting_opcodes() as plain:
        await client.chat.completions.create(**ASK)
    return {"chunk_async": steps[0] / NUM_STEPS, "plain_request_async": plain[0]}


def opcodes() -> dict[str, dict[str, float]]:
    """Count instructions, bare and wrapped, and wrapped without the chunk check."""
    bare, wrapped = two_clients(NUM_COUNTED)
    unchecked = observed(plain_client(NUM_COUNTED), chunk_count_check=False)
    bare_async, wrapped_async = two_clients_async(NUM_COUNTED)
    with asyncio.Runner() as runner:
        return {
            "bare": opcodes_sync(bare) | runner.run(opcodes_async(bare_async)),
            "wrapped": opcodes_sync(wrapped) | runner.run(opcodes_async(wrapped_async)),
            "unchecked": opcodes_sync(unchecked),
        }


def main() -> None:
    if "--opcodes" in sys.argv[1:]:
        print(json.dumps(opcodes()))
        return
    bare, wrapped = two_clients(NUM_CHUNKS)
    read_stream(wrapped)
    one, two, ratio = paired(lambda: read_stream(bare), lambda: read_stream(wrapped))
    per_chunk = [f"{seconds / NUM_CHUNKS * 1e6:.1f} us" for seconds in (one, two)]
    print(f"a chunk: bare {per_chunk[0]}, wrapped {per_chunk[1]}, ratio {ratio:.3f}")
    ask_plainly(wrapped)
    one, two, ratio = paired(
        lambda: ask_plainly(bare, NUM_PLAIN), lambda: ask_plainly(wrapped, NUM_PLAIN)
    )
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
