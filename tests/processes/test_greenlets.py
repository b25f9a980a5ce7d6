"""Under gevent, greenlets in the place of threads: sums right, and a clean end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sums import known, received

if TYPE_CHECKING:
    from telemetry_bench import Bench

NUM_COMPLETED, NUM_ABANDONED = 80, 10
# Coverage's own tracer and gevent's switches do not know of each other.
NOT_TRACED = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""}


def test_requests_of_many_greenlets_count_once_and_abandoned_ones_as_such(
    bench: Bench,
) -> None:
    # Over HTTP: gRPC has threads of its own that gevent does not know.
    ended = bench.run("greenlets.py", protocol="http/protobuf", **NOT_TRACED)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == (
        f"{{'abandoned': {NUM_ABANDONED}, 'completed': {NUM_COMPLETED}}}\n"
    )
    arrived, made = received(bench.receiver), known(bench.simulator.ledger.totals)
    assert arrived["requests"] == arrived["spans"] == made["requests"]
    # All alike, and those that were left tell no tokens.
    share = NUM_COMPLETED / (NUM_COMPLETED + NUM_ABANDONED)
    for sums in ("T", "R", "D", "C", "T of spans", "D of spans"):
        assert arrived[sums] == made[sums] * share
