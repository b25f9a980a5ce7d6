"""CPU, instructions and memory of one instrumentation of the client, as asked for.

    instrumented.py NAME    bare, otel_specdecode, or a peer out of `PEERS`

Each line on standard input names one of `FIGURES`; a line of JSON answers it. So
`peers.py` can run it in a peer's own environment and a bare client there, turn by turn.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import openai
from instruction_count import counting_opcodes
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from traffic import ASK, DroppingExporter, peak_kib, read_stream, transport

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_CHUNKS = 2000
NUM_PLAIN = 50
NUM_STEPS = 10
# Peers that instrument every client of the process.
INSTRUMENTORS = {
    "genai_openai": "opentelemetry.instrumentation.genai.openai",
    "traceloop": "opentelemetry.instrumentation.openai",
    "openinference": "openinference.instrumentation.openai",
}
PEERS = (*INSTRUMENTORS, "langfuse", "logfire")


def instrumented_client(name: str) -> Any:
    """Return a client that the instrumentation of this name observes."""
    arguments: dict[str, Any] = {
        "api_key": "x",
        "base_url": "http://127.0.0.1:1/v1",
        "http_client": transport(NUM_CHUNKS),
    }
    if name in INSTRUMENTORS:
        importlib.import_module(INSTRUMENTORS[name]).OpenAIInstrumentor().instrument()
    elif name == "logfire":
        logfire: Any = importlib.import_module("logfire")
        logfire.configure(send_to_logfire=False, console=False)
        logfire.instrument_openai()
    elif name == "langfuse":
        # Nobody listens on the discard port: the exporter's failures are its own.
        os.environ |= {"LANGFUSE_PUBLIC_KEY": "pk-lf-x", "LANGFUSE_SECRET_KEY": "sk"}
        os.environ["LANGFUSE_HOST"] = "http://127.0.0.1:9"
        return importlib.import_module("langfuse.openai").OpenAI(**arguments)
    client = openai.OpenAI(**arguments)
    if name == "otel_specdecode":
        return importlib.import_module("otel_specdecode").wrap(client)
    return client


def ask_many_times(client: Any) -> None:
    for _ in range(NUM_PLAIN):
        client.chat.completions.create(**ASK)


def chunk_instructions(client: Any) -> float:
    """Count the instructions of a chunk, past the first two."""
    chunks = iter(client.chat.completions.create(**ASK, stream=True))
    next(chunks)
    next(chunks)
    with counting_opcodes() as steps:
        for _ in range(NUM_STEPS):
            next(chunks)
    return steps[0] / NUM_STEPS


def request_instructions(client: Any) -> float:
    """Count the instructions of a plain request."""
    with counting_opcodes() as count:
        client.chat.completions.create(**ASK)
    return count[0]


def cpu_us(work: Callable[[Any], object], client: Any, times: int) -> float:
    """Return CPU time in microseconds, for each of so many."""
    gc.collect()
    started = time.process_time()
    work(client)
    return (time.process_time() - started) / times * 1e6


FIGURES: dict[str, Callable[[Any], float]] = {
    "chunks_seen": read_stream,
    "us_per_chunk": lambda client: cpu_us(read_stream, client, NUM_CHUNKS),
    "us_per_request": lambda client: cpu_us(ask_many_times, client, NUM_PLAIN),
    "peak_kib": peak_kib,
    "instructions_per_chunk": chunk_instructions,
    "instructions_per_request": request_instructions,
}


def main() -> None:
    spans = TracerProvider()
    spans.add_span_processor(BatchSpanProcessor(DroppingExporter()))
    trace.set_tracer_provider(spans)
    metrics.set_meter_provider(MeterProvider(metric_readers=[InMemoryMetricReader()]))
    client = instrumented_client(sys.argv[1])
    # What is made at the first call is no call's cost.
    read_stream(client)
    ask_many_times(client)
    for line in sys.stdin:
        print(json.dumps({"figure": FIGURES[line.strip()](client)}), flush=True)
    # An exporter without a server would hold up the exit.
    os._exit(0)


if __name__ == "__main__":
    main()
