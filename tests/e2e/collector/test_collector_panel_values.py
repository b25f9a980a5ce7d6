"""Two API servers of one model behind one scrape job, and what panels say of them."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from collector_programs import Collector, Prometheus, free_port, wait_until
from panel_values import LINES, SAME_ON_BOTH_SIDES, Line
from traffic import run_application

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from collector_stack import Stack

pytestmark = pytest.mark.e2e

SHARED = Profile(
    model="org/shared-7B",
    num_engines=2,
    time_scale=0.0,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.9, 0.6, 0.3)),
)
# What must not be in a panel in which the first is chosen.
OTHER = replace(
    SHARED,
    model="org/shared-70B",
    speculation=Speculation(method="mtp", acceptance_by_position=(0.4,)),
)
MODELS = (SHARED.model, OTHER.model)


@dataclass(frozen=True)
class Watched:
    """A collector that scrapes servers, and the Prometheus that it feeds."""

    collector: Collector
    prometheus: Prometheus

    def wait_for_servers(self, number: int) -> None:
        """Waits until so many are up, their counters read since they started."""
        wait_until(
            f"the first scrape of {number} servers",
            lambda: self.prometheus.value('sum(up{job="vllm"})') == number,
        )


def watched(stack: Stack, ports: Sequence[int]) -> Watched:
    port = free_port()
    collector = stack.collector(
        "export-prometheus-otlp",
        env={
            "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
            "SPECDECODE_VLLM_TARGETS": json.dumps([f"127.0.0.1:{p}" for p in ports]),
        },
    )
    return Watched(collector, stack.prometheus(collector=collector, port=port))


def target(port: int, model: str) -> dict[str, Any]:
    return {"base_url": f"http://127.0.0.1:{port}/v1", "model": model, "rounds": 3}


@dataclass(frozen=True)
class Run:
    """What the panels are asked after, and what the application recorded."""

    prometheus: Prometheus
    recorded: dict[str, Any]


@pytest.fixture(scope="module")
def run(module_stack: Stack) -> Iterator[Run]:
    profiles = (SHARED, SHARED, OTHER)
    ports = [free_port() for _ in profiles]
    with ExitStack() as started:
        for profile, port in zip(profiles, ports, strict=True):
            started.enter_context(simulate(profile, port=port))
        seen = watched(module_stack, ports)
        seen.wait_for_servers(len(ports))
        targets = [
            target(port, one.model) for one, port in zip(profiles, ports, strict=True)
        ]
        recorded = run_application(seen.collector.url, targets)
        wait_until(
            "both sides of the last request",
            lambda: all(
                seen.prometheus.value(f"sum({series})") == recorded[m]["output_tokens"]
                for m in MODELS
                for series in (
                    f'vllm:generation_tokens_total{{model_name="{m}"}}',
                    f'specdecode_client_output_tokens_total{{gen_ai_response_model="{m}"}}',
                )
            ),
        )
        # Growth looks back ten minutes, which a machine with other work may take.
        yield Run(seen.prometheus.as_of(time.time()), recorded)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("line", LINES, ids=str)
def test_a_panel_shows_what_the_records_say(line: Line, model: str, run: Run) -> None:
    shown = line.shown(run.prometheus, model)
    assert shown == pytest.approx(line.value(run.recorded[model]), rel=1e-9)


def rises(prometheus: Prometheus, series: str) -> dict[str, float]:
    """How far a counter rose on each server, resets included."""
    found: dict[str, float] = {}
    for one in prometheus.query(f"{series}[10m]"):
        values = [float(value) for _, value in one["values"]]
        rise = sum(
            later - earlier if later >= earlier else later
            for earlier, later in pairwise(values)
        )
        instance = one["metric"]["instance"]
        found[instance] = found.get(instance, 0) + rise
    return found


@pytest.mark.full
def test_a_server_that_is_gone_and_back_is_summed_with_the_other(
    stack: Stack,
) -> None:
    stays, leaves = free_port(), free_port()
    model = SHARED.model
    runs: list[dict[str, Any]] = []
    with simulate(SHARED, port=stays):
        seen = watched(stack, (stays, leaves))

        def send(*ports: int) -> None:
            targets = [target(port, model) for port in ports]
            runs.append(run_application(seen.collector.url, targets)[model])
            # Or what was counted last is gone with the server.
            expected = sum(one["output_tokens"] for one in runs)
            wait_until(
                "the servers' last scrape",
                lambda: (
                    sum(rises(seen.prometheus, "vllm:generation_tokens_total").values())
                    == expected
                ),
            )

        with simulate(SHARED, port=leaves):
            seen.wait_for_servers(2)
            send(stays, leaves)
        seen.wait_for_servers(1)
        send(stays)
        with simulate(SHARED, port=leaves):
            seen.wait_for_servers(2)
            send(stays, leaves)
            servers = {
                name: rises(seen.prometheus, f"vllm:{theirs}_total")
                for name, theirs in SAME_ON_BOTH_SIDES.items()
            }
            clients = {
                name: seen.prometheus.value(
                    f"sum(max_over_time(specdecode_client_{name}_total[10m]))"
                )
                for name in SAME_ON_BOTH_SIDES
            }
    assert {len(by_instance) for by_instance in servers.values()} == {2}
    summed = {name: sum(rose.values()) for name, rose in servers.items()}
    assert clients == summed
    assert clients == {
        name: sum(one[name] for one in runs) for name in SAME_ON_BOTH_SIDES
    }
