"""One record a chunk of the time since the one before, for those who ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from callers import CALLERS, Caller
from opentelemetry.trace import SpanKind
from scripted_wire import Wire, answer

import otel_specdecode

if TYPE_CHECKING:
    from conftest import ManualClock
    from telemetry import Telemetry

NAME = "gen_ai.client.operation.time_per_output_chunk"


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_each_gap_between_chunks_that_the_caller_sees_is_recorded(
    caller: Caller, telemetry: Telemetry, manual_clock: ManualClock
) -> None:
    wire = Wire(answer, pause=manual_clock.tick)
    client = caller.wrapped(wire, telemetry, time_per_output_chunk=True)
    with otel_specdecode.tag(task="code"):
        stream = await caller.stream(client)
    chunks = await caller.read(stream)
    (point,) = telemetry.points(NAME)
    assert point.count == len(chunks) - 1
    assert point.sum == pytest.approx(0.010 * point.count)
    assert point.attributes["gen_ai.request.model"] == "spec-demo"
    assert point.attributes["specdecode.tag.task"] == "code"
    assert telemetry.requests() == [("completed", "forced", "present")]


async def test_it_is_off_unless_asked_for(telemetry: Telemetry) -> None:
    caller = Caller("sync")
    client = caller.wrapped(Wire(answer), telemetry)
    await caller.read(await caller.stream(client))
    assert telemetry.points(NAME) == []


async def test_it_is_a_neighbours_to_record_where_there_is_one(
    telemetry: Telemetry,
) -> None:
    caller = Caller("sync")
    client = caller.wrapped(Wire(answer), telemetry, time_per_output_chunk=True)
    tracer = telemetry.tracer_provider.get_tracer("neighbour")
    with tracer.start_as_current_span(
        "theirs", kind=SpanKind.CLIENT, attributes={"gen_ai.operation.name": "chat"}
    ):
        await caller.read(await caller.stream(client))
    assert telemetry.points(NAME) == []
