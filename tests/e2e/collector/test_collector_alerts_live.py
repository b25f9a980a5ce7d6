"""Alerts reach a receiver through a real Alertmanager, and leave it again.

The bundle's own rules run with every duration thirty times shorter: 5 minutes are 10
seconds here. Three models are served; one collapses, one stops drafting, and one goes
on as before.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest
import requests
from alerting import Webhook, faster_rules, listening, shortened, traffic
from collector_programs import free_port, wait_until
from loopback import Quiet, serving
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from traffic import run_application

import otel_specdecode
from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

STEADY = Profile(
    model="steady",
    time_scale=0.0,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.8, 0.6, 0.4)),
)
PROFILES = (
    STEADY,
    replace(STEADY, model="collapsing"),
    replace(STEADY, model="silent"),
)


def test_a_collapse_and_missing_drafts_are_told_and_taken_back(
    stack: Stack, tmp_path: Path
) -> None:
    with ExitStack() as started:
        webhook = started.enter_context(listening(Webhook()))
        servers = [started.enter_context(simulate(profile)) for profile in PROFILES]
        workers = {
            server.model: started.enter_context(traffic(server.base_url, server.model))
            for server in servers
        }
        port = free_port()
        stack.collector(
            "export-prometheus-otlp",
            env={
                "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
                "SPECDECODE_VLLM_TARGETS": json.dumps(
                    [server.root_url.removeprefix("http://") for server in servers]
                ),
            },
        )
        prometheus = stack.prometheus(
            alertmanager_port=stack.alertmanager(webhook=webhook.url),
            port=port,
            rules=faster_rules(tmp_path),
        )
        baseline = "count(job_model:vllm_draft_acceptance:ratio_baseline1h)"
        wait_until("a baseline of all three", lambda: prometheus.value(baseline) == 3)
        assert webhook.heard == set()

        workers["collapsing"].directive = "acceptance=0.1"
        workers["silent"].directive = "coverage=0"
        told = {
            ("SpecDecodeAcceptanceCollapse", "collapsing", "firing"),
            ("SpecDecodeNoDraftsWhileGenerating", "silent", "firing"),
        }
        wait_until("both alerts", lambda: told <= webhook.heard)

        workers["collapsing"].directive = workers["silent"].directive = ""
        taken_back = {(name, model, "resolved") for name, model, _ in told}
        wait_until("both taken back", lambda: taken_back <= webhook.heard, within_s=180)
    assert {one for one in webhook.heard if one[1] not in {"collapsing", "silent"}} == (
        set()
    )


@contextmanager
def instrumented(
    otlp_url: str, base_url: str, model: str, **header: str
) -> Iterator[None]:
    """Streams under the wrapper, a few each second, with what they count exported."""
    reader = PeriodicExportingMetricReader(
        OTLPMetricExporter(endpoint=f"{otlp_url}/v1/metrics"),
        export_interval_millis=1000,
    )
    resource = Resource({"service.name": "app", "service.instance.id": model})
    meters = MeterProvider(resource=resource, metric_readers=[reader])
    end = threading.Event()
    request: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 100,
        "stream": True,
    }

    def send() -> None:
        with openai.OpenAI(
            base_url=base_url, api_key="made-up", default_headers=header
        ) as bare:
            chat = otel_specdecode.wrap(bare, meter_provider=meters).chat.completions
            while not end.wait(0.3):
                list(chat.create(**request))

    worker = threading.Thread(target=send)
    worker.start()
    try:
        yield
    finally:
        end.set()
        worker.join()
        meters.shutdown()


@contextmanager
def misreporting(root_url: str) -> Iterator[str]:
    """A server's page as of one that counts half of its steps, and less of what
    they accept than it tells its clients.
    """

    def halved(found: re.Match[str]) -> str:
        part = 0.25 if "num_accepted_tokens_total" in found["series"] else 0.5
        return f"{found['series']} {part * float(found['value'])}"

    class Handler(Quiet):
        def get(self) -> None:
            page = requests.get(f"{root_url}/metrics", timeout=30)
            text = re.sub(
                r"^(?P<series>vllm:spec_decode_\S+) (?P<value>\S+)$",
                halved,
                page.text,
                flags=re.MULTILINE,
            )
            self.reply(text.encode(), kind=page.headers["Content-Type"])

    with serving(Handler) as url:
        yield url


def test_each_other_fault_that_can_be_caused_is_told(
    stack: Stack, tmp_path: Path
) -> None:
    useless, repeating, gone, silent, misread = (
        replace(STEADY, model=name)
        for name in ("useless", "repeating", "gone", "without-usage", "misread")
    )
    # Longer drafts than a client counts the positions of.
    deep = Speculation(method="ngram", acceptance_by_position=(0.99,) * 80)
    unseen = replace(STEADY, model="unseen", speculation=deep)
    with ExitStack() as started:
        webhook = started.enter_context(listening(Webhook()))
        scraped = [
            started.enter_context(simulate(one)) for one in (useless, repeating, silent)
        ]
        true = started.enter_context(simulate(misread))
        told_wrong = started.enter_context(misreporting(true.root_url))
        leaves = started.enter_context(ExitStack())
        leaving = leaves.enter_context(simulate(gone))
        for server, directive in zip(scraped[:2], ("0.02", "1"), strict=True):
            sender = started.enter_context(traffic(server.base_url, server.model))
            sender.directive = f"acceptance={directive}"
        port = free_port()
        collector = stack.collector(
            "export-prometheus-otlp",
            env={
                "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
                "SPECDECODE_VLLM_TARGETS": json.dumps(
                    [
                        url.removeprefix("http://")
                        for url in (
                            *(server.root_url for server in (*scraped, leaving)),
                            told_wrong,
                        )
                    ]
                ),
            },
        )
        # Beside it, one whose backend is away and whose queue holds next to nothing.
        stuck = stack.collector(
            "export-otlp",
            env={"SPECDECODE_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"},
            settings=("exporters::otlp_http/metrics::sending_queue::queue_size: 5",),
        )
        prometheus = stack.prometheus(
            collector=stuck,
            alertmanager_port=stack.alertmanager(webhook=webhook.url),
            port=port,
            rules=faster_rules(tmp_path),
        )
        wait_until("every server", lambda: prometheus.value('sum(up{job="vllm"})') == 5)
        leaves.close()
        away = started.enter_context(simulate(unseen))
        for url in (collector.url, stuck.url):
            started.enter_context(instrumented(url, away.base_url, "unseen"))
        started.enter_context(
            instrumented(
                collector.url,
                scraped[2].base_url,
                "without-usage",
                **{"x-simulate": "usage=absent"},
            )
        )
        started.enter_context(instrumented(collector.url, true.base_url, "misread"))
        target = {"base_url": true.base_url, "model": "misread", "rounds": 1}
        run_application(collector.url, [target])
        told = {
            "SpecDecodeAcceptanceLengthNearOne",
            "SpecDecodeFirstPositionLow",
            "SpecDecodeAcceptanceSuspiciouslyHigh",
            "SpecDecodeServerScrapeDown",
            "SpecDecodeServerMetricsAbsent",
            "SpecDecodeUsageMissing",
            "SpecDecodeClientServerDivergence",
            "SpecDecodeChunkCountingSites",
            "SpecDecodeTelemetryDropped",
            "OtelCollectorNotSending",
            "OtelCollectorQueueFilling",
            "OtelCollectorSendFailed",
            "OtelCollectorRefusing",
        }
        wait_until(
            "all of them",
            lambda: told <= {name for name, _, _ in webhook.heard},
            within_s=300,
        )
        stuck.program.stop()
        told.add("OtelCollectorDown")
        wait_until(
            "the collector missed",
            lambda: told <= {name for name, _, _ in webhook.heard},
        )
    assert {name for name, _, _ in webhook.heard} == told


def test_rules_are_shortened_in_their_durations_alone() -> None:
    text = (
        "record: a:rate5m\n"
        "expr: rate(x[5m]) > sum_over_time(y[1h] offset 15m)\n"
        "for: 10m"
    )
    assert shortened(text) == (
        "record: a:rate5m\n"
        "expr: rate(x[10s]) > sum_over_time(y[120s] offset 30s)\n"
        "for: 20s"
    )
