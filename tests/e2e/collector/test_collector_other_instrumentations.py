"""Real instrumentations of other vendors, told to record content, beside the bundle.

Each is sent to a backend twice: once past the collector, which shows that it does send
prompts and keys, and once through it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import matrix
import pytest
from backend import Backend, serving
from collector_programs import wait_until

from otel_specdecode.simulator import Profile, simulate

if TYPE_CHECKING:
    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PROGRAM = Path(__file__).with_name("other_instrumentation.py")
PROMPT = "the planted prompt"
KEY = "sk-planted0123456789abcdef"
ENVIRONMENT = matrix.Corner(
    name="other-instrumentations",
    requirements=(
        "openai==3.57.0",
        "opentelemetry-sdk==1.45.2",
        "opentelemetry-exporter-otlp-proto-http==1.45.2",
        "opentelemetry-instrumentation-genai-openai==1.3b0",
        "opentelemetry-instrumentation-openai==0.62.4",
        "openinference-instrumentation-openai==0.1.66",
    ),
)
MODULES = {
    "opentelemetry": "opentelemetry.instrumentation.genai.openai",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "openinference": "openinference.instrumentation.openai",
}
WITH_CONTENT = {
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT",
    "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true",
    "TRACELOOP_TRACE_CONTENT": "true",
}


def run(module: str, otlp_url: str) -> None:
    with simulate(Profile(model="m", time_scale=0.0)) as server:
        python = str(matrix.python_of(ENVIRONMENT))
        env = {**os.environ, **WITH_CONTENT, "OTEL_EXPORTER_OTLP_ENDPOINT": otlp_url}
        command = (python, str(PROGRAM), module, server.base_url, PROMPT, KEY)
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("name", MODULES)
def test_what_it_records_of_a_conversation_stays_behind(
    name: str, stack: Stack
) -> None:
    with serving(Backend()) as past, serving(Backend()) as behind:
        run(MODULES[name], past.url)
        env = {
            "SPECDECODE_OTLP_ENDPOINT": behind.url,
            "SPECDECODE_LOGS_ENDPOINT": behind.url,
        }
        collector = stack.collector("export-otlp", "export-logs", env=env)
        run(MODULES[name], collector.url)
        wait_until("the spans", lambda: len(behind.spans()) == len(past.spans()))
        wait_until("the events", lambda: len(behind.logs()) == len(past.logs()))
    assert past.holding(PROMPT)
    assert past.holding(KEY)
    assert behind.holding(PROMPT) == []
    assert behind.holding(KEY) == []


def test_the_official_ones_events_are_among_what_is_tried() -> None:
    with serving(Backend()) as past:
        run(MODULES["opentelemetry"], past.url)
    assert "/v1/logs" in past.holding(PROMPT)
    assert "/v1/traces" in past.holding(PROMPT)
