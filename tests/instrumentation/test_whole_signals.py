"""Whole spans and whole metrics of three requests, as they go out.

The server lets ten milliseconds pass before each part that it sends, on the only
clock there is, so that every number here can be worked out by hand.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CHAT_CALLERS, Caller
from dirty_equals import IsStr
from inline_snapshot import snapshot
from scripted_wire import Wire, answer, json_reply

import otel_specdecode

if TYPE_CHECKING:
    from conftest import ManualClock
    from opentelemetry.sdk.trace import ReadableSpan
    from telemetry import Telemetry


def shown_span(span: ReadableSpan) -> dict[str, Any]:
    attributes = dict(span.attributes or {})
    for name in ("code.file.path", "code.line.number", "code.function.name"):
        assert attributes.pop(name)  # where the call was made has its own test
    return {
        "name": span.name,
        "kind": span.kind.name,
        "status": (span.status.status_code.name, span.status.description),
        "attributes": rounded(attributes),
        "events": [event.name for event in span.events],
        "scope": span.instrumentation_scope.name if span.instrumentation_scope else "",
    }


def rounded(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in sorted(attributes.items())
    }


COMMON = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "spec-demo",
    "server.address": "model.test",
    "server.port": 8000,
}
ANSWERED = {"gen_ai.response.model": "spec-demo"}
SPECULATED = {"specdecode.engine": "vllm"}
TAGGED = {"specdecode.tag.task": "count"}
FAILED = {"error.type": "openai.BadRequestError"}


def shown_metrics(
    telemetry: Telemetry, standard: dict[str, Any], ours: dict[str, Any]
) -> dict[str, Any]:
    """Values by instrument, unit, and the attributes that tell points apart.

    Args:
        telemetry: what was recorded.
        standard: attributes that every point must have besides the common ones.
        ours: those that every point of our own must have besides them.
    """
    shown: dict[str, Any] = {}
    for metric in telemetry.metrics():
        expected = COMMON | standard
        expected |= ours if metric.name.startswith("specdecode.") else {}
        for point in metric.data.data_points:
            attributes = dict(point.attributes)
            assert {n: attributes.pop(n, None) for n in expected} == expected
            rest = " ".join(
                f"{name.rpartition('.')[2]}={value}"
                for name, value in sorted(attributes.items())
            )
            values = shown.setdefault(f"{metric.name} ({metric.unit})", {})
            assert rest not in values
            values[rest] = shown_value(point)
    return shown


def shown_value(point: Any) -> Any:
    if hasattr(point, "value"):
        return point.value
    return point.count, round(point.sum, 6)


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_stream_that_speculates(
    caller: Caller, telemetry: Telemetry, manual_clock: ManualClock
) -> None:
    wire = Wire(answer, pause=manual_clock.tick)
    client = caller.wrapped(wire, telemetry)
    with otel_specdecode.tag(task="count"):
        stream = await caller.stream(client, temperature=0.5, max_tokens=20)
    await caller.read(stream)
    assert shown_span(telemetry.span) == snapshot(
        {
            "name": "chat spec-demo",
            "kind": "CLIENT",
            "status": ("UNSET", None),
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.max_tokens": 20,
                "gen_ai.request.model": "spec-demo",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.response.finish_reasons": ("stop",),
                "gen_ai.response.id": "chatcmpl-1",
                "gen_ai.response.model": "spec-demo",
                "gen_ai.usage.input_tokens": 5,
                "gen_ai.usage.output_tokens": 7,
                "server.address": "model.test",
                "server.port": 8000,
                "specdecode.acceptance": "present",
                "specdecode.acceptance_histogram": (0, 0, 2),
                "specdecode.chunk_gap_max": 0.01,
                "specdecode.chunk_gap_mean": 0.01,
                "specdecode.chunking": "speculation",
                "specdecode.consumer_share": 0.0,
                "specdecode.decode_steps_max": 4,
                "specdecode.decode_steps_min": 2,
                "specdecode.draft_acceptance_rate": 1.0,
                "specdecode.engine": "vllm",
                "specdecode.first_chunk": "assumed",
                "specdecode.mean_acceptance_length": 3.0,
                "specdecode.num_accepted_draft_tokens": 4,
                "specdecode.num_chunks": 5,
                "specdecode.num_content_chunks": 3,
                "specdecode.num_draft_tokens": 4,
                "specdecode.num_spec_steps": 2,
                "specdecode.num_spec_tokens": 2,
                "specdecode.outcome": "completed",
                "specdecode.retries": 0,
                "specdecode.streaming": True,
                "specdecode.tag.task": "count",
                "specdecode.time_per_output_token": 0.003333,
                "specdecode.time_to_first_chunk": 0.01,
                "specdecode.time_to_first_token": 0.02,
                "specdecode.tokens_per_step_max": 3.0,
                "specdecode.tokens_per_step_min": 1.5,
                "specdecode.undercount_factor": 2.333333,
                "specdecode.usage": "forced",
            },
            "events": [],
            "scope": "otel_specdecode",
        }
    )
    assert shown_metrics(
        telemetry, ANSWERED | TAGGED, SPECULATED | {"specdecode.streaming": True}
    ) == snapshot(
        {
            "gen_ai.client.operation.duration (s)": {"": (1, 0.06)},
            "gen_ai.client.operation.time_to_first_chunk (s)": {"": (1, 0.01)},
            "gen_ai.client.token.usage ({token})": {
                "type=input": (1, 5),
                "type=output": (1, 7),
            },
            "specdecode.client.accepted_tokens ({token})": {"": 4},
            "specdecode.client.accepted_tokens_by_position ({token})": {
                "position=0": 2,
                "position=1": 2,
            },
            "specdecode.client.chunk_gap_max (s)": {"": (1, 0.01)},
            "specdecode.client.chunk_gap_mean (s)": {"": (1, 0.01)},
            "specdecode.client.consumer_share (1)": {"": (1, 0.0)},
            "specdecode.client.content_chunks ({chunk})": {"acceptance=present": 3},
            "specdecode.client.draft_acceptance_rate (1)": {"": (1, 1.0)},
            "specdecode.client.draft_tokens ({token})": {"": 4},
            "specdecode.client.mean_acceptance_length ({token})": {"": (1, 3.0)},
            "specdecode.client.output_token_rate ({token}/s)": {"": (1, 140.0)},
            "specdecode.client.output_tokens ({token})": {"acceptance=present": 7},
            "specdecode.client.requests ({request})": {
                "acceptance=present outcome=completed usage=forced": 1
            },
            "specdecode.client.spec_steps ({step})": {"": 2},
            "specdecode.client.time_per_output_token (s)": {
                "first_chunk=assumed": (1, 0.003333)
            },
            "specdecode.client.time_to_first_token (s)": {"": (1, 0.02)},
            "specdecode.client.tokens_per_chunk ({token})": {"": (1, 2.333333)},
        }
    )


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_plain_request(
    caller: Caller, telemetry: Telemetry, manual_clock: ManualClock
) -> None:
    client = caller.wrapped(Wire(answer, pause=manual_clock.tick), telemetry)
    await caller.create(client)
    assert shown_span(telemetry.span) == snapshot(
        {
            "name": "chat spec-demo",
            "kind": "CLIENT",
            "status": ("UNSET", None),
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "spec-demo",
                "gen_ai.response.finish_reasons": ("stop",),
                "gen_ai.response.id": "chatcmpl-1",
                "gen_ai.response.model": "spec-demo",
                "gen_ai.usage.input_tokens": 5,
                "gen_ai.usage.output_tokens": 7,
                "server.address": "model.test",
                "server.port": 8000,
                "specdecode.acceptance": "present",
                "specdecode.acceptance_histogram": (0, 0, 2),
                "specdecode.decode_steps_max": 4,
                "specdecode.decode_steps_min": 2,
                "specdecode.draft_acceptance_rate": 1.0,
                "specdecode.engine": "vllm",
                "specdecode.mean_acceptance_length": 3.0,
                "specdecode.num_accepted_draft_tokens": 4,
                "specdecode.num_draft_tokens": 4,
                "specdecode.num_spec_steps": 2,
                "specdecode.num_spec_tokens": 2,
                "specdecode.outcome": "completed",
                "specdecode.retries": 0,
                "specdecode.streaming": False,
                "specdecode.tokens_per_step_max": 3.0,
                "specdecode.tokens_per_step_min": 1.5,
                "specdecode.usage": "requested",
            },
            "events": [],
            "scope": "otel_specdecode",
        }
    )
    assert shown_metrics(
        telemetry, ANSWERED, SPECULATED | {"specdecode.streaming": False}
    ) == snapshot(
        {
            "gen_ai.client.operation.duration (s)": {"": (1, 0.01)},
            "gen_ai.client.token.usage ({token})": {
                "type=input": (1, 5),
                "type=output": (1, 7),
            },
            "specdecode.client.accepted_tokens ({token})": {"": 4},
            "specdecode.client.accepted_tokens_by_position ({token})": {
                "position=0": 2,
                "position=1": 2,
            },
            "specdecode.client.draft_acceptance_rate (1)": {"": (1, 1.0)},
            "specdecode.client.draft_tokens ({token})": {"": 4},
            "specdecode.client.mean_acceptance_length ({token})": {"": (1, 3.0)},
            "specdecode.client.output_token_rate ({token}/s)": {"": (1, 700.0)},
            "specdecode.client.output_tokens ({token})": {"acceptance=present": 7},
            "specdecode.client.requests ({request})": {
                "acceptance=present outcome=completed usage=requested": 1
            },
            "specdecode.client.spec_steps ({step})": {"": 2},
        }
    )


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_request_that_fails(
    caller: Caller, telemetry: Telemetry, manual_clock: ManualClock
) -> None:
    secret = {"error": {"message": "the prompt was: count"}}
    wire = Wire(lambda body: json_reply(secret, 400), pause=manual_clock.tick)
    with pytest.raises(openai.BadRequestError):
        await caller.create(caller.wrapped(wire, telemetry))
    assert shown_span(telemetry.span) == snapshot(
        {
            "name": "chat spec-demo",
            "kind": "CLIENT",
            "status": ("ERROR", "openai.BadRequestError"),
            "attributes": {
                "error.type": "openai.BadRequestError",
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "spec-demo",
                "server.address": "model.test",
                "server.port": 8000,
                "specdecode.acceptance": "absent",
                "specdecode.acceptance_reason": IsStr(regex="no usage arrived.*"),
                "specdecode.outcome": "error",
                "specdecode.retries": 0,
                "specdecode.streaming": False,
                "specdecode.usage": "absent",
            },
            "events": [],
            "scope": "otel_specdecode",
        }
    )
    assert shown_metrics(
        telemetry, FAILED, {"specdecode.streaming": False}
    ) == snapshot(
        {
            "gen_ai.client.operation.duration (s)": {"": (1, 0.01)},
            "specdecode.client.requests ({request})": {
                "acceptance=absent outcome=error usage=absent": 1
            },
        }
    )


async def test_the_line_of_the_application_is_named(telemetry: Telemetry) -> None:
    client = Caller("sync").wrapped(Wire(answer), telemetry)
    client.chat.completions.create(model="m", messages=[])
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    attributes = telemetry.attributes
    assert attributes["code.file.path"] == __file__
    assert attributes["code.line.number"] == line
    name = "test_the_line_of_the_application_is_named"
    assert attributes["code.function.name"] == name
