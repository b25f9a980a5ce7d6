"""Finished requests as spans and metrics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot
from opentelemetry.sdk.metrics.export import Histogram
from opentelemetry.trace import INVALID_SPAN, SpanKind, StatusCode
from recorded_requests import (
    ACCEPTANCE,
    UNKNOWN,
    Recording,
    full_stream,
    not_present,
)

from otel_specdecode.model import (
    Acceptance,
    AcceptanceState,
    ChunkCountSite,
    Outcome,
    Usage,
    UsageOrigin,
)
from otel_specdecode.recording import GenAINames, StandardMetrics, semconv

SITE = ChunkCountSite(rule="SPD001", path="bench.py", line=7, function="measure")
METRICS = (*semconv.COUNTERS, *semconv.HISTOGRAMS)


@pytest.fixture
def recording() -> Recording:
    return Recording()


def test_every_instrument_is_emitted_by_some_request(recording: Recording) -> None:
    """Also the standard ones, each under its own name."""
    recorder = recording.recorder
    recording.add(full_stream(chunk_count_site=SITE))
    recorder.count_site(SITE)
    recorder.count_dropped("failed")
    recorder.record_chunk_gap(0.5, {}, recorder.start_span("chat asked", {}))
    genai = semconv.genai_metrics(GenAINames.PUBLISHED)
    standard = {
        genai.duration.name,
        genai.time_to_first_chunk.name,
        genai.time_per_output_chunk.name,
        genai.input_tokens.name,
        genai.output_tokens.name,
    }
    assert recording.metric_names == standard | {metric.name for metric in METRICS}


def test_an_instrument_goes_out_as_it_is_described(recording: Recording) -> None:
    recording.add(full_stream())
    described = {metric.name: metric for metric in METRICS}
    for emitted in recording.telemetry.metrics():
        metric = described.get(emitted.name)
        if metric is None:
            continue
        assert (emitted.unit, emitted.description) == (metric.unit, metric.description)
        if isinstance(emitted.data, Histogram):
            (point,) = emitted.data.data_points
            assert tuple(point.explicit_bounds) == metric.buckets
        else:
            assert metric.buckets is None
            assert emitted.data.is_monotonic


def test_names_are_ours_and_each_stands_once() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("specdecode.client.") for name in names)
    for metric in semconv.HISTOGRAMS:
        assert metric.buckets is not None
        assert list(metric.buckets) == sorted(set(metric.buckets))
    assert all(metric.buckets is None for metric in semconv.COUNTERS)


def test_a_request_of_which_all_is_known_is_recorded_whole(
    recording: Recording,
) -> None:
    recording.add(full_stream(chunk_count_site=SITE))
    span = recording.telemetry.span
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    assert span.end_time == 10**18
    assert dict(span.attributes or {}) == snapshot(
        {
            "gen_ai.response.model": "answered",
            "gen_ai.response.id": "chatcmpl-1",
            "gen_ai.response.finish_reasons": ("stop",),
            "specdecode.outcome": "completed",
            "specdecode.usage": "forced",
            "specdecode.acceptance": "present",
            "specdecode.engine": "vllm",
            "specdecode.streaming": True,
            "specdecode.retries": 0,
            "specdecode.chunk_count_rule": "SPD001",
            "gen_ai.usage.input_tokens": 5,
            "gen_ai.usage.output_tokens": 7,
            "specdecode.num_spec_tokens": 3,
            "specdecode.num_spec_steps": 2,
            "specdecode.num_draft_tokens": 5,
            "specdecode.num_accepted_draft_tokens": 4,
            "specdecode.draft_acceptance_rate": 0.8,
            "specdecode.mean_acceptance_length": 3.0,
            "specdecode.acceptance_histogram": (0, 0, 2),
            "specdecode.decode_steps_min": 2,
            "specdecode.decode_steps_max": 5,
            "specdecode.tokens_per_step_min": 1.2,
            "specdecode.tokens_per_step_max": 3.0,
            "specdecode.num_chunks": 5,
            "specdecode.num_content_chunks": 3,
            "specdecode.undercount_factor": 2.3333333333333335,
            "specdecode.chunking": "speculation",
            "specdecode.time_to_first_chunk": 0.25,
            "specdecode.time_to_first_token": 0.5,
            "specdecode.time_per_output_token": 0.25,
            "specdecode.first_chunk": "counted",
            "specdecode.chunk_gap_mean": 0.75,
            "specdecode.chunk_gap_max": 1.0,
            "specdecode.consumer_share": 0.2,
            "specdecode.server_queue_time": 0.25,
            "specdecode.server_prefill_time": 0.25,
            "specdecode.server_decode_time": 1.5,
            "specdecode.tag.task": "code",
        }
    )
    assert [(event.name, dict(event.attributes or {})) for event in span.events] == (
        snapshot(
            [
                (
                    "specdecode.chunk_count",
                    {
                        "specdecode.rule": "SPD001",
                        "code.file.path": "bench.py",
                        "code.line.number": 7,
                        "code.function.name": "measure",
                        "specdecode.undercount_factor": 2.3333333333333335,
                    },
                )
            ]
        )
    )


def test_a_site_whose_factor_is_unknown_says_where_and_no_more(
    recording: Recording,
) -> None:
    recording.add(full_stream(chunk_count_site=SITE, usage=None))
    (event,) = recording.telemetry.span.events
    assert "specdecode.undercount_factor" not in (event.attributes or {})


def test_the_counters_of_a_request_are_its_counts(recording: Recording) -> None:
    recording.add(full_stream(), full_stream())
    sums = {
        metric.name.removeprefix("specdecode.client."): [
            (value, {k: v for k, v in attributes.items() if k.startswith("specdecode")})
            for attributes, value in recording.values(metric.name)
        ]
        for metric in semconv.COUNTERS
    }
    assert sums == snapshot(
        {
            "requests": [
                (
                    2,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                        "specdecode.outcome": "completed",
                        "specdecode.usage": "forced",
                        "specdecode.acceptance": "present",
                    },
                )
            ],
            "output_tokens": [
                (
                    14,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                        "specdecode.acceptance": "present",
                    },
                )
            ],
            "content_chunks": [
                (
                    6,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                        "specdecode.acceptance": "present",
                    },
                )
            ],
            "spec_steps": [
                (
                    4,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                    },
                )
            ],
            "draft_tokens": [
                (
                    10,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                    },
                )
            ],
            "accepted_tokens": [
                (
                    8,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                    },
                )
            ],
            "accepted_tokens_by_position": [
                (
                    4,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                        "specdecode.position": 0,
                    },
                ),
                (
                    4,
                    {
                        "specdecode.engine": "vllm",
                        "specdecode.streaming": True,
                        "specdecode.tag.task": "code",
                        "specdecode.position": 1,
                    },
                ),
            ],
            "chunk_count_sites": [],
            "telemetry_dropped": [],
        }
    )


def test_a_request_of_which_nothing_is_known_has_no_value(
    recording: Recording,
) -> None:
    recording.add(UNKNOWN)
    assert recording.metric_names == {
        "specdecode.client.requests",
        "gen_ai.client.operation.duration",
    }
    assert recording.telemetry.attributes == {
        "specdecode.outcome": "completed",
        "specdecode.usage": "absent",
        "specdecode.acceptance": "absent",
        "specdecode.streaming": False,
    }


def test_a_request_that_drafted_nothing_is_no_rate_of_zero(
    recording: Recording,
) -> None:
    nothing = Acceptance(
        num_spec_steps=0,
        num_draft_tokens=0,
        num_accepted_draft_tokens=0,
        histogram=(0, 0, 0),
        num_spec_tokens=2,
    )
    recording.add(full_stream(acceptance=nothing))
    assert recording.telemetry.total("draft_tokens") == 0
    assert "specdecode.client.draft_acceptance_rate" not in recording.metric_names
    assert "specdecode.client.mean_acceptance_length" not in recording.metric_names


@pytest.mark.parametrize(
    "state",
    [
        AcceptanceState.ABSENT,
        AcceptanceState.MALFORMED,
        AcceptanceState.NOT_APPLICABLE,
    ],
)
def test_a_request_without_acceptance_says_why(
    recording: Recording, state: AcceptanceState
) -> None:
    recording.add(not_present(state))
    assert recording.telemetry.requests() == [("completed", "forced", state.value)]
    assert recording.telemetry.attributes["specdecode.acceptance_reason"] == "why"
    assert "specdecode.client.spec_steps" not in recording.metric_names
    assert "specdecode.num_spec_steps" not in recording.telemetry.attributes


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_an_error_has_a_status_and_its_type_is_all_it_says(
    recording: Recording, outcome: Outcome
) -> None:
    error_type = "openai.APIError" if outcome is Outcome.ERROR else None
    recording.add(full_stream(outcome=outcome, error_type=error_type))
    span = recording.telemetry.span
    failed = outcome is Outcome.ERROR
    assert span.status.is_ok != failed
    assert span.status.description == error_type
    assert recording.telemetry.attributes["specdecode.outcome"] == outcome.value


@pytest.mark.parametrize(
    ("standard", "names"),
    [
        (StandardMetrics.NONE, set[str]()),
        (StandardMetrics.TOKENS, {"gen_ai.client.token.usage"}),
        (
            StandardMetrics.ALL,
            {
                "gen_ai.client.token.usage",
                "gen_ai.client.operation.duration",
                "gen_ai.client.operation.time_to_first_chunk",
            },
        ),
    ],
)
def test_a_neighbours_span_is_enriched_and_left_open(
    recording: Recording, standard: StandardMetrics, names: set[str]
) -> None:
    recording.add(full_stream(), standard=standard, end_time_ns=None)
    assert recording.telemetry.spans == []
    emitted = {name for name in recording.metric_names if name.startswith("gen_ai")}
    assert emitted == names
    assert recording.telemetry.total("requests") == 1


def test_a_span_that_nobody_records_costs_no_attributes(recording: Recording) -> None:
    recording.recorder.finish(
        full_stream(), INVALID_SPAN, standard=StandardMetrics.ALL, end_time_ns=1
    )
    assert recording.telemetry.total("requests") == 1


def test_a_span_ends_although_its_metrics_fail(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(recording.recorder._instruments, "record", fails)
    with pytest.raises(RuntimeError):
        recording.add(full_stream())
    assert recording.telemetry.span.end_time == 10**18


def test_bounds_that_are_unknown_are_absent(recording: Recording) -> None:
    """Without k and a histogram nothing bounds the steps from above."""
    recording.add(
        full_stream(
            acceptance=replace(ACCEPTANCE, histogram=None, num_spec_tokens=None)
        )
    )
    attributes = recording.telemetry.attributes
    assert attributes["specdecode.decode_steps_min"] == 2
    assert attributes["specdecode.tokens_per_step_max"] == 3.0
    assert "specdecode.decode_steps_max" not in attributes
    assert "specdecode.tokens_per_step_min" not in attributes
    assert "specdecode.acceptance_histogram" not in attributes


def test_steps_without_tokens_a_step_and_acceptance_without_tokens(
    recording: Recording,
) -> None:
    nothing = Acceptance(
        num_spec_steps=0, num_draft_tokens=0, num_accepted_draft_tokens=0
    )
    recording.add(full_stream(acceptance=nothing, num_output_tokens=1))
    attributes = recording.telemetry.attributes
    assert attributes["specdecode.decode_steps_max"] == 0
    assert "specdecode.tokens_per_step_max" not in attributes


def test_an_answer_of_no_token_bounds_nothing(recording: Recording) -> None:
    recording.add(full_stream(num_output_tokens=0))
    attributes = recording.telemetry.attributes
    assert attributes["gen_ai.usage.output_tokens"] == 0
    assert "specdecode.decode_steps_min" not in attributes


def test_without_usage_acceptance_is_counted_and_bounds_nothing(
    recording: Recording,
) -> None:
    recording.add(full_stream(usage=None, usage_origin=UsageOrigin.ABSENT))
    assert recording.telemetry.total("accepted_tokens") == 4
    attributes = recording.telemetry.attributes
    assert "specdecode.decode_steps_min" not in attributes
    assert "gen_ai.usage.output_tokens" not in attributes
    assert recording.telemetry.points("specdecode.client.output_tokens") == []
    assert recording.telemetry.points("specdecode.client.content_chunks") == []


def test_input_tokens_alone_are_recorded_alone(recording: Recording) -> None:
    recording.add(full_stream(usage=Usage(input_tokens=5)))
    points = recording.telemetry.points("gen_ai.client.token.usage")
    assert [point.attributes["gen_ai.token.type"] for point in points] == ["input"]


def test_output_tokens_alone_are_recorded_alone(recording: Recording) -> None:
    recording.add(full_stream(usage=Usage(output_tokens=5)))
    assert "gen_ai.usage.input_tokens" not in recording.telemetry.attributes
    assert recording.telemetry.attributes["gen_ai.usage.output_tokens"] == 5
    (point,) = recording.telemetry.points("gen_ai.client.token.usage")
    assert point.attributes["gen_ai.token.type"] == "output"


def test_a_span_that_has_the_standard_attributes_elsewhere_gets_only_ours(
    recording: Recording,
) -> None:
    span = recording.recorder.start_span("chat asked", {})
    recording.recorder.finish(
        full_stream(),
        span,
        standard=StandardMetrics.NONE,
        end_time_ns=1,
        standard_attributes=False,
    )
    assert {name.partition(".")[0] for name in recording.telemetry.attributes} == {
        "specdecode"
    }


def test_a_plain_response_counts_tokens_and_no_chunks(recording: Recording) -> None:
    recording.add(full_stream(arrivals=None, streaming=False))
    assert recording.telemetry.total("output_tokens") == 7
    assert recording.telemetry.points("specdecode.client.content_chunks") == []


def test_a_histogram_too_long_for_a_span_is_left_out_and_not_cut(
    recording: Recording,
) -> None:
    """Positions beyond the limit are counted as dropped, not as other positions."""
    long = Acceptance(
        num_spec_steps=1,
        num_draft_tokens=70,
        num_accepted_draft_tokens=70,
        histogram=(0,) * 70 + (1,),
        num_spec_tokens=70,
    )
    recording.add(full_stream(acceptance=long), full_stream(acceptance=long))
    for span in recording.telemetry.spans:
        assert "specdecode.acceptance_histogram" not in (span.attributes or {})
    name = "specdecode.client.accepted_tokens_by_position"
    positions = [a["specdecode.position"] for a, _ in recording.values(name)]
    assert sorted(positions) == list(range(64))
    assert recording.telemetry.total("accepted_tokens_by_position") == 2 * 64
    assert recording.values("specdecode.client.telemetry_dropped") == [
        ({"specdecode.reason": "position_beyond_limit"}, 2 * 6)
    ]


def test_the_next_names_of_the_standard_metrics_are_one_switch_away() -> None:
    recording = Recording(GenAINames.NEXT)
    recording.add(full_stream())
    standard = {name for name in recording.metric_names if name.startswith("gen_ai")}
    assert standard == {
        "gen_ai.client.inference.duration",
        "gen_ai.client.inference.time_to_first_chunk",
        "gen_ai.client.inference.operation.input_tokens",
        "gen_ai.client.inference.operation.output_tokens",
    }
    for name in standard:
        (point,) = recording.telemetry.points(name)
        assert "gen_ai.token.type" not in point.attributes


def test_sums_can_be_read_in_the_process(recording: Recording) -> None:
    recording.add(full_stream())
    ((value, attributes),) = recording.metering.read(semconv.OUTPUT_TOKEN_COUNT)
    assert value == 7
    assert attributes["specdecode.engine"] == "vllm"
    assert recording.metering.read(semconv.TELEMETRY_DROPPED) == []
