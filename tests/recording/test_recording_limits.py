"""Attribute sets without end, and processes that fork."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_streams import record
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.trace import INVALID_SPAN
from recorded_requests import Recording, full_stream

from otel_specdecode.recording import StandardMetrics, semconv
from otel_specdecode.recording import metering as metering_module

OVERFLOW = {"otel.metric.overflow": True}


@pytest.fixture(scope="module")
def overflown() -> Recording:
    """Requests of 2,100 models, of which the last 101 are too many."""
    recording = Recording()
    for number in [*range(2_100), 0, 2_099]:
        request = record(num_output_tokens=7, request_model=f"model-{number}")
        recording.recorder.finish(
            request, INVALID_SPAN, standard=StandardMetrics.NONE, end_time_ns=None
        )
    return recording


def test_at_most_two_thousand_attribute_sets_and_no_request_is_lost(
    overflown: Recording,
) -> None:
    sums = overflown.values("specdecode.client.requests")
    assert len(sums) == 2_000
    assert [value for attributes, value in sums if attributes == OVERFLOW] == [102]
    assert sum(value for _, value in sums) == 2_102
    assert overflown.telemetry.total("output_tokens") == 7 * 2_102


def test_histograms_overflow_as_the_sums_do(overflown: Recording) -> None:
    rates = overflown.telemetry.points("specdecode.client.output_token_rate")
    assert len(rates) == 2_000
    assert sum(point.count for point in rates) == 2_102
    beyond = [point for point in rates if dict(point.attributes) == OVERFLOW]
    assert [point.count for point in beyond] == [102]


def test_known_attribute_sets_go_on_being_counted_after_an_overflow(
    overflown: Recording,
) -> None:
    counts = {
        attributes.get("gen_ai.request.model"): value
        for attributes, value in overflown.values("specdecode.client.output_tokens")
    }
    assert (counts["model-0"], counts["model-1"]) == (14, 7)
    assert "model-2099" not in counts


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), max_size=12))
def test_sums_are_those_of_the_requests_in_any_order(
    requests: list[tuple[int, int]],
) -> None:
    recording = Recording()
    for model, num_output_tokens in requests:
        recording.add(
            full_stream(
                request_model=f"model-{model}", num_output_tokens=num_output_tokens
            )
        )
    expected: dict[str, int] = {}
    for model, num_output_tokens in requests:
        name = f"model-{model}"
        expected[name] = expected.get(name, 0) + num_output_tokens
    sums = recording.metering.read(semconv.OUTPUT_TOKEN_COUNT)
    assert {a["gen_ai.request.model"]: value for value, a in sums} == expected


def test_after_a_restart_the_sums_are_those_since() -> None:
    recording = Recording()
    recording.add(full_stream(), full_stream())
    recording.metering.restart()
    assert recording.metering.read(semconv.OUTPUT_TOKEN_COUNT) == []
    recording.add(full_stream())
    ((value, _),) = recording.metering.read(semconv.OUTPUT_TOKEN_COUNT)
    assert value == 7


def test_a_restarted_recorder_records_into_the_provider_that_it_is_given() -> None:
    recording = Recording()
    recording.add(full_stream())
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    made: list[MeterProvider] = []

    def renew() -> MeterProvider:
        made.append(provider)
        return provider

    recording.metering.renew = renew
    recording.metering.restart()
    assert made == []  # most children never make a request
    recording.add(full_stream(), full_stream())
    assert made == [provider]
    # A stream of the parent's that ends in the child is recorded there as well.
    span = recording.recorder.start_span("chat asked", {})
    recording.metering.restart()
    recording.recorder.finish(
        full_stream(), span, standard=StandardMetrics.ALL, end_time_ns=1
    )
    assert made == [provider, provider]
    data = reader.get_metrics_data()
    assert data is not None
    names = {
        metric.name
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert "specdecode.client.time_to_first_token" in names


def test_every_recorder_of_a_forked_child_starts_at_zero() -> None:
    """What the interpreter calls in a child, called in place."""
    recordings = [Recording(), Recording()]
    for recording in recordings:
        recording.add(full_stream())
    metering_module._restart_all()
    for recording in recordings:
        assert recording.metering.read(semconv.REQUESTS) == []


FORKING = """
    import os, sys
    from recorded_requests import Recording, full_stream
    from otel_specdecode.recording import semconv

    recording = Recording()

    def tokens():
        return sum(v for v, _ in recording.metering.read(semconv.OUTPUT_TOKEN_COUNT))

    recording.add(full_stream(), full_stream())
    # As if another thread of the parent were adding at this very moment.
    recording.metering.sums.lock.acquire()
    child = os.fork()
    if child == 0:
        assert tokens() == 0
        recording.add(full_stream())
        os._exit(tokens())
    recording.metering.sums.lock.release()
    _, status = os.waitpid(child, 0)
    print("child", os.waitstatus_to_exitcode(status), "parent", tokens())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_starts_at_zero_even_when_a_sum_was_locked() -> None:
    here = Path(__file__).resolve().parent
    tests = here.parent
    paths = [here, tests / "model", tests / "instrumentation", tests.parent]
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORKING)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "child 7 parent 14\n", "")


def test_one_exemplar_leads_from_each_thing_measured_to_the_trace() -> None:
    recording = Recording()
    recording.add(full_stream())
    with_exemplars = {
        metric.name
        for metric in recording.telemetry.metrics()
        for point in metric.data.data_points
        if getattr(point, "exemplars", ())
    }
    assert with_exemplars == {
        "specdecode.client.draft_acceptance_rate",
        "specdecode.client.time_per_output_token",
        "specdecode.client.time_to_first_token",
        "specdecode.client.chunk_gap_max",
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
    }
