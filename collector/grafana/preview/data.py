"""Asks a Prometheus for what the panels show."""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series of a panel.

    Attributes:
        name: its legend, with the labels filled in.
        points: Unix time in seconds and value, in order of time.
    """

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A Prometheus, and the time that a page shows.

    Attributes:
        url: base URL, without `/api`.
        start: left edge, Unix seconds.
        end: right edge, Unix seconds.
        step_s: distance of two points, seconds.
        rate_interval: what stands for `$__rate_interval`, such as `1m`.
    """

    url: str
    start: float
    end: float
    step_s: float
    rate_interval: str = "1m"

    def lines(self, target: Mapping[str, Any]) -> list[Line]:
        """The series of one query: its last values, or its course."""
        fields = {"query": self._filled_in(target["expr"])}
        if target["instant"]:
            found = self._get("query", {**fields, "time": f"{self.end:.3f}"})
            points: list[Sequence[Sequence[Any]]] = [[one["value"]] for one in found]
        else:
            window = {"start": f"{self.start:.3f}", "end": f"{self.end:.3f}"}
            step = {"step": f"{self.step_s:g}"}
            found = self._get("query_range", fields | window | step)
            points = [one["values"] for one in found]
        lines = [
            Line(
                name=_legend(target["legendFormat"], one["metric"]),
                points=tuple((float(at), float(value)) for at, value in values),
            )
            for one, values in zip(found, points, strict=True)
        ]
        # Prometheus promises no order, and a colour should stay with its name.
        return sorted(lines, key=lambda line: line.name)

    def _filled_in(self, expr: str) -> str:
        for name, value in {
            "__rate_interval": self.rate_interval,
            "job": ".+",
            "instance": ".+",
            "model": ".*",
        }.items():
            expr = expr.replace(f"${name}", value)
        return expr

    def _get(self, path: str, fields: Mapping[str, str]) -> list[dict[str, Any]]:
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(fields)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return result


def _legend(template: str, labels: Mapping[str, str]) -> str:
    name = re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), template)
    return " ".join(name.split())
