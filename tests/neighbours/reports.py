"""Runs of `play.py`, each made once for a session, and read here."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matrix
import neighbours

PLAY = Path(__file__).with_name("play.py")
_LONGEST_S = 600

HTTP_THEMSELVES = ("httpx", "httpx2", "ddtrace")
"""Those that instrument the HTTP library, so that no other one is switched on."""

OUR_SCOPE = "otel_specdecode"
HTTP_SCOPE = "opentelemetry.instrumentation.httpx"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One scene that was played, by one of the two clients."""

    data: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.data['name']} {self.data['mode']}"

    @property
    def seen(self) -> tuple[Any, str | None]:
        """What the caller saw, and the exception that came instead."""
        return self.data["seen"], self.data["failure"]

    @property
    def spans(self) -> list[dict[str, Any]]:
        """Spans of this call's trace, the application's not among them.

        What an earlier call left open may end meanwhile.
        """
        every = self.data["spans"]
        traces = {each["trace"] for each in every if each["id"] == self.app}
        return [
            each for each in every if each["trace"] in traces and each["name"] != "app"
        ]

    @property
    def app(self) -> str:
        """Id of the application's span."""
        return self.data["app"]

    @property
    def traceparents(self) -> list[list[str]]:
        """Of each request that the server received, every such header."""
        return self.data["traceparents"]

    @property
    def app_is_current_after(self) -> bool:
        return self.data["app still current"]

    def recorded(self, metric: str, kind: str = "") -> list[tuple[str, float, float]]:
        """Return each scope that recorded a metric, how often and how much."""
        return [
            (scope, count, total)
            for key, (count, total) in self.data["points"].items()
            for scope, name, token_type in [key.split("|")]
            if (name, token_type) == (metric, kind)
        ]

    def num(self, metric: str, kind: str = "") -> float:
        """Return how often a metric was recorded, by whomever."""
        return sum(count for _, count, _ in self.recorded(metric, kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run."""

    data: dict[str, Any]

    @property
    def calls(self) -> list[Call]:
        return [Call(data=each) for each in self.data["calls"]]

    @property
    def complaints(self) -> list[str]:
        """What was logged, or warned of, that is about our part."""
        said = [*self.data["logs"], *self.data["warnings"]]
        about = ("otel_specdecode", "ended span", "different Context", "Overriding")
        return [each for each in said if any(word in each for word in about)]

    def after(self, off: str) -> dict[str, Any]:
        """What was left when one of the two had been switched off."""
        return next(each for each in self.data["after"] if each["off"] == off)

    def calls_after(self, off: str) -> list[Call]:
        return [Call(data=each) for each in self.after(off)["calls"]]


def together(name: str, on: str, off: str = "", **more: Any) -> Report:
    """Return the run of a neighbour and us.

    Args:
        name: the neighbour.
        on: who is switched on, in this order, such as `ours theirs`.
        off: who is switched off at the end, in this order.
        more: further parts of the plan.
    """
    if "theirs" not in on and name != "httpx":
        name = "httpx2"  # any environment with the same client will do
    return _run(name, json.dumps({"on": on.split(), "off": off.split(), **more}))


@functools.cache
def _run(name: str, plan: str) -> Report:
    asked = json.loads(plan)
    if name not in HTTP_THEMSELVES:
        asked["on"].append("http")
    switched = name if "theirs" in asked["on"] else "bare"
    python = matrix.python_of(neighbours.environment(name))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        ended = subprocess.run(
            [str(python), str(PLAY), switched, json.dumps(asked), str(report)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(matrix.ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout[-4000:]
        return Report(data=json.loads(report.read_text()))
