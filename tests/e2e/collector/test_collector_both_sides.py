"""An application, servers that speculate, the collector and its stores, together.

A real vLLM and the simulator with two engines serve; the application sends under the
wrapper; every rule, alert and panel of the bundle is then asked of the Prometheus that
they fed, and the traces of the Jaeger.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import generate
import pytest
import show
from backend import Backend, serving
from bundle_rules import expressions
from collector_programs import (
    Collector,
    Jaeger,
    Ports,
    Prometheus,
    free_port,
    wait_until,
)
from opentelemetry._logs import LogRecord
from panel_values import (
    LINES,
    SAME_ON_BOTH_SIDES,
    Line,
    as_growth,
    filled_in,
    inlined,
)
from traffic import run_application, send_counter, send_logs
from vllm_server import METHODS, serve

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collector_stack import Stack

pytestmark = pytest.mark.e2e

SIMULATED = Profile(
    model="simulated",
    num_engines=2,
    time_scale=0.02,
    timing_fields=True,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.9, 0.6, 0.3)),
)
MODELS = ("simulated", "spec-demo")
CLIENT_SUMS = (
    "requests",
    "output_tokens",
    "content_chunks",
    "spec_steps",
    "draft_tokens",
    "accepted_tokens",
)


@dataclass(frozen=True)
class BothSides:
    """What ran, and what the application said of itself."""

    collector: Collector
    prometheus: Prometheus
    jaeger: Jaeger
    recorded: dict[str, Any]


@pytest.fixture(scope="module")
def sides(
    module_stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BothSides]:
    ports, prometheus_port = Ports(), free_port()
    traces = ("--otlp-traces-endpoint", f"http://127.0.0.1:{ports.grpc}")
    log: Path = tmp_path_factory.mktemp("vllm") / "vllm.log"
    with (
        simulate(SIMULATED) as simulator,
        serving(Backend()) as logs,
        serve(METHODS["ngram"], log, extra_flags=traces) as vllm,
    ):
        jaeger = module_stack.jaeger()
        servers = [simulator.root_url, vllm.url]
        collector = module_stack.collector(
            "export-prometheus-otlp",
            "export-traces",
            "export-logs",
            ports=ports,
            env={
                "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{prometheus_port}",
                "SPECDECODE_TRACES_ENDPOINT": jaeger.otlp,
                "SPECDECODE_LOGS_ENDPOINT": logs.url,
                "SPECDECODE_VLLM_TARGETS": json.dumps(
                    [url.removeprefix("http://") for url in servers]
                ),
            },
        )
        prometheus = module_stack.prometheus(collector=collector, port=prometheus_port)
        # What the counters stood at before the first request.
        wait_until(
            "the first scrape of both servers",
            lambda: prometheus.value('sum(up{job="vllm"})') == len(servers),
        )
        # What does not happen here by itself; a panel and an alert wait for it.
        send_counter(
            collector.url,
            "specdecode.client.telemetry_dropped",
            3,
            {"specdecode.reason": "failed"},
        )
        event = LogRecord(event_name="gen_ai.client.inference.operation.details")
        send_logs(collector.url, "other", event)
        recorded = run_application(
            collector.url,
            [
                {"base_url": simulator.base_url, "model": "simulated", "rounds": 4},
                {"base_url": f"{vllm.url}/v1", "model": "spec-demo", "rounds": 4},
            ],
            pause_s=0.6,
        )
        wait_until(
            "the servers' last scrape after the application's last request",
            lambda: all(
                server_sum(prometheus, "generation_tokens", model)
                == recorded[model]["output_tokens"]
                for model in MODELS
            ),
        )
        yield BothSides(collector, settled(prometheus), jaeger, recorded)


def settled(prometheus: Prometheus) -> Prometheus:
    """Asked for the instant at which rules have seen all that there is.

    Rates look back a minute: on a machine with other work, tests that asked for now
    would find the traffic gone from their windows.
    """
    last = time.time()
    evaluated = "timestamp(model:specdecode_client_coverage:ratio_rate5m)"
    wait_until(
        "the rules after the last sample",
        lambda: (prometheus.value(f"min({evaluated})") or 0.0) > last,
    )
    return prometheus.as_of(time.time())


def client_sum(prometheus: Prometheus, name: str, model: str) -> float | None:
    series = f'specdecode_client_{name}_total{{gen_ai_response_model="{model}"}}'
    return prometheus.value(f"sum({series})")


def server_sum(prometheus: Prometheus, name: str, model: str) -> float | None:
    return prometheus.value(f'sum(vllm:{name}_total{{model_name="{model}"}})')


@pytest.mark.parametrize("model", MODELS)
def test_prometheus_has_exactly_what_the_clients_recorded(
    model: str, sides: BothSides
) -> None:
    stored = {name: client_sum(sides.prometheus, name, model) for name in CLIENT_SUMS}
    assert stored == {name: sides.recorded[model][name] for name in CLIENT_SUMS}


@pytest.mark.parametrize("model", MODELS)
def test_the_servers_counted_exactly_what_the_clients_were_told(
    model: str, sides: BothSides
) -> None:
    clients = {
        name: client_sum(sides.prometheus, name, model) for name in SAME_ON_BOTH_SIDES
    }
    servers = {
        name: server_sum(sides.prometheus, theirs, model)
        for name, theirs in SAME_ON_BOTH_SIDES.items()
    }
    assert clients == servers


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("rule", "recorded"),
    [
        ("model:specdecode_client_draft_acceptance:ratio_rate5m", "rate"),
        ("job_model:vllm_draft_acceptance:ratio_rate5m", "rate"),
        ("model:specdecode_client_mean_acceptance_length:rate5m", "length"),
        ("job_model:vllm_mean_acceptance_length:rate5m", "length"),
        ("model:specdecode_client_undercount_factor:ratio_rate5m", "factor"),
    ],
)
def test_the_rules_ratios_are_those_of_the_records(
    rule: str, recorded: str, model: str, sides: BothSides
) -> None:
    own = sides.recorded[model]
    expected = {
        "rate": own["draft_acceptance_rate"],
        "length": own["mean_acceptance_length"],
        "factor": own["stream_tokens"] / own["content_chunks"],
    }
    query = as_growth(inlined(rule, expressions("record")))
    (value,) = (
        float(one["value"][1])
        for one in sides.prometheus.query(query)
        if one["metric"]["model_name"] == model
    )
    assert value == pytest.approx(expected[recorded], rel=1e-9)


# It looks back over an hour; the live test of alerts runs it with shorter windows.
NEEDS_AN_HOUR = {"job_model:vllm_draft_acceptance:ratio_baseline1h"}
# Streams that end without usage, and adapters, of which there are none here.
OF_WHAT_DID_NOT_HAPPEN = {
    "model:specdecode_client_streams_without_usage:rate5m",
    "model:vllm_lora_adapter_of_drafting_server:present1h",
}


@pytest.mark.parametrize("rule", sorted(expressions("record")))
def test_a_recording_rule_has_data_for_every_model(rule: str, sides: BothSides) -> None:
    seen = {one["metric"].get("model_name") for one in sides.prometheus.query(rule)}
    if rule in NEEDS_AN_HOUR | OF_WHAT_DID_NOT_HAPPEN:
        assert seen == set()
    else:
        assert seen == set(MODELS)


def test_the_application_that_counts_chunks_is_named(sides: BothSides) -> None:
    expr = expressions("alert")["SpecDecodeChunkCountingSites"]
    found = [one["metric"] for one in sides.prometheus.query(expr)]
    assert found == [{"job": "application", "specdecode_rule": "SPD001"}]


def test_every_alert_can_be_computed_and_only_what_happened_fires(
    sides: BothSides,
) -> None:
    true_now = {
        name
        for name, expr in expressions("alert").items()
        if sides.prometheus.query(expr)
    }
    assert true_now == {"SpecDecodeChunkCountingSites", "SpecDecodeTelemetryDropped"}


TARGETS = [
    pytest.param(target, id=f"{name}:{panel['title']}:{target['legendFormat']}")
    for name, text in generate.rendered().items()
    for panel in json.loads(text)["panels"]
    for target in panel.get("targets", ())
]
# A collector that never failed has no series of its failures.
NEVER_FAILED = ("exporter_send_failed", "exporter_enqueue_failed")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("line", LINES, ids=str)
def test_a_panel_shows_what_the_records_say(
    line: Line, model: str, sides: BothSides
) -> None:
    shown = line.shown(sides.prometheus, model)
    assert shown == pytest.approx(line.value(sides.recorded[model]), rel=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_a_panels_query_returns_data(target: dict[str, Any], sides: BothSides) -> None:
    series = sides.prometheus.query(filled_in(target["expr"]))
    if any(name in target["expr"] for name in NEVER_FAILED):
        assert series == []
    else:
        assert series
        assert all(one["value"][1] != "NaN" for one in series)


@pytest.mark.parametrize("target", TARGETS)
def test_a_panels_legend_uses_labels_that_its_series_have(
    target: dict[str, Any], sides: BothSides
) -> None:
    template = target["legendFormat"]
    for one in sides.prometheus.query(filled_in(target["expr"])):
        labels = set(one["metric"])
        named = {part.split("}}")[0] for part in template.split("{{")[1:]}
        assert named <= labels


def rendered(sides: BothSides) -> str:
    return show.render(sides.prometheus.url, minutes=3, end=sides.prometheus.at)


def test_the_page_that_people_see_has_no_empty_panel(sides: BothSides) -> None:
    page = rendered(sides)
    panels = re.findall(r"<h4>([^<]+)</h4>(.*?)</section>", page, re.DOTALL)
    assert len(panels) == len({param.id.rpartition(":")[0] for param in TARGETS})
    assert [title for title, inside in panels if "No data" in inside] == []


# Runs in the page: the title of the document becomes what does not fit, of titles and
# of the figures at an axis.
MEASURE = """<script>
const titles = [...document.querySelectorAll("h4")]
  .filter(one => one.scrollWidth > one.clientWidth);
