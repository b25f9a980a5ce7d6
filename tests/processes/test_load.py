"""A thousand streams at once, and many threads: nothing is lost, doubled or kept."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import openai
import pytest
import soak
from callers import collect_garbage
from fleet_sums import known
from openai import AsyncOpenAI, OpenAI

import otel_specdecode
from otel_specdecode.simulator import named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_specdecode.model import RequestRecord
    from otel_specdecode.simulator import Simulator

NUM_THREADS = 64
STREAMS_A_THREAD = 4
PATIENCE_S = 120


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with simulate(replace(named_profile("mtp"), time_scale=0)) as simulator:
        yield simulator


def ask(sim: Simulator) -> dict[str, Any]:
    messages = [{"role": "user", "content": "hi"}]
    return {"model": sim.model, "messages": messages, "max_tokens": 8, "stream": True}


async def read_all_at_once(sim: Simulator, num: int) -> None:
    """Open every stream before the first one is read to its end."""
    http_client = openai.DefaultAsyncHttpxClient(
        limits=connections(num), timeout=PATIENCE_S
    )
    made = AsyncOpenAI(
        base_url=sim.base_url, api_key="unused", http_client=http_client, max_retries=0
    )
    opened = asyncio.Barrier(num)

    async def read(client: AsyncOpenAI) -> None:
        stream = await client.chat.completions.create(**ask(sim))
        await anext(aiter(stream))
        await opened.wait()
        async for _ in stream:
            pass

    async with otel_specdecode.wrap(made) as client:
        await asyncio.gather(*(read(client) for _ in range(num)))


def connections(num: int) -> Any:
    """Limits of that many connections, in the class of the client's HTTP library."""
    kind = type(openai.DEFAULT_CONNECTION_LIMITS)
    return kind(max_connections=num, max_keepalive_connections=num)


def read_in_threads(sim: Simulator) -> None:
    made = OpenAI(base_url=sim.base_url, api_key="unused", timeout=PATIENCE_S)

    def read(_: int) -> None:
        for _ in range(STREAMS_A_THREAD):
            for _ in client.chat.completions.create(**ask(sim)):
                pass

    with otel_specdecode.wrap(made) as client, ThreadPoolExecutor(NUM_THREADS) as pool:
        list(pool.map(read, range(NUM_THREADS)))


def sums_of(records: Sequence[RequestRecord]) -> dict[str, int]:
    acceptances = [record.acceptance for record in records if record.acceptance]
    return {
        "requests": sum(record.outcome == "completed" for record in records),
        "T": sum(record.num_output_tokens or 0 for record in records),
        "content chunks": sum(record.num_content_chunks or 0 for record in records),
        "R": sum(a.num_spec_steps for a in acceptances),
        "D": sum(a.num_draft_tokens for a in acceptances),
        "C": sum(a.num_accepted_draft_tokens for a in acceptances),
    }


REQUEST_KINDS = frozenset(
    {"Observation", "ChunkReader", "Findings"}
    | {"ObservedIterator", "AsyncObservedIterator"}
)


def kept_by_us() -> list[object]:
    """What of ours is alive that belongs to one request."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one).__name__ in REQUEST_KINDS]


@pytest.fixture
def kept_before() -> list[object]:
    """What other tests of the process hold on to."""
    return kept_by_us()


@pytest.mark.parametrize("num", [200, pytest.param(1000, marks=pytest.mark.full)])
async def test_streams_read_at_once_add_up_and_leave_nothing(
    sim: Simulator, kept_before: list[object], num: int
) -> None:
    with otel_specdecode.capture() as records:
        await read_all_at_once(sim, num)
    assert len(records) == num
    truth = known(sim.ledger.totals)
    assert truth | sums_of(records) == truth
    await collect_garbage()  # generators of older clients end in later turns
    assert len(kept_by_us()) == len(kept_before)


def test_streams_of_many_threads_add_up_and_leave_nothing(
    sim: Simulator, kept_before: list[object]
) -> None:
    with otel_specdecode.capture() as records:
        read_in_threads(sim)
    assert len(records) == NUM_THREADS * STREAMS_A_THREAD
    truth = known(sim.ledger.totals)
    assert truth | sums_of(records) == truth
    assert len(kept_by_us()) == len(kept_before)


def test_the_number_of_objects_is_flat_from_one_load_to_the_next(
    sim: Simulator,
) -> None:
    num = 40

    def objects_after_load() -> int:
        asyncio.run(read_all_at_once(sim, num))
        gc.collect()
        # The simulator keeps its ledger on purpose.
        kinds = [str(type(one).__module__) for one in gc.get_objects()]
        return sum(not kind.startswith("otel_specdecode.simulator") for kind in kinds)

    # One object kept of each request would be as many more after each load; what other
    # threads are at comes and goes.
    counts = [objects_after_load() for _ in range(4)]
    assert min(after - before for before, after in pairwise(counts)) < num


def test_a_soak_of_every_ending_makes_no_mistake() -> None:
    (one,) = soak.soak(seconds=0, seed=1)
    assert one.num_requests == 200
    assert one.mistakes == ()


def test_a_soak_of_bare_clients_makes_the_same_calls_and_records_none() -> None:
    (one,) = soak.soak(seconds=0, seed=1, bare=True)
    assert (one.num_requests, one.mistakes) == (200, ())


def test_the_slope_of_the_memory_is_per_thousand_requests() -> None:
    growing = [
        soak.Round(
            num_requests=500, mistakes=(), resident_bytes=1024 * kib, num_objects=9
        )
        for kib in (9000, 9000, 1000, 1010, 1020, 1030)
    ]
    assert soak.slope_kib(growing) == pytest.approx(20)
    assert soak.slope_kib(growing[:3]) is None
