"""What really goes out carries no name that the documents do not know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest
from documents import DOCS, rows
from telemetry import Telemetry

import otel_specdecode
from otel_specdecode.simulator import named_profile, simulate

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

PAGE = DOCS / "metrics.md"


@pytest.fixture(scope="module")
def recorded() -> tuple[list[ReadableSpan], list[Any]]:
    """Spans and metrics of one request of each kind."""
    telemetry = Telemetry()
    profile = replace(named_profile("mtp"), time_scale=0, timing_fields=True)
    with simulate(profile) as sim:
        client = otel_specdecode.wrap(
            openai.OpenAI(base_url=sim.base_url, api_key="unused", max_retries=0),
            **telemetry.providers,
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
    return telemetry.spans, telemetry.metrics()


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
        told_of_failures = {"error.type"}
        assert (sent & of_every_request) | told_of_failures == (
            expected | told_of_failures
        )


def test_every_histogram_records_what_the_page_says_it_needs(
    recorded: tuple[list[ReadableSpan], list[Any]],
) -> None:
    _, metrics = recorded
    assert documented("Histograms") <= {metric.name for metric in metrics}
