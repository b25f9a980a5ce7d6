"""Run calls of every ending at random for a while, and hold the sums and the memory.

Run by `make soak`. Threads and tasks call the embedded simulator in rounds. After
each round every completed request is compared with the simulator's ledger, and the
counters with the records; the slope of the memory is printed at the end, and how many
objects of ours are alive. The HTTP library and the simulator's ledger grow as well:
`--bare` makes the same calls with clients that are not wrapped, to compare with.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import soak_traffic
from openai import AsyncOpenAI, OpenAI
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

import otel_specdecode
from otel_specdecode.simulator import Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.model import RequestRecord

NUM_THREADS = 8
CALLS_A_THREAD = 20
NUM_TASKS = 40
# A busy machine is no mistake of ours.
PATIENCE_S = 120
COUNTERS = {
    "output_tokens": lambda record: record.num_output_tokens or 0,
    "requests": lambda _: 1,
    "draft_tokens": lambda record: _acceptance(record)[1],
    "accepted_tokens": lambda record: _acceptance(record)[2],
    "spec_steps": lambda record: _acceptance(record)[0],
}


def _acceptance(record: RequestRecord) -> tuple[int, int, int]:
    """R, D and C of one record: zeros where they are unknown, which add nothing."""
    found = record.acceptance
    if found is None:
        return 0, 0, 0
    return (
        found.num_spec_steps,
        found.num_draft_tokens,
        found.num_accepted_draft_tokens,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round did.

    Attributes:
        num_requests: requests that were made.
        mistakes: what did not add up, in words.
        resident_bytes: memory of the process after it.
        num_objects: objects of ours that are alive after it.
    """

    num_requests: int
    mistakes: tuple[str, ...]
    resident_bytes: int
    num_objects: int


class Soak:
    """A simulator, wrapped clients, and the telemetry that they leave."""

    def __init__(self, simulator: Simulator, seed: int, *, bare: bool = False) -> None:
        self._simulator = simulator
        self._bare = bare
        self._random = Random(seed)
        self._reader = InMemoryMetricReader()
        self._providers = {
            "tracer_provider": TracerProvider(shutdown_on_exit=False),
            "meter_provider": MeterProvider([self._reader], shutdown_on_exit=False),
        }
        self._counted: Counter[str] = Counter()

    def _wrapped(self, kind: type) -> Any:
        client = kind(
            base_url=self._simulator.base_url,
            api_key="unused",
            max_retries=0,
            timeout=PATIENCE_S,
        )
        return client if self._bare else otel_specdecode.wrap(client, **self._providers)

    def run_round(self) -> Round:
        """Make calls from threads and from tasks, all at once, and check them."""
        with otel_specdecode.capture() as records:
            expected = Counter(self._call_everywhere())
            gc.collect()
        mistakes = () if self._bare else tuple(self._wrong(expected, records))
        # Else they would be among the memory and the objects that are left.
        records.clear()
        return Round(
            num_requests=expected.total(),
            mistakes=mistakes,
            resident_bytes=_resident_bytes(),
            num_objects=_num_objects(),
        )

    def _wrong(
        self, expected: Counter[str], records: list[RequestRecord]
    ) -> Iterator[str]:
        yield from self._wrong_outcomes(expected, records)
        yield from self._wrong_records(records)
        yield from self._wrong_counters(records)

    def _call_everywhere(self) -> list[str]:
        model = self._simulator.model
        seeds = [self._random.random() for _ in range(NUM_THREADS)]

        def call_in_thread(seed: float) -> list[str]:
            random = Random(seed)
            return [
                soak_traffic.sync_call(client, model, random)
                for _ in range(CALLS_A_THREAD)
            ]

        # A stream that is never read keeps its connection, with a bare client too, and
        # a client that has lost a thousand of them waits for one for good.
        with self._wrapped(OpenAI) as client, ThreadPoolExecutor(NUM_THREADS) as pool:
            results = [pool.submit(call_in_thread, seed) for seed in seeds]
            with asyncio.Runner() as runner:
                # The HTTP library complains of streams that tasks broke off, with
                # a bare client as well.
                runner.get_loop().set_exception_handler(lambda _, __: None)
                outcomes = runner.run(self._call_in_tasks())
            return outcomes + [x for result in results for x in result.result()]

    async def _call_in_tasks(self) -> list[str]:
        async with self._wrapped(AsyncOpenAI) as client:
            calls = [
                soak_traffic.async_call(
                    client, self._simulator.model, Random(self._random.random())
                )
                for _ in range(NUM_TASKS)
            ]
            return await asyncio.gather(*calls)

    def _wrong_outcomes(
        self, expected: Counter[str], records: list[RequestRecord]
    ) -> list[str]:
        seen = Counter(record.outcome.value for record in records)
        return [] if seen == expected else [f"outcomes {seen}, expected {expected}"]

    def _wrong_records(self, records: list[RequestRecord]) -> list[str]:
        """Compare what completed, and told us its tokens, with the ledger."""
        wrong = []
        for record in records:
            if record.outcome.value != "completed" or record.usage is None:
                continue
            known = self._simulator.ledger.entry(record.response_id).totals
            if record.num_output_tokens != known.num_output_tokens:
                wrong.append(f"T {record.num_output_tokens}, expected {known}")
            steps = (
                known.num_spec_steps,
                known.num_draft_tokens,
                known.num_accepted_draft_tokens,
            )
            if record.acceptance is not None and _acceptance(record) != steps:
                wrong.append(f"R, D, C {_acceptance(record)}, expected {steps}")
        return wrong

    def _wrong_counters(self, records: list[RequestRecord]) -> list[str]:
        for name, value_of in COUNTERS.items():
            self._counted[name] += sum(value_of(record) for record in records)
        exported = self._exported()
        return [
            f"{name} {exported[name]}, expected {self._counted[name]}"
            for name in COUNTERS
            if exported[name] != self._counted[name]
        ]

    def _exported(self) -> Counter[str]:
        sums: Counter[str] = Counter()
        data = self._reader.get_metrics_data()
        for scope in data.resource_metrics[0].scope_metrics:
            for metric in scope.metrics:
                name = metric.name.removeprefix("specdecode.client.")
                if name in COUNTERS:
                    sums[name] += sum(p.value for p in metric.data.data_points)
        return sums


