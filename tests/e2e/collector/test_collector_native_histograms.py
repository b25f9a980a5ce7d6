"""Panels show histograms also where they are stored without buckets."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import generate
import pytest
from collector_programs import free_port, wait_until
from panel_values import filled_in
from traffic import run_application

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from collector_programs import Prometheus
    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PROFILE = Profile(
    model="m",
    time_scale=0.02,
    timing_fields=True,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.8, 0.5)),
)
# What the programs are told, and which sides then have no buckets.
WITHOUT_BUCKETS: dict[str, tuple[Mapping[str, str], Mapping[str, object], set[str]]] = {
    "the SDK makes them exponential": (
        {
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": (
                "base2_exponential_bucket_histogram"
            )
        },
        {},
        {"specdecode_client_time_to_first_token_seconds"},
    ),
    "Prometheus converts them": (
        {},
        {"convert_histograms_to_nhcb": True},
        {
            "specdecode_client_time_to_first_token_seconds",
            "vllm:time_to_first_token_seconds",
        },
    ),
}
TARGETS = {
    f"{name}:{panel['title']}:{target['legendFormat']}": target["expr"]
    for name, text in generate.rendered().items()
    for panel in json.loads(text)["panels"]
    for target in panel.get("targets", ())
    if "histogram_" in target["expr"]
}


@pytest.fixture(scope="module", params=WITHOUT_BUCKETS)
def stored(
    request: pytest.FixtureRequest, module_stack: Stack
) -> Iterator[tuple[Prometheus, set[str]]]:
    variables, otlp, converted = WITHOUT_BUCKETS[request.param]
    port = free_port()
    with simulate(PROFILE) as simulator, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        collector = module_stack.collector(
            "export-prometheus-otlp",
            env={
                "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
                "SPECDECODE_VLLM_TARGETS": json.dumps(
                    [simulator.root_url.removeprefix("http://")]
                ),
            },
        )
        prometheus = module_stack.prometheus(collector=collector, port=port, otlp=otlp)
        wait_until("the server", lambda: prometheus.value('up{job="vllm"}') == 1)
        target = {"base_url": simulator.base_url, "model": "m", "rounds": 4}
        recorded: dict[str, Any] = run_application(
            collector.url, [target], pause_s=1.0
        )["m"]
        for side in ("vllm:generation_tokens", "specdecode_client_output_tokens"):
            wait_until(
                f"the last scrape of {side}",
                lambda side=side: (
                    prometheus.value(f"sum({side}_total)") == recorded["output_tokens"]
                ),
            )
        yield prometheus.as_of(time.time()), converted


def test_what_is_converted_has_no_buckets(stored: tuple[Prometheus, set[str]]) -> None:
    prometheus, converted = stored
    for name in sorted(converted):
        assert prometheus.query(f"{name}_bucket") == []
        assert prometheus.query(name)


@pytest.mark.parametrize("panel", TARGETS)
def test_a_panel_of_a_histogram_has_data(
    panel: str, stored: tuple[Prometheus, set[str]]
) -> None:
    prometheus, _ = stored
    (one,) = {
        json.dumps(found["metric"]): found["value"][1]
        for found in prometheus.query(filled_in(TARGETS[panel]))
        if found["metric"].get("specdecode_tag_task", "code") == "code"
    }.values()
    assert float(one) >= 0
