"""Alerts heard live: faster rules, a webhook, and traffic that can be changed."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import requests
from collector_stack import BUNDLE
from loopback import Quiet, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHORTER_BY = 30
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


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


def faster_rules(folder: Path) -> Path:
    """The bundle's rules in a new folder, with every duration shortened."""
    rules = folder / "rules"
    rules.mkdir()
    for file in (BUNDLE / "prometheus" / "rules").glob("*.yml"):
        (rules / file.name).write_text(shortened(file.read_text()))
    return rules