def _num_objects() -> int:
    """Objects of this package that are alive, the simulator's left out."""
    modules = (str(type(one).__module__) for one in gc.get_objects())
    return sum(
        name.startswith("otel_specdecode.")
        and not name.startswith("otel_specdecode.simulator")
        for name in modules
    )


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def slope_kib(rounds: list[Round]) -> float | None:
    """Return the memory's slope in KiB a 1,000 requests, by least squares.

    The first third is left out, in which pools and caches fill. `None` when fewer
    than three rounds are left.
    """
    kept = rounds[len(rounds) // 3 :]
    if len(kept) < 3:
        return None
    done = 0
    at, size = [], []
    for one in kept:
        done += one.num_requests
        at.append(done / 1000)
        size.append(one.resident_bytes / 1024)
    mean_at, mean_size = sum(at) / len(at), sum(size) / len(size)
    spread = sum((x - mean_at) ** 2 for x in at)
    both = zip(at, size, strict=True)
    return sum((x - mean_at) * (y - mean_size) for x, y in both) / spread


def soak(seconds: float, seed: int, *, bare: bool = False) -> list[Round]:
    """Run rounds until the time is up; at least one."""
    profile = replace(named_profile("mtp"), time_scale=0)
    ends_at = time.monotonic() + seconds
    rounds = []
    with simulate(profile) as simulator:
        running = Soak(simulator, seed, bare=bare)
        while not rounds or time.monotonic() < ends_at:
            rounds.append(running.run_round())
    return rounds


def main() -> int:
    """Soak, and say what did not add up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bare", action="store_true", help="clients not wrapped")
    asked = parser.parse_args()
    rounds = soak(asked.seconds, asked.seed, bare=asked.bare)
    mistakes = [mistake for one in rounds for mistake in one.mistakes]
    slope = slope_kib(rounds)
    print(f"rounds: {len(rounds)}")
    print(f"requests: {sum(one.num_requests for one in rounds)}")
    print(f"resident memory: {rounds[-1].resident_bytes / 2**20:.1f} MiB")
    known = "unknown" if slope is None else f"{slope:+.1f} KiB"
    print(f"slope of the memory per 1,000 requests: {known}")
    alive = f"{rounds[0].num_objects} and {rounds[-1].num_objects}"
    print(f"objects of ours after the first and the last round: {alive}")
    print(f"mistakes: {len(mistakes)}")
    print("\n".join(mistakes[:20]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
