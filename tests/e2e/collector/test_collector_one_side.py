"""What rules, alerts and panels say where only one side is there, or neither."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import generate
import pytest
from bundle_rules import expressions
from collector_programs import free_port, wait_until
from panel_values import as_growth, filled_in
from traffic import run_application

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collector_programs import Prometheus
    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

# A label may hold anything; a panel's pattern must still find it.
MODEL = 'org/Model-7.1 B/ü:"q"'
PROFILE = Profile(
    model=MODEL,
    time_scale=0.0,
    timing_fields=True,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.8, 0.5)),
)
CLIENTS = "specdecode_client_output_tokens_total"
SERVERS = "vllm:generation_tokens_total"
NOBODY = "http://127.0.0.1:1"


class Seen(NamedTuple):
    """A Prometheus after all has arrived, and what the application recorded."""

    prometheus: Prometheus
    recorded: dict[str, Any]


def watched(stack: Stack, *, sends: bool, scrapes: bool, asks: bool = True) -> Seen:
    port = free_port()
    with simulate(PROFILE) as server:
        address = server.root_url.removeprefix("http://")
        collector = stack.collector(
            "export-prometheus-otlp",
            env={
                "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
                "SPECDECODE_VLLM_TARGETS": json.dumps([address] if scrapes else []),
            },
        )
        prometheus = stack.prometheus(collector=collector, port=port)
        wait_until(
            "the first scrapes",
            lambda: (
                prometheus.query("otelcol_process_memory_rss")
                and (not scrapes or prometheus.query(SERVERS))
            ),
        )
        recorded: dict[str, Any] = {}
        if asks:
            target = {"base_url": server.base_url, "model": MODEL, "rounds": 3}
            to = collector.url if sends else NOBODY
            recorded = run_application(to, [target])[MODEL]
            series = CLIENTS if sends else SERVERS
            wait_until(
                "the last request",
                lambda: prometheus.value(f"sum({series})") == recorded["output_tokens"],
            )
        else:
            # Two scrapes are what a rate takes.
            wait_until(
                "a rate of nothing",
                lambda: prometheus.query(f"rate({SERVERS}[1m])") or not scrapes,
            )
        return Seen(prometheus.as_of(time.time()), recorded)


@pytest.fixture(scope="module")
def clients_alone(module_stack: Stack) -> Seen:
    return watched(module_stack, sends=True, scrapes=False)


@pytest.fixture(scope="module")
def servers_alone(module_stack: Stack) -> Seen:
    return watched(module_stack, sends=False, scrapes=True)


@pytest.fixture(scope="module")
def idle(module_stack: Stack) -> Seen:
    return watched(module_stack, sends=False, scrapes=True, asks=False)


@pytest.fixture(scope="module")
def nobody(module_stack: Stack) -> Seen:
    return watched(module_stack, sends=False, scrapes=False, asks=False)


STATES = ("clients_alone", "servers_alone", "idle", "nobody")
RULES = {**expressions("record"), **expressions("alert")}
# Those on the collector are about the moment: a batch may wait just now.
ALERTS = {name for name in RULES if name.startswith("SpecDecode")}
PANELS = {
    (name, panel["title"], target["legendFormat"]): (
        filled_in(target["expr"]),
        panel["fieldConfig"]["defaults"]["unit"],
    )
    for name, text in generate.rendered().items()
    for panel in json.loads(text)["panels"]
    for target in panel.get("targets", ())
}
HEALTH = "specdecode-health.json"


@pytest.mark.parametrize("state", STATES)
def test_nothing_is_an_error_and_nothing_is_no_number(
    state: str, request: pytest.FixtureRequest
) -> None:
    seen: Seen = request.getfixturevalue(state)
    queries = {**RULES, **{str(key): query for key, (query, _) in PANELS.items()}}
    values = {
        name: [one["value"][1] for one in seen.prometheus.query(query)]
        for name, query in queries.items()
    }
    wrong = {"NaN", "+Inf", "-Inf"}
    assert {name for name, found in values.items() if wrong & set(found)} == set()


def shown(seen: Seen) -> set[tuple[str, str, str]]:
    return {
        key
        for key, (query, _) in PANELS.items()
        if key[0] != HEALTH and seen.prometheus.query(query)
    }


def test_where_nobody_reports_no_panel_rule_or_alert_has_anything(nobody: Seen) -> None:
    assert shown(nobody) == set()
    assert {name for name, expr in RULES.items() if nobody.prometheus.query(expr)} == (
        set()
    )


def test_of_a_server_without_traffic_no_ratio_or_time_is_shown(idle: Seen) -> None:
    found = shown(idle)
    assert {PANELS[key][1] for key in found} == {"reqps", "short"}
    assert ("specdecode-overview.json", "Acceptance rate", "{{model_name}}") not in (
        found
    )
    ratios = {name for name in RULES if ":ratio_" in name or "_length:" in name}
    assert {name for name in ratios if idle.prometheus.query(RULES[name])} == set()


def test_clients_alone_fill_what_is_about_clients_and_the_headlines(
    clients_alone: Seen,
) -> None:
    prometheus, recorded = clients_alone
    for title, key in (
        ("Acceptance rate", "draft_acceptance_rate"),
        ("Effective tokens per step", "mean_acceptance_length"),
    ):
        query, _ = PANELS["specdecode-overview.json", title, "{{model_name}}"]
        (one,) = prometheus.query(as_growth(query))
        assert one["metric"]["model_name"] == MODEL
        assert float(one["value"][1]) == pytest.approx(recorded[key], rel=1e-9)
    servers = {name for name in RULES if ":vllm_" in name}
    assert {name for name in servers if prometheus.query(RULES[name])} == set()


def test_servers_alone_fill_what_is_about_servers(servers_alone: Seen) -> None:
    clients = {name for name in RULES if ":specdecode_client" in name}
    prometheus = servers_alone.prometheus
    assert {name for name in clients if prometheus.query(RULES[name])} == set()
    query, _ = PANELS["specdecode-overview.json", "Acceptance rate", "{{model_name}}"]
    (one,) = prometheus.query(as_growth(query))
    assert float(one["value"][1]) == pytest.approx(
        servers_alone.recorded["draft_acceptance_rate"], rel=1e-9
    )


@pytest.mark.parametrize(
    ("state", "true_now"),
    [
        (
            "clients_alone",
            # Nobody scrapes the server that the clients see speculate.
            {"SpecDecodeChunkCountingSites", "SpecDecodeServerMetricsAbsent"},
        ),
        ("servers_alone", set[str]()),
        ("idle", set[str]()),
    ],
)
def test_alerts_are_about_what_is_there(
    state: str, true_now: set[str], request: pytest.FixtureRequest
) -> None:
    seen: Seen = request.getfixturevalue(state)
    # How much traffic there is in five minutes depends on the machine.
    expected = true_now - {"SpecDecodeServerMetricsAbsent"}
    found = {name for name in ALERTS if seen.prometheus.query(RULES[name])}
    assert expected <= found <= true_now
