"""The asynchronous client in trio: what a bare one shows, and one right record."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from callers import Caller
from scripted_wire import HANG, Json, Reply, Wire, answer, answer_chunks, event
from telemetry import Telemetry

import otel_specdecode

ENDPOINTS = ("chat", "completions")

# trio says so of the client's own generators, also where nobody observes.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


async def drain(client: Any, caller: Caller) -> list[Any]:
    return await caller.read(await caller.stream(client))


async def read_two(client: Any, caller: Caller) -> list[Any]:
    stream = await caller.stream(client)
    async with stream:
        return await caller.read(stream, most=2)


async def ask(client: Any, caller: Caller) -> list[Any]:
    return [await caller.create(client)]


async def wait_until_cancelled(client: Any, caller: Caller) -> list[Any]:
    seen: list[Any] = []

    async def consume() -> None:
        seen.extend(await caller.read(stream, most=2))
        seen.extend(await caller.read(stream))

    stream = await caller.stream(client)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    return seen


def hanging(body: Json) -> Reply:
    return Reply([*map(event, answer_chunks(body)[:2]), HANG])


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize(
    ("act", "reply", "outcome"),
    [
        (drain, answer, "completed"),
        (ask, answer, "completed"),
        (read_two, answer, "abandoned"),
        (wait_until_cancelled, hanging, "cancelled"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_trio_sees_what_a_bare_client_shows(
    endpoint: str, act: Any, reply: Any, outcome: str, telemetry: Telemetry
) -> None:
    caller = Caller("async", endpoint)
    bare = trio.run(partial(act, caller.bare(Wire(reply)), caller))
    seen = trio.run(partial(act, caller.wrapped(Wire(reply), telemetry), caller))
    assert seen == bare
    assert telemetry.attributes["specdecode.outcome"] == outcome
    assert [spelled for spelled, *_ in telemetry.requests()] == [outcome]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_the_counts_in_trio_are_those_of_asyncio(endpoint: str) -> None:
    caller = Caller("async", endpoint)
    counts: list[Any] = []
    for run in (trio.run, lambda act: asyncio.run(act())):
        client = otel_specdecode.wrap(caller.bare(Wire(answer)))
        with otel_specdecode.capture() as records:
            run(partial(drain, client, caller))
        (record,) = records
        counts.append((record.usage, record.acceptance, record.num_content_chunks))
    assert counts[0] == counts[1]
    assert None not in counts[0]
