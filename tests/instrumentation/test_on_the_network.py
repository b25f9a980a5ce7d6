"""The same against a server on a socket: what a mock transport cannot show."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, Caller, collect_garbage, shown

import otel_specdecode
from otel_specdecode.simulator import Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from telemetry import Telemetry


@pytest.fixture(scope="module")
def server() -> Iterator[Simulator]:
    with simulate(replace(named_profile("ngram"), time_scale=0)) as sim:
        yield sim


class Network:
    """Clients of one server, bare and wrapped, that are closed at the end."""

    def __init__(self, server: Simulator, caller: Caller) -> None:
        self._caller = caller
        kind = openai.AsyncOpenAI if caller.is_async else openai.OpenAI
        settings: dict[str, Any] = {
            "base_url": server.base_url,
            "api_key": "unused",
            "max_retries": 0,
            "timeout": 60,
        }
        self.bare: Any = kind(**settings)
        self.wrapped: Any = kind(**settings)

    async def close(self) -> None:
        for client in (self.bare, self.wrapped):
            await self._caller.done(client.close())


@pytest.fixture
async def network(
    server: Simulator, caller: Caller, telemetry: Telemetry
) -> AsyncIterator[Network]:
    clients = Network(server, caller)
    otel_specdecode.wrap(clients.wrapped, **telemetry.providers)
    yield clients
    await clients.close()


def directive(text: str) -> dict[str, Any]:
    return {"extra_headers": {"x-simulate": text}}


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_the_sums_are_those_that_the_server_kept(
    network: Network, caller: Caller, server: Simulator, telemetry: Telemetry
) -> None:
    before = server.ledger.totals
    for number in range(5):
        more = {"max_tokens": 20 + number, **directive(f"seed={number}")}
        await caller.read(await caller.stream(network.wrapped, **more))
        await caller.create(network.wrapped, **more)
    truth = server.ledger.totals - before
    assert telemetry.total("requests") == truth.num_requests == 10
    assert telemetry.total("output_tokens") == truth.num_output_tokens
    assert telemetry.total("spec_steps") == truth.num_spec_steps
    assert telemetry.total("draft_tokens") == truth.num_draft_tokens
    assert telemetry.total("accepted_tokens") == truth.num_accepted_draft_tokens
    assert telemetry.total("content_chunks") == truth.num_content_chunks
    positions = telemetry.points("specdecode.client.accepted_tokens_by_position")
    found = {p.attributes["specdecode.position"]: 0 for p in positions}
    for point in positions:
        found[point.attributes["specdecode.position"]] += point.value
    assert tuple(found[at] for at in sorted(found)) == truth.accepted_by_position


ERRORS = {
    "disconnect@5": "openai.APIConnectionError",
    "error@5": "openai.APIError",
    "malformed@5": "json.decoder.JSONDecodeError",
    "hang-up": "openai.APIConnectionError",
    "status=503": "openai.InternalServerError",
    "stall@5": "openai.APITimeoutError",
}


@pytest.mark.parametrize("fault", ERRORS)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_what_the_server_does_is_what_is_seen_and_recorded(
    network: Network, caller: Caller, fault: str, telemetry: Telemetry
) -> None:
    seen: list[list[Any]] = []
    for client in (network.bare, network.wrapped):
        items: list[Any] = []
        seen.append(items)
        more = {"timeout": 0.3} if fault.startswith("stall") else {}
        try:
            stream = await caller.stream(client, **directive(fault), **more)
            iterator = caller.iterate(stream)
            while True:
                chunk = await caller.step(iterator)
                items.append(chunk.choices[0].delta.content)
        except Exception as error:  # noqa: BLE001
            items.append(shown(error))
    assert seen[0] == seen[1]
    assert telemetry.attributes["specdecode.outcome"] == "error"
    assert telemetry.attributes["error.type"] == ERRORS[fault]
    assert len(telemetry.requests()) == 1


@pytest.mark.parametrize("caller", [Caller("async")], ids=str)
async def test_a_connection_is_free_again_after_a_cancelled_read(
    network: Network, caller: Caller, telemetry: Telemetry
) -> None:
    stream = await caller.stream(network.wrapped, **directive("stall@5"))
    read: list[Any] = []
    waiting = asyncio.Event()

    async def consume() -> None:
        async for chunk in stream:
            read.append(chunk)
            if len(read) == 5:
                waiting.set()

    task = asyncio.create_task(consume())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert telemetry.attributes["specdecode.outcome"] == "cancelled"
    assert stream.response.is_closed


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_abandoned_stream_is_recorded_and_its_connection_given_back(
    network: Network, caller: Caller, telemetry: Telemetry
) -> None:
    stream = await caller.stream(network.wrapped)
    response = stream.response
    await caller.read(stream, most=2)
    stream = None
    await collect_garbage()
    for _ in range(100):
        if response.is_closed:
            break
        await asyncio.sleep(0.01)
    assert response.is_closed
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_many_streams_at_once_are_told_apart(
    network: Network, caller: Caller, server: Simulator, telemetry: Telemetry
) -> None:
    async def one(number: int) -> Any:
        stream = await caller.stream(
            network.wrapped, max_tokens=5 + number, **directive(f"seed={number}")
        )
        await caller.read(stream)
        return otel_specdecode.record_of(stream)

    records = await asyncio.gather(*(one(number) for number in range(20)))
    assert [record.num_output_tokens for record in records] == list(range(5, 25))
    for record in records:
        truth = server.ledger.entry(record.response_id).totals
        assert record.acceptance.num_draft_tokens == truth.num_draft_tokens
    assert len(telemetry.spans) == 20
