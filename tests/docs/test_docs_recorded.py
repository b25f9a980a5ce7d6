"""What really goes out carries no name that the documents do not know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest
from documents import DOCS, rows
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
    InMemorySpanExporter,
)

import otel_specdecode
from otel_specdecode.simulator import named_profile, simulate

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

PAGE = DOCS / "metrics.md"
ALWAYS, SOMETIMES = "gen_ai.operation.name", "specdecode.outcome"


@pytest.fixture(scope="module")
def recorded() -> tuple[list[ReadableSpan], list[Any]]:
    """Spans and metrics of one request of each kind."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
    profile = replace(named_profile("mtp"), time_scale=0, timing_fields=True)
    with simulate(profile) as sim:
        client = otel_specdecode.wrap(
            openai.OpenAI(base_url=sim.base_url, api_key="unused", max_retries=0),
            tracer_provider=tracer_provider,
            meter_provider=MeterProvider(metric_readers=[reader]),
            time_per_output_chunk=True,
        )
        ask: dict[str, Any] = {
            "model": sim.model,
            "messages": [{"role": "user", "content": "Hello"}],
            "temperature": 0.5,
        }
        with otel_specdecode.tag(key="word"):
            list(client.chat.completions.create(**ask, stream=True))
        client.completions.create(model=sim.model, prompt="Hello", n=2, seed=1)
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(**{**ask, "model": "none"})
    data = reader.get_metrics_data()
    assert data is not None
    metrics = [
        metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    ]
    return list(exporter.get_finished_spans()), metrics


def documented(heading: str) -> set[str]:
    return {
        name.replace("<key>", "key")
        for row in rows(PAGE)
        if row.heading == heading
        for name in row.names
    }


def test_every_attribute_of_a_span_is_documented(
    recorded: tuple[list[ReadableSpan], list[Any]],
) -> None:
    spans, _ = recorded
    sent = {name for span in spans for name in span.attributes or {}}
    assert len(sent) > 40
    assert sent <= documented("Span")


def test_every_metric_and_its_attributes_are_documented(
    recorded: tuple[list[ReadableSpan], list[Any]],
) -> None:
    _, metrics = recorded
    known = (
        documented("Counters")
        | documented("Histograms")
        | documented("Standard GenAI metrics")
    )
    assert {metric.name for metric in metrics} <= known
    sent = {
        name
        for metric in metrics
        for point in metric.data.data_points
        for name in point.attributes
    }
    of_every, of_some = "Attributes of every metric", "Attributes of some metrics"
    assert sent <= documented(of_every) | documented(of_some)


def test_each_metric_carries_the_attributes_that_the_page_says(
    recorded: tuple[list[ReadableSpan], list[Any]],
) -> None:
    _, metrics = recorded
    of_every_request = documented("Attributes of every metric")
    ours_alone = {"specdecode.engine", "specdecode.streaming"}
    known_at_the_end = {"gen_ai.response.model", "error.type"}
    for metric in metrics:
        expected = of_every_request
        if metric.name.startswith("gen_ai."):
            expected = expected - ours_alone
        if metric.name.endswith(".time_per_output_chunk"):
            expected = expected - known_at_the_end
        sent = {name for point in metric.data.data_points for name in point.attributes}
        # Where no request failed, or no failed one has a value, there is no type.
        assert sent & of_every_request | {"error.type"} == expected | {"error.type"}


def test_every_histogram_records_what_the_page_says_it_needs(
    recorded: tuple[list[ReadableSpan], list[Any]],
) -> None:
    _, metrics = recorded
    sent = {metric.name for metric in metrics if metric.data.data_points}
    assert documented("Histograms") <= sent
