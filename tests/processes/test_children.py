"""Requests in a parent and in its children: each is counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fleet_sums import instances, known, received

if TYPE_CHECKING:
    from telemetry_bench import Bench


FORKS = ("os.fork", "fork", "pool")


@pytest.mark.parametrize(
    ("ways", "protocol", "before", "given"),
    [
        pytest.param(FORKS, "grpc", "exported", "", id="forked-grpc"),
        pytest.param(
            *(FORKS, "http/protobuf", "idle", "service.instance.id=pod-7"),
            id="forked-http",
        ),
        pytest.param(
            *(("spawn",), "http/protobuf", "exported", ""),
            id="spawned-http",
            marks=pytest.mark.full,
        ),
    ],
)
def test_each_request_counts_once_under_the_id_of_its_process(
    bench: Bench, ways: tuple[str, ...], protocol: str, before: str, given: str
) -> None:
    ended = bench.run(
        *("children.py", before, *ways),
        protocol=protocol,
        OTEL_RESOURCE_ATTRIBUTES=given,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert received(bench.receiver) == known(bench.simulator.ledger.totals)
    ids = list(instances(bench.receiver).values())
    assert len(ids) > len(ways)
    assert all(len(of_one_process) == 1 for of_one_process in ids)
    assert len(set.union(*ids)) == len(ids)


def test_a_child_that_is_forked_while_we_import_can_import_the_same(
    bench: Bench,
) -> None:
    """Else it waits for a thread that is not there, for good."""
    ended = bench.run("forks_while_importing.py")

    assert (ended.returncode, ended.stdout) == (0, "0\n")
