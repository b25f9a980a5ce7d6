"""A program with several consumers of streams, some of which count chunks.

Run by the tests in a process of its own; prints what a span and a counter said.
"""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from openai import AsyncOpenAI, OpenAI
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_specdecode
from otel_specdecode.simulator import named_profile, simulate

from texts import texts  # isort: skip

ASK = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 128}


def counts_chunks(client, model):
    started = time.perf_counter()
    num_tokens = 0
    for chunk in client.chat.completions.create(model=model, stream=True, **ASK):
        if chunk.choices[0].delta.content:
            num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"


def open_stream(client, model):
    return client.chat.completions.create(model=model, stream=True, **ASK)


def hands_on(client, model):
    """Opens the stream; `times_it` consumes it."""
    return times_it(open_stream(client, model))


def times_it(stream):
    started = time.perf_counter()
    pieces = [chunk.choices[0].delta.content for chunk in stream]
    return {"tokens_per_second": len(pieces) / (time.perf_counter() - started)}


async def counts_in_a_task(client, model):
    stream = await client.chat.completions.create(model=model, stream=True, **ASK)
    started = time.perf_counter()
    num_tokens = 0
    async for _ in stream:
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"


async def in_a_task(client, model):
    async with client:
        await asyncio.create_task(counts_in_a_task(client, model))
        await counts_an_async_generator(client, model)


def reads_usage(client, model):
    started = time.perf_counter()
    stream = client.chat.completions.create(
        model=model, stream=True, stream_options={"include_usage": True}, **ASK
    )
    for chunk in stream:
        if chunk.usage:
            num_tokens = chunk.usage.completion_tokens
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"


def joins_text(client, model):
    return "".join(
        chunk.choices[0].delta.content or "" for chunk in open_stream(client, model)
    )


def joins_what_is_handed_on(client, model):
    return "".join(texts(open_stream(client, model)))


def counts_what_is_handed_on(client, model):
    started = time.perf_counter()
    num_tokens = sum(1 for _ in texts(open_stream(client, model)))
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"


class Meter:
    """Told of each text; who tells it is the consumer."""

    def __init__(self):
        self.started = time.perf_counter()
        self.num_tokens = 0

    def on_token(self, text):
        self.num_tokens += 1

    def tokens_per_second(self):
        return self.num_tokens / (time.perf_counter() - self.started)


def tells_a_meter(client, model):
    meter = Meter()
    for chunk in client.chat.completions.create(model=model, stream=True, **ASK):
        if chunk.choices:
            meter.on_token(chunk.choices[0].delta.content)
    return meter.tokens_per_second()


async def handed_on(client, model):
    stream = await client.chat.completions.create(model=model, stream=True, **ASK)
    async for chunk in stream:
        yield chunk


async def counts_an_async_generator(client, model):
    started = time.perf_counter()
    num_tokens = 0
    async for _ in handed_on(client, model):
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"


def main() -> None:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    spans, meters = TracerProvider(), MeterProvider([reader])
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    providers = {"tracer_provider": spans, "meter_provider": meters}
    with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
        client = otel_specdecode.wrap(
            OpenAI(base_url=sim.base_url, api_key="x"), **providers
        )
        aio = otel_specdecode.wrap(
            AsyncOpenAI(base_url=sim.base_url, api_key="x"), **providers
        )
        for _ in range(3):
            for consume in (
                counts_chunks, hands_on, reads_usage, joins_text,
                joins_what_is_handed_on, counts_what_is_handed_on, tells_a_meter,
            ):  # fmt: skip
                consume(client, sim.model)
            with ThreadPoolExecutor() as pool:
                pool.submit(counts_chunks, client, sim.model).result()
        asyncio.run(in_a_task(aio, sim.model))
        # By now the functions have been examined, or else the mark never comes.
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not marks(exporter):
            counts_chunks(client, sim.model)
        wait_for_all(reader)
    said = {"marks": marks(exporter), "events": events(exporter)}
    print(json.dumps({**said, "sites": sites(reader)}))


def marks(exporter):
    found = (
        span.attributes.get("specdecode.chunk_count_rule")
        for span in exporter.get_finished_spans()
    )
    return sorted({rule for rule in found if rule})


def events(exporter):
    found = [
        dict(event.attributes)
        for span in exporter.get_finished_spans()
        for event in span.events
    ]
    return [
        {
            "function": event["code.function.name"],
            "factor": round(event["specdecode.undercount_factor"], 2),
        }
        for event in found[:1]
    ]


def wait_for_all(reader):
    """Let every function be examined: each of them counts what was found in it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and sum(n for _, n in sites(reader)) < 6:
        time.sleep(0.05)


def sites(reader):
    data = reader.get_metrics_data()
    return sorted(
        (point.attributes["specdecode.rule"], point.value)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "specdecode.client.chunk_count_sites"
        for point in metric.data.data_points
    )


if __name__ == "__main__":
    main()
