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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
import requests
from collector_programs import free_port, wait_until
from collector_stack import BUNDLE
from loopback import Quiet, serving

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

SHORTER_BY = 30
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
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


def shortened(text: str) -> str:
    """Rules with their windows, offsets and waits divided, names left alone."""

    def shorter(found: re.Match[str]) -> str:
        seconds = int(found["number"]) * SECONDS[found["unit"]]
        return f"{found['before']}{max(1, seconds // SHORTER_BY)}s"

    return re.sub(
        r"(?P<before>\[|offset |for: )(?P<number>[1-9]\d*)(?P<unit>[smhd])",
        shorter,
        text,
    )


@dataclass
class Webhook:
    """What Alertmanager said, as (alert, model, status)."""

    url: str = ""
    heard: set[tuple[str, str, str]] = field(default_factory=set)

    def take(self, body: bytes) -> None:
        for alert in json.loads(body)["alerts"]:
            labels = alert["labels"]
            model = labels.get("model_name", "")
            self.heard.add((labels["alertname"], model, alert["status"]))


@contextmanager
def listening(webhook: Webhook) -> Iterator[Webhook]:
    class Handler(Quiet):
        def post(self, body: bytes) -> None:
            webhook.take(body)
            self.reply()

    with serving(Handler) as webhook.url:
        yield webhook


class Traffic(threading.Thread):
    """Requests to one server, with a directive that can be changed meanwhile."""

    def __init__(self, base_url: str, model: str) -> None:
        super().__init__()
        self.directive = ""
        self._end = threading.Event()
        self._url = f"{base_url}/chat/completions"
        self._body = {
            "model": model,
            "messages": [{"role": "user", "content": "x"}],
            "max_tokens": 64,
        }

    def run(self) -> None:
        with requests.Session() as session:
            while not self._end.wait(0.3):
                headers = {"x-simulate": self.directive}
                answer = session.post(
                    self._url, json=self._body, headers=headers, timeout=30
                )
                assert answer.status_code == 200

    def stop(self) -> None:
        self._end.set()
        self.join()


@contextmanager
def traffic(base_url: str, model: str) -> Iterator[Traffic]:
    worker = Traffic(base_url, model)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def test_a_collapse_and_missing_drafts_are_told_and_taken_back(
    stack: Stack, tmp_path: Path
) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    for file in (BUNDLE / "prometheus" / "rules").glob("*.yml"):
        (rules / file.name).write_text(shortened(file.read_text()))
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
            rules=rules,
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
        wait_until("both taken back", lambda: taken_back <= webhook.heard)
    assert {one for one in webhook.heard if one[1] not in {"collapsing", "silent"}} == (
        set()
    )


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
