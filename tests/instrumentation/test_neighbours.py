"""Another GenAI instrumentation on the same call: enriched, never counted twice."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from genai_util import InferenceData, published
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.trace import SpanKind

import otel_specdecode
from otel_specdecode.simulator import named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from telemetry import Telemetry

ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}


@contextmanager
def neighbour(
    telemetry: Telemetry,
    attributes: dict[str, str],
    data: InferenceData | None = None,
) -> Iterator[None]:
    """Do as the other instrumentations do: open a span, and make it the current."""
    tracer = telemetry.tracer_provider.get_tracer("neighbour")
    span = tracer.start_as_current_span(
        "theirs", kind=SpanKind.CLIENT, attributes=attributes
    )
    with span, published(data):
        yield


@pytest.fixture
def client(telemetry: Telemetry) -> Iterator[OpenAI]:
    with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
        made = OpenAI(base_url=sim.base_url, api_key="x")
        yield otel_specdecode.wrap(made, **telemetry.providers)


def stream(client: OpenAI, **more: Any) -> int:
    chunks = client.chat.completions.create(
        model="spec-demo", stream=True, max_tokens=20, **ASK, **more
    )
    return sum(1 for _ in chunks)


def token_sums(telemetry: Telemetry) -> list[float]:
    return [point.sum for point in telemetry.points("gen_ai.client.token.usage")]


def test_its_span_is_enriched_and_there_is_no_second_one(
    telemetry: Telemetry, client: OpenAI
) -> None:
    with neighbour(telemetry, {"gen_ai.operation.name": "chat"}):
        stream(client)
    assert telemetry.span.name == "theirs"
    assert telemetry.attributes["specdecode.num_spec_steps"] == 7
    assert telemetry.attributes["gen_ai.usage.output_tokens"] == 20


@pytest.mark.parametrize(
    "mark",
    [{"openinference.span.kind": "LLM"}, {"llm.request.type": "chat"}],
    ids=["openinference", "openllmetry"],
)
def test_standard_metrics_are_left_to_it(
    telemetry: Telemetry, client: OpenAI, mark: dict[str, str]
) -> None:
    with neighbour(telemetry, mark):
        stream(client, stream_options={"include_usage": True})
    assert telemetry.points("gen_ai.client.operation.duration") == []
    assert token_sums(telemetry) == []
    assert telemetry.total("requests") == 1


def test_usage_that_only_we_saw_is_recorded_where_it_cannot_be_handed_over(
    telemetry: Telemetry, client: OpenAI
) -> None:
    with neighbour(telemetry, {"gen_ai.operation.name": "chat"}):
        stream(client)
    assert sorted(token_sums(telemetry)) == [8, 20]
    assert telemetry.points("gen_ai.client.operation.duration") == []


def test_usage_that_only_we_saw_is_handed_to_those_who_take_it(
    telemetry: Telemetry, client: OpenAI
) -> None:
    data = InferenceData()
    with neighbour(telemetry, {}, data):
        stream(client)
    assert data == InferenceData(usage_input_tokens=8, usage_output_tokens=20)
    assert token_sums(telemetry) == []


def test_usage_that_it_sees_as_well_is_not_handed_over(
    telemetry: Telemetry, client: OpenAI
) -> None:
    data = InferenceData()
    with neighbour(telemetry, {}, data):
        client.chat.completions.create(model="spec-demo", max_tokens=20, **ASK)
    assert data == InferenceData()
    assert token_sums(telemetry) == []


def test_the_span_of_an_agent_around_the_call_is_no_neighbour(
    telemetry: Telemetry, client: OpenAI
) -> None:
    tracer = telemetry.tracer_provider.get_tracer("agent")
    agent = {"gen_ai.operation.name": "invoke_agent"}
    with tracer.start_as_current_span("agent", attributes=agent) as around:
        stream(client)
    inner, outer = telemetry.spans
    assert (outer.name, inner.name) == ("agent", "chat spec-demo")
    assert inner.parent is not None
    assert inner.parent.span_id == around.get_span_context().span_id
    assert trace.get_current_span() is trace.INVALID_SPAN
