"""A client that made requests before telemetry was set up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sums import known, received

if TYPE_CHECKING:
    from telemetry_bench import Bench

COUNTERS = ("requests", "T", "R", "D", "C", "by position", "content chunks")
FROM_THEN_ON = ("durations", "acceptance rates", "spans")


def test_counters_hold_what_was_before_and_spans_begin_then(bench: Bench) -> None:
    ended = bench.run("configured_late.py")

    assert (ended.returncode, ended.stderr) == (0, "")
    seen, made = received(bench.receiver), known(bench.simulator.ledger.totals)
    assert [seen[name] for name in COUNTERS] == [made[name] for name in COUNTERS]
    # The program makes as many requests before as after.
    half = bench.simulator.ledger.totals.num_finished // 2
    assert [seen[name] for name in FROM_THEN_ON] == [half] * len(FROM_THEN_ON)
