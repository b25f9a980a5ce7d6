"""Prompts and keys that another instrumentation sends do not leave the collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from backend import Backend, serving
from collector_programs import wait_until
from opentelemetry.metrics import Observation
from opentelemetry.trace import Status, StatusCode
from traffic import other_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collector_stack import Stack

pytestmark = pytest.mark.e2e

PROMPT = "the planted prompt"
KEYS = (
    "sk-planted0123456789abcdef",
    "sk-proj-planted_0123456789-abcdef",
    "hf_planted0123456789abcdef",
    "Bearer planted-token.0123456789",
)
# Where instrumentations of today put content: OpenTelemetry's own, OpenLLMetry,
# OpenInference, LangSmith, Traceloop and the HTTP ones.
CONTENT = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.prompt",
    "gen_ai.prompt.0.content",
    "gen_ai.completion.0.content",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "llm.input_messages.0.message.content",
    "llm.output_messages.0.message.content",
    "llm.prompts",
    "llm.prompt_template.template",
    "input.value",
    "output.value",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "langsmith.metadata.prompt",
    "http.request.body",
    "http.response.body.text",
)
KEPT = {
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.request.model": "m",
    "specdecode.num_draft_tokens": 12,
    "http.request.method": "POST",
}


@pytest.fixture(scope="module")
def arrived(module_stack: Stack) -> Iterator[Backend]:
    with serving(Backend()) as backend:
        collector = module_stack.collector(
            "export-otlp", env={"SPECDECODE_OTLP_ENDPOINT": backend.url}
        )
        with other_program(collector.url, **{"gen_ai.input.messages": PROMPT}) as (
            tracer,
            meter,
        ):
            for key in KEYS:
                with tracer.start_as_current_span(f"call with {key}") as span:
                    span.set_attributes(KEPT)
                    span.set_attributes(dict.fromkeys(CONTENT, PROMPT))
                    span.set_attribute("http.request.header.authorization", [key])
                    span.set_attribute("api_key", key)
                    span.set_attribute("note", f"used {key} twice: {key}")
                    span.set_attribute("notes", ["fine", f"used {key}"])
                    span.add_event("gen_ai.user.message", {"content": PROMPT})
                    span.add_event("exception", {"exception.message": f"bad {key}"})
                    span.set_status(Status(StatusCode.ERROR, f"bad key {key}"))
            labels = {"gen_ai.prompt": PROMPT, "key": KEYS[0], "model": "m"}
            meter.create_observable_counter(
                "other.calls", callbacks=[lambda _: [Observation(1, labels)]]
            )
            meter.create_histogram("other.duration").record(1.0, labels)
        wait_until(
            "spans and metrics at the backend",
            lambda: len(backend.spans()) == len(KEYS) and backend.metrics(),
        )
        yield backend


def test_no_prompt_leaves(arrived: Backend) -> None:
    assert not [path for path, body in arrived.bodies if PROMPT.encode() in body]


@pytest.mark.parametrize("key", KEYS)
def test_no_key_leaves(key: str, arrived: Backend) -> None:
    assert not [path for path, body in arrived.bodies if key.encode() in body]


def test_the_rest_of_a_span_arrives(arrived: Backend) -> None:
    for span in arrived.spans():
        names = {one.key for one in span.attributes}
        assert names >= KEPT.keys()
        assert not names & set(CONTENT)
        assert span.name == "call with ****"


def test_the_text_round_a_key_stays_readable(arrived: Backend) -> None:
    texts = {
        one.value.string_value
        for span in arrived.spans()
        for one in span.attributes
        if one.key.startswith("note")
    }
    assert texts == {"used **** twice: ****", "fine", "used ****"}


def test_the_labels_of_a_metric_are_cleaned_too(arrived: Backend) -> None:
    points = [
        point
        for metric in arrived.metrics()
        for point in (*metric.sum.data_points, *metric.histogram.data_points)
    ]
    labels = [
        {one.key: one.value.string_value for one in point.attributes}
        for point in points
    ]
    assert labels == [{"key": "****", "model": "m"}] * len(points)
    assert points


def test_probes_of_load_balancers_are_dropped_and_requests_are_not(
    stack: Stack,
) -> None:
    with serving(Backend()) as backend:
        collector = stack.collector(
            "export-otlp", env={"SPECDECODE_OTLP_ENDPOINT": backend.url}
        )
        with other_program(collector.url) as (tracer, _):
            for path in ("/health", "/metrics", "/ping", "/v1/chat/completions"):
                for key in ("url.path", "http.target"):
                    with tracer.start_as_current_span(path, attributes={key: path}):
                        pass
        wait_until("the requests", lambda: len(backend.spans()) >= 2)
        names = [span.name for span in backend.spans()]
    assert names == ["/v1/chat/completions"] * 2
