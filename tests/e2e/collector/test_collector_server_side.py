"""Servers that restart, vanish, or name things otherwise; and each way out."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from collector_programs import free_port, wait_until
from loopback import Quiet, serving
from traffic import run_application

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from collector_programs import Prometheus
    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PROFILE = Profile(
    model="m",
    num_engines=3,
    time_scale=0.0,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.8, 0.5)),
)
DRAFTS = "vllm:spec_decode_num_drafts_total"
ROUTES = (
    "export-prometheus-scrape",
    "export-prometheus-otlp",
    "export-prometheus-remote-write",
)


def watched(
    stack: Stack, urls: Sequence[str], overlay: str = "export-prometheus-otlp"
) -> tuple[str, Prometheus]:
    """A collector that scrapes these servers: its OTLP address, and Prometheus."""
    port = free_port()
    collector = stack.collector(
        overlay,
        env={
            "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
            "SPECDECODE_VLLM_TARGETS": json.dumps(
                [url.removeprefix("http://") for url in urls]
            ),
        },
    )
    return collector.url, stack.prometheus(collector=collector, port=port)


@pytest.mark.parametrize("overlay", ROUTES)
def test_each_way_into_prometheus_gives_the_same_names_and_sums(
    overlay: str, stack: Stack
) -> None:
    with simulate(PROFILE) as simulator:
        url, prometheus = watched(stack, [simulator.root_url], overlay)
        target = {"base_url": simulator.base_url, "model": "m", "rounds": 3}
        recorded = run_application(url, [target])["m"]
        sums = {
            f"sum({DRAFTS})": recorded["spec_steps"],
            "sum(specdecode_client_spec_steps_total)": recorded["spec_steps"],
            "sum(specdecode_client_draft_acceptance_rate_count)": recorded["requests"],
            f"count({DRAFTS})": PROFILE.num_engines,
        }
        wait_until(
            f"{sums}",
            lambda: {expr: prometheus.value(expr) for expr in sums} == sums,
        )
        labels = prometheus.query("specdecode_client_spec_steps_total")[0]["metric"]
        assert labels["job"] == "application"
        assert labels["gen_ai_response_model"] == "m"


def test_a_server_that_restarts_is_counted_on_and_never_backwards(
    stack: Stack,
) -> None:
    with simulate(PROFILE) as simulator:
        url, prometheus = watched(stack, [simulator.root_url])
        target = {"base_url": simulator.base_url, "model": "m", "rounds": 3}
        total = f"sum({DRAFTS})"
        wait_until("the zeros of the start", lambda: prometheus.value(total) == 0)
        before = run_application(url, [target])["m"]["spec_steps"]
        wait_until("the first run", lambda: prometheus.value(total) == before)
        simulator.reset_counters()
        wait_until("the reset", lambda: prometheus.value(total) == 0)
        after = run_application(url, [target])["m"]["spec_steps"]
        wait_until("the second run", lambda: prometheus.value(total) == after)
        series = prometheus.query(f"{DRAFTS}[5m]")
        rates = prometheus.query(f"rate({DRAFTS}[5m])")
    rises = [
        sum(max(0.0, later - earlier) for earlier, later in pairwise(v))
        for v in ([float(value) for _, value in one["values"]] for one in series)
    ]
    assert sum(rises) == before + after
    assert all(float(one["value"][1]) >= 0 for one in rates)


def test_a_server_that_is_gone_is_down_and_its_series_end(stack: Stack) -> None:
    with simulate(PROFILE) as simulator:
        _, prometheus = watched(stack, [simulator.root_url])
        wait_until("its series", lambda: prometheus.query(DRAFTS))
    wait_until("down", lambda: prometheus.value('up{job="vllm"}') == 0)
    wait_until("no series", lambda: not prometheus.query(DRAFTS))


def test_a_server_that_does_not_speculate_has_no_series_of_it(stack: Stack) -> None:
    with simulate(Profile(model="plain", time_scale=0.0)) as simulator:
        url, prometheus = watched(stack, [simulator.root_url])
        target = {"base_url": simulator.base_url, "model": "plain", "rounds": 2}
        run_application(url, [target])
        generated = 'sum(vllm:generation_tokens_total{model_name="plain"})'
        wait_until("its tokens", lambda: prometheus.value(generated))
        assert prometheus.query(DRAFTS) == []
        assert prometheus.query("job_model:vllm_draft_acceptance:ratio_rate5m") == []


PAGES = {
    "an escaped name": "vllm_spec_decode_num_drafts_total",
    "llama.cpp": "llamacpp:spec_decode_num_drafts_total",
    "llama.cpp, escaped": "llamacpp_spec_decode_num_drafts_total",
    "LMDeploy": "lmdeploy:spec_decode_num_drafts_total",
}


def page_of(text: str) -> AbstractContextManager[str]:
    class Handler(Quiet):
        def get(self) -> None:
            self.reply(text.encode(), kind="text/plain; version=0.0.4")

    return serving(Handler)


@pytest.mark.parametrize("server", PAGES)
def test_another_form_of_the_name_arrives_under_the_one(
    server: str, stack: Stack
) -> None:
    name = PAGES[server]
    created = name.replace("_total", "_created")
    text = (
        f'# TYPE {name} counter\n{name}{{model_name="m"}} 7\n'
        f'# TYPE {created} gauge\n{created}{{model_name="m"}} 1.7e9\n'
        "# TYPE something_else gauge\nsomething_else 1\n"
    )
    with page_of(text) as url:
        _, prometheus = watched(stack, [url])
        wait_until("the series", lambda: prometheus.value(f"sum({DRAFTS})") == 7)
        found = prometheus.query('{job="vllm", model_name!=""}')
        others = prometheus.query("something_else")
    assert {one["metric"]["__name__"] for one in found} == {DRAFTS}
    assert others == []
