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
    from collections.abc import Iterable, Iterator

    from collector_stack import Stack
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

pytestmark = pytest.mark.e2e

PROMPT = "the planted prompt"
KEYS = (
    "sk-planted0123456789abcdef",
    "sk-proj-planted_0123456789-abcdef",
    "hf_planted0123456789abcdef",
    "Bearer planted-token.0123456789",
    "gsk_planted0123456789abcdef",
    "ghp_planted0123456789abcdefghijklmnop",
    "xoxb-0123456789-planted0123",
    "nvapi-planted_0123456789-abcdef",
    "AIzaPlanted0123456789-abcdefghijklmnopq",
    "AKIAPLANTED012345678",
)
# Of no known shape: names and places tell what it is.
SECRET = "planted0secret"
SECRET_NAMES = (
    "openai.api_key",
    "api_key",
    "OPENAI_API_KEY",
    "azure.apiKey",
    "litellm.params.api-key",
    "gen_ai.request.apikey",
    "aws.secret_access_key",
    "client_secret",
    "db.password",
    "user.passwd",
    "http.request.header.authorization",
    "http.request.header.x-auth-token",
    "http.response.header.set-cookie",
    "access_token",
    "token",
    # Among names that are known and passed over, and not one of them.
    "gen_ai.usage.api_key",
    "specdecode.tag.client_secret",
)
MASKED = dict.fromkeys(SECRET_NAMES, "****")
CLEANED_TEXTS = {
    "url.full": (
        f"https://h/v1/m?alt=sse&key={SECRET}&n=1",
        "https://h/v1/m?alt=sse****&n=1",
    ),
    "http.url": (f"https://h/v1?api_key={SECRET}#end", "https://h/v1****#end"),
    "http.target": (f"/v1?x-amz-signature={SECRET}", "/v1****"),
    "url.query": (f"sig={SECRET}&token={SECRET}&n=1", "****&n=1"),
    "proxy": (f"http://user:{SECRET}@h:8000/v1", "http****h:8000/v1"),
    "llm.invocation_parameters": (
        f'{{"n": 1, "openai_api_key": "{SECRET}", "model": "m"}}',
        '{"n": 1, ****, "model": "m"}',
    ),
    "litellm.kwargs": (
        f"{{'n': 1, 'client_secret': '{SECRET}', 'model': 'm'}}",
        "{'n': 1, ****, 'model': 'm'}",
    ),
    # An underscore belongs to words, and a key begins behind it all the same.
    "cache.id": ("team_sk-planted0123456789abcdef", "team****"),
    "page": ("https://h/v1?page=2&max_tokens=7", "https://h/v1?page=2&max_tokens=7"),
}
# Where instrumentations of today put content: OpenTelemetry's own, OpenLLMetry,
# OpenInference, LangSmith, Traceloop and the HTTP ones.
CONTENT = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.prompt",
    "gen_ai.prompt.0.content",
    "gen_ai.completion.0.content",
    "gen_ai.content.completion.chunk",
    "gen_ai.evaluation.explanation",
    "gen_ai.headers",
    "gen_ai.retrieval.documents",
    "gen_ai.retrieval.query.text",
    "gen_ai.request.structured_output_schema",
    "gen_ai.task.input",
    "gen_ai.task.output",
    "gen_ai.tool.definitions",
    "gen_ai.tool.description",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "llm.input_messages.0.message.content",
    "llm.output_messages.0.message.content",
    "llm.choices.0.completion.text",
    "llm.content.completion.chunk",
    "llm.function_call",
    "llm.headers",
    "llm.prompts.0.prompt.text",
    "llm.prompt_template.variables",
    "llm.request.functions.0.description",
    "llm.tools.0.tool.json_schema",
    "input.value",
    "output.value",
    "embedding.embeddings.0.embedding.text",
    "mcp.request.argument",
    "mcp.response.value",
    "reranker.query",
    "retrieval.documents.0.document.content",
    "tool.parameters",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "traceloop.prompt.template_variables",
    "langsmith.metadata.prompt",
    "http.request.body",
    "http.response.body.text",
)
KEPT = {
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.request.model": "m",
    "specdecode.num_draft_tokens": 12,
    "http.request.method": "POST",
    "http.request.body.size": 77,
    "llm.token_count.prompt": 7,
    "traceloop.entity.name": "step",
    "gen_ai.token.type": "output",
    "specdecode.num_draft_tokens_per_step": 4,
    "next.page_token_count": 3,
    "specdecode.time_to_first_token": 0.25,
    "messaging.message.key": "m-7",
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
                    span.set_attributes(dict.fromkeys(SECRET_NAMES, SECRET))
                    span.set_attributes(
                        {k: text for k, (text, _) in CLEANED_TEXTS.items()}
                    )
                    span.set_attribute("note", f"used {key} twice: {key}")
                    span.set_attribute("notes", ["fine", f"used {key}"])
                    span.add_event("gen_ai.user.message", {"content": PROMPT})
                    span.add_event(f"used {key}", {"notes": ["fine", f"used {key}"]})
                    refusal = f"bad key {key}: {{'msg': 'no', 'input': '{PROMPT}'}}"
                    for part in ("message", "stacktrace"):
                        span.add_event("exception", {f"exception.{part}": refusal})
                    span.set_status(Status(StatusCode.ERROR, refusal))
                    span.add_event("asked", dict.fromkeys(SECRET_NAMES, SECRET))
            labels = {
                "gen_ai.prompt": PROMPT,
                "key": KEYS[0],
                "model": "m",
                "openai.api_key": SECRET,
            }
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
    assert arrived.holding(PROMPT) == []


@pytest.mark.parametrize("key", KEYS)
def test_no_key_leaves(key: str, arrived: Backend) -> None:
    assert arrived.holding(key) == []


def test_no_secret_leaves_whatever_its_shape(arrived: Backend) -> None:
    assert arrived.holding(SECRET) == []


def test_an_address_loses_its_secrets_alone(arrived: Backend) -> None:
    cleaned = {key: after for key, (_, after) in CLEANED_TEXTS.items()}
    for span in arrived.spans():
        found = texts(span.attributes)
        assert {key: found[key] for key in cleaned} == cleaned


def test_the_rest_of_a_span_arrives(arrived: Backend) -> None:
    for span in arrived.spans():
        found = {one.key for one in span.attributes}
        assert found >= KEPT.keys()
        assert not found & {*CONTENT}
        assert span.name == "call with ****"


def test_a_secrets_name_is_all_that_is_left_of_it(arrived: Backend) -> None:
    for span in arrived.spans():
        found = texts(span.attributes)
        assert {name: found[name] for name in SECRET_NAMES} == MASKED


def texts(attributes: Iterable[KeyValue]) -> dict[str, str]:
    return {one.key: one.value.string_value for one in attributes}


def test_the_text_round_a_key_stays_readable(arrived: Backend) -> None:
    notes = [
        {key: text for key, text in texts(span.attributes).items() if "note" in key}
        for span in arrived.spans()
    ]
    cleaned = {"note": "used **** twice: ****", "notes": '["fine","used ****"]'}
    assert notes == [cleaned] * len(KEYS)


def test_an_error_is_told_without_the_input_that_a_server_printed(
    arrived: Backend,
) -> None:
    told = "bad key ****: {'msg': 'no', 'input':****"
    for span in arrived.spans():
        assert span.status.message == told
        events = [(event.name, texts(event.attributes)) for event in span.events]
        assert events == [
            ("gen_ai.user.message", {}),
            ("used ****", {"notes": '["fine","used ****"]'}),
            ("exception", {"exception.message": told}),
            ("exception", {"exception.stacktrace": told}),
            ("asked", MASKED),
        ]


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
    cleaned = {"key": "****", "model": "m", "openai.api_key": "****"}
    assert labels == [cleaned] * len(points)
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
