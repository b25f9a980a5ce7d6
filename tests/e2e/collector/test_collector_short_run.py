"""A program that lives for seconds and exports once is counted whole.

Its first value of a counter already is its last. Without a zero before it no rate()
sees it, which the last test shows for the one way in that cannot carry it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from collector_programs import free_port, wait_until
from traffic import run_application

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from typing import Any

    from collector_programs import Prometheus
    from collector_stack import Stack

pytestmark = pytest.mark.e2e

PROFILE = Profile(
    model="short",
    time_scale=0.0,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.8, 0.5)),
)
NAMES = ("requests", "output_tokens", "spec_steps", "draft_tokens", "accepted_tokens")


def short_run(stack: Stack, overlay: str) -> tuple[Prometheus, dict[str, Any]]:
    """Prometheus after one short program, and what that program recorded."""
    port = free_port()
    url = {"SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}"}
    collector = stack.collector(overlay, env=url)
    prometheus = stack.prometheus(collector=collector, port=port)
    with simulate(PROFILE) as simulator:
        target = {"base_url": simulator.base_url, "model": "short", "rounds": 3}
        # Longer than it lives: what it exports, it exports as it ends.
        recorded = run_application(collector.url, [target], export_interval_s=3600)
    wait_until(
        "the program's counters in Prometheus",
        lambda: prometheus.query("specdecode_client_requests_total"),
    )
    return prometheus, recorded["short"]


@pytest.fixture(
    scope="module", params=["export-prometheus-scrape", "export-prometheus-otlp"]
)
def short(
    request: pytest.FixtureRequest, module_stack: Stack
) -> tuple[Prometheus, dict[str, Any]]:
    return short_run(module_stack, request.param)


def risen(prometheus: Prometheus, series: str) -> float | None:
    """How far a series rose, without what increase() adds for a window's edges."""
    return prometheus.value(
        f"sum(max_over_time({series}[5m]) - min_over_time({series}[5m]))"
    )


def test_it_rises_from_zero_to_all_that_it_did(
    short: tuple[Prometheus, dict[str, Any]],
) -> None:
    prometheus, recorded = short
    seen = {
        name: risen(prometheus, f"specdecode_client_{name}_total") for name in NAMES
    }
    assert seen == {name: recorded[name] for name in NAMES}


def test_its_histograms_rise_from_zero_too(
    short: tuple[Prometheus, dict[str, Any]],
) -> None:
    prometheus, recorded = short
    series = "specdecode_client_draft_acceptance_rate_count"
    assert risen(prometheus, series) == recorded["requests"]


@pytest.mark.full
def test_by_remote_write_its_value_arrives_and_its_rate_does_not(stack: Stack) -> None:
    prometheus, recorded = short_run(stack, "export-prometheus-remote-write")
    value = prometheus.value("sum(specdecode_client_output_tokens_total)")
    rate = prometheus.value("sum(increase(specdecode_client_output_tokens_total[5m]))")
    # docs/collector.md says so, and which way to take instead.
    assert value == recorded["output_tokens"]
    assert not rate
