"""Another vendor's instrumentation of openai, asked to record content, as a program.

    other_instrumentation.py MODULE BASE_URL PROMPT KEY

Runs in an environment of its own, without this package. Telemetry goes where the
`OTEL_*` variables say. Sends a plain request, a stream, one with a tool, and one that
the server refuses.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any

import openai
from opentelemetry import metrics, trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor


def main(module: str, base_url: str, prompt: str, key: str) -> None:
    """Sends the four requests, and flushes what was said of them."""
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
    metrics.set_meter_provider(meters)
    loggers = LoggerProvider()
    loggers.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter()))
    set_logger_provider(loggers)
    importlib.import_module(module).OpenAIInstrumentor().instrument()

    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
    chat = client.chat.completions
    messages: Any = [
        {"role": "system", "content": prompt},
        {"role": "user", "content": f"{prompt} {key}"},
    ]
    tool: Any = {"name": "look_up", "description": prompt, "parameters": {}}
    tools: Any = [{"type": "function", "function": tool}]
    chat.create(model="m", messages=messages, max_tokens=8)
    list(chat.create(model="m", messages=messages, max_tokens=8, stream=True))
    chat.create(model="m", messages=messages, max_tokens=8, tools=tools)
    with contextlib.suppress(openai.APIStatusError):
        chat.create(model=f"no-{key}", messages=messages)

    meters.shutdown()
    tracers.shutdown()
    loggers.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