const figures = [...document.querySelectorAll("svg text")]
  .filter(one => one.getBBox().x < 0);
document.title = "cut: " + [...titles, ...figures].map(one => one.textContent)
  .join("; ");
</script>"""


@pytest.mark.full
def test_every_title_and_figure_fits_its_panel_in_a_browser(
    sides: BothSides, tmp_path: Path
) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        assert os.environ.get("CI") != "true", (
            "expected chromium on the path: apt-get install chromium"
        )
        pytest.skip("no chromium on the path")
    page = tmp_path / "page.html"
    page.write_text(rendered(sides) + MEASURE)
    command = (
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
        *("--window-size=1280,900", page.as_uri()),
    )
    seen = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    )
    assert "<title>cut: </title>" in seen.stdout


def test_the_servers_names_arrive_with_their_colon_and_without_created_series(
    sides: BothSides,
) -> None:
    series = sides.prometheus.query('group by (__name__) ({__name__=~"vllm.+"})')
    names = {one["metric"]["__name__"] for one in series}
    assert "vllm:spec_decode_num_drafts_total" in names
    assert {name for name in names if not name.startswith("vllm:")} == set()
    assert {name for name in names if name.endswith("_created")} == set()


def spans_by_name(trace: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for span in trace["spans"]:
        found.setdefault(span["operationName"], []).append(span)
    return found


@pytest.fixture(scope="module")
def trace(sides: BothSides) -> dict[str, list[dict[str, Any]]]:
    def whole() -> dict[str, list[dict[str, Any]]] | None:
        stored = sides.jaeger.trace(sides.recorded["traces"]["spec-demo"])
        spans = spans_by_name(stored) if stored else {}
        return spans if len(spans.get("llm_request", ())) == 4 else None

    # vLLM exports its spans every five seconds.
    return wait_until("the spans of vLLM in the trace store", whole)


def test_vllms_span_is_a_child_of_the_clients(
    trace: dict[str, list[dict[str, Any]]],
) -> None:
    clients = {span["spanID"] for span in trace["chat spec-demo"]}
    parents = {span["references"][0]["spanID"] for span in trace["llm_request"]}
    assert parents == clients


def test_vllms_span_is_completed(trace: dict[str, list[dict[str, Any]]]) -> None:
    tags = {tag["key"]: tag["value"] for tag in trace["llm_request"][0]["tags"]}
    assert tags["gen_ai.usage.output_tokens"] == tags["gen_ai.usage.completion_tokens"]
    assert tags["gen_ai.usage.input_tokens"] == tags["gen_ai.usage.prompt_tokens"]
    assert (tags["gen_ai.provider.name"], tags["gen_ai.operation.name"]) == (
        "vllm",
        "chat",
    )
