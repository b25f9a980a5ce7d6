"""Prompts and keys beside spans and series: in exemplars, in links and in logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import requests
from backend import Backend, serving
from collector_programs import wait_until
from opentelemetry._logs import LogRecord
from opentelemetry.sdk.metrics.view import View
from opentelemetry.trace import Link
from traffic import other_program, send_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collector_stack import Stack

pytestmark = pytest.mark.e2e

PROMPT = "the planted prompt"
KEY = "sk-planted0123456789abcdef"
SECRET = "planted0secret"  # of no known shape


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving(Backend()) as backend:
        yield backend


def test_an_exemplar_keeps_its_trace_and_none_of_its_attributes(
    stack: Stack, backend: Backend
) -> None:
    env = {"SPECDECODE_OTLP_ENDPOINT": backend.url}
    collector = stack.collector("export-otlp", env=env)
    # A view that keeps one attribute leaves the others on the exemplars.
    view = View(instrument_name="other.duration", attribute_keys={"model"})
    with other_program(collector.url, view) as (tracer, meter):
        histogram = meter.create_histogram("other.duration")
        with tracer.start_as_current_span("call") as span:
            histogram.record(1.0, {"model": "m", "gen_ai.prompt": PROMPT, "k": KEY})
        trace_id = span.get_span_context().trace_id.to_bytes(16)
    wait_until("the metric", backend.metrics)
    exemplars = [
        (exemplar.trace_id, list(exemplar.filtered_attributes))
        for metric in backend.metrics()
        for point in metric.histogram.data_points
        for exemplar in point.exemplars
    ]
    assert exemplars == [(trace_id, [])]
    assert backend.holding(PROMPT) + backend.holding(KEY) == []


@pytest.mark.parametrize(
    ("choice", "links", "dropped"),
    [({}, 0, 1), ({"SPECDECODE_SPAN_LINKS": "keep"}, 1, 0)],
    ids=["by-default", "kept"],
)
def test_links_go_as_a_whole_and_are_counted_unless_asked_for(
    choice: dict[str, str], links: int, dropped: int, stack: Stack, backend: Backend
) -> None:
    env = {"SPECDECODE_OTLP_ENDPOINT": backend.url, **choice}
    collector = stack.collector("export-otlp", env=env)
    with other_program(collector.url) as (tracer, _):
        with tracer.start_as_current_span("other") as other:
            link = Link(other.get_span_context(), {"note": f"{PROMPT} {KEY}"})
        tracer.start_span("linked", links=[link]).end()
    wait_until("both spans", lambda: len(backend.spans()) == 2)
    span = backend.spans()[1]
    assert (len(span.links), span.dropped_links_count) == (links, dropped)
    assert bool(backend.holding(KEY) + backend.holding(PROMPT)) == bool(links)


GENAI_EVENTS = (
    # As attributes, which is how it is done today; and as the body, as it was.
    LogRecord(
        event_name="gen_ai.client.inference.operation.details",
        attributes={
            "gen_ai.input.messages": [{"role": "user", "parts": [{"content": PROMPT}]}],
            "gen_ai.system_instructions": PROMPT,
            "gen_ai.request.model": "m",
        },
    ),
    LogRecord(
        attributes={"event.name": "gen_ai.user.message"},
        body={"role": "user", "content": PROMPT},
    ),
    LogRecord(
        event_name="gen_ai.choice",
        body={"message": {"content": PROMPT}, "finish_reason": "stop"},
    ),
)


def test_events_arrive_without_what_was_said(stack: Stack, backend: Backend) -> None:
    env = {"SPECDECODE_LOGS_ENDPOINT": backend.url}
    collector = stack.collector("export-logs", env=env)
    send_logs(collector.url, "other.instrumentation", *GENAI_EVENTS)
    wait_until("the events", lambda: len(backend.logs()) == len(GENAI_EVENTS))
    assert backend.holding(PROMPT) == []
    first, second, third = backend.logs()
    assert [one.key for one in first.attributes] == ["gen_ai.request.model"]
    assert first.event_name == "gen_ai.client.inference.operation.details"
    assert (second.body.string_value, third.body.string_value) == ("", "")
    assert third.event_name == "gen_ai.choice"


def test_other_logs_keep_their_text_and_lose_keys(
    stack: Stack, backend: Backend
) -> None:
    env = {"SPECDECODE_LOGS_ENDPOINT": backend.url}
    collector = stack.collector("export-logs", env=env)
    nested = {"why": [f"used {KEY}"], "prompt": PROMPT, "api_key": SECRET}
    send_logs(
        collector.url,
        "application",
        LogRecord(body=f"refused {KEY}", attributes={"tried": ["a", KEY], "n": 7}),
        LogRecord(body=nested, attributes={"db.password": SECRET}),
    )
    wait_until("the logs", lambda: len(backend.logs()) == 2)
    assert [backend.holding(one) for one in (PROMPT, KEY, SECRET)] == [[], [], []]
    plain, structured = backend.logs()
    assert plain.body.string_value == "refused ****"
    attributes = {one.key: one.value for one in plain.attributes}
    assert attributes["tried"].string_value == '["a","****"]'
    assert attributes["n"].int_value == 7
    body = {one.key: one.value for one in structured.body.kvlist_value.values}
    assert body["why"].array_value.values[0].string_value == "used ****"
    assert body["api_key"].string_value == "****"
    assert "prompt" not in body
    (password,) = structured.attributes
    assert password.value.string_value == "****"


def test_a_secrets_name_counts_inside_of_texts_maps_and_lists(
    stack: Stack, backend: Backend
) -> None:
    env = {"SPECDECODE_LOGS_ENDPOINT": backend.url}
    collector = stack.collector("export-logs", env=env)
    call = {"n": 1, "api_key": SECRET}
    attributes = {"call": {"with": call}, "calls": [call], "text": json.dumps(call)}
    record = LogRecord(
        body=json.dumps({"call": json.dumps(call)}), attributes=attributes
    )
    send_logs(collector.url, "application", record)
    wait_until("the log", backend.logs)
    assert backend.holding(SECRET) == []
    (log,) = backend.logs()
    told = {one.key: one.value.string_value for one in log.attributes}
    assert told == {
        "call": '{"with":{****,"n":1}}',
        "calls": '[{****,"n":1}]',
        "text": '{"n": 1, ****}',
    }


def test_what_a_client_logs_of_its_requests_arrives_without_its_text(
    stack: Stack, backend: Backend
) -> None:
    env = {"SPECDECODE_LOGS_ENDPOINT": backend.url}
    collector = stack.collector("export-logs", env=env)
    loggers = ("openai._base_client", "vllm.entrypoints.logger", "LiteLLM")
    for logger in loggers:
        send_logs(collector.url, logger, LogRecord(body=f"Request: {PROMPT}"))
    wait_until("the logs", lambda: len(backend.logs()) == len(loggers))
    assert backend.holding(PROMPT) == []


def test_without_that_overlay_logs_are_refused(stack: Stack, backend: Backend) -> None:
    env = {"SPECDECODE_OTLP_ENDPOINT": backend.url}
    collector = stack.collector("export-otlp", env=env)
    answer = requests.post(f"{collector.url}/v1/logs", json={}, timeout=10)
    assert answer.status_code == 404
