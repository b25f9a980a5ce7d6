"""What the panels and rules must show for records whose sums are known.

They show rates, which stretch each series to its window, and a series that begins at
0 otherwise than one that does not. Here each rate of their own queries becomes the
exact growth of the same series, so that sums and ratios must equal those of the
records, and not about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import generate

if TYPE_CHECKING:
    from collector_programs import Prometheus

_RATE = re.compile(r"rate\(([\w:]+(?:\{[^}]*\})?)\[(?:\$__rate_interval|\w+)\]\)")
_GROWTH = r"(max_over_time(\1[10m]) - min_over_time(\1[10m]))"
_MODEL_LABELS = ("model_name", "gen_ai_response_model")
_POSITION_LABELS = ("position", "specdecode_position")
Sums = dict[str, Any]
SAME_ON_BOTH_SIDES = {
    "draft_tokens": "spec_decode_num_draft_tokens",
    "accepted_tokens": "spec_decode_num_accepted_tokens",
    "spec_steps": "spec_decode_num_drafts",
    "output_tokens": "generation_tokens",
    "requests": "request_success",
}
"""What clients and servers count alike: our counter, and vLLM's."""


@dataclass(frozen=True)
class Line:
    """One line of a panel, and what it is of the sums over the records.

    Attributes:
        legend: how its legend begins.
        value: a number, or one for each position.
    """

    dashboard: str
    title: str
    legend: str
    value: Callable[[Sums], float | Mapping[str, float]]

    def __str__(self) -> str:
        return f"{self.dashboard}:{self.title}:{self.legend}"

    def shown(self, prometheus: Prometheus, model: str) -> float | dict[str, float]:
        """What the panel shows of a model, when that model is chosen in `$model`."""
        found: dict[str, float] = {}
        for one in prometheus.query(as_growth(self._query(), model)):
            labels = one["metric"]
            assert model in {labels.get(name) for name in _MODEL_LABELS}
            position = next((labels[x] for x in _POSITION_LABELS if x in labels), "")
            assert position not in found
            found[position] = float(one["value"][1])
        return found.get("", found) if set(found) == {""} else found

    def _query(self) -> str:
        text = generate.rendered()[f"specdecode-{self.dashboard}.json"]
        (query,) = (
            target["expr"]
            for panel in json.loads(text)["panels"]
            if panel["title"] == self.title
            for target in panel["targets"]
            if target["legendFormat"].startswith(self.legend)
        )
        return query


def filled_in(expr: str, model: str = ".*") -> str:
    """A query with Grafana's variables as somebody set them."""
    values = {"__rate_interval": "1m", "job": ".+", "instance": ".+", "model": model}
    for name, value in values.items():
        expr = expr.replace(f"${name}", value)
    return expr


def inlined(record: str, rules: Mapping[str, str]) -> str:
    """A recording rule's query with those of the records that it names put in."""
    return re.sub(
        "|".join(rf"(?<![\w:]){name}(?![\w:])" for name in rules),
        lambda named: f"({inlined(named[0], rules)})",
        rules[record],
    )


def as_growth(expr: str, model: str = ".*") -> str:
    """The query with the growth of each series in place of its rate."""
    grown, changed = _RATE.subn(_GROWTH, expr)
    assert changed
    assert "rate(" not in grown
    return filled_in(grown, model)


def _rate(sums: Sums) -> float:
    return sums["accepted_tokens"] / sums["draft_tokens"]


def _length(sums: Sums) -> float:
    return 1 + sums["accepted_tokens"] / sums["spec_steps"]


def _wasted(sums: Sums) -> float:
    return sums["draft_tokens"] - sums["accepted_tokens"]


def _by_position(sums: Sums) -> dict[str, float]:
    return {
        str(at): accepted / sums["spec_steps"]
        for at, accepted in enumerate(sums["accepted_by_position"])
    }


def _of(name: str) -> Callable[[Sums], float]:
    return lambda sums: sums[name]


def _both(
    dashboard: str, title: str, value: Callable[[Sums], float]
) -> tuple[Line, ...]:
    return tuple(
        Line(dashboard, title, side, value) for side in ("server ", "clients ")
    )


LINES = (
    Line("overview", "Acceptance rate", "{{", _rate),
    Line("overview", "Effective tokens per step", "{{", _length),
    Line(
        "overview",
        "Chunks undercount tokens by",
        "{{",
        lambda sums: sums["stream_tokens"] / sums["content_chunks"],
    ),
    *_both("overview", "Acceptance rate over time", _rate),
    *_both("overview", "Effective tokens per step over time", _length),
    *_both("overview", "Output tokens per second", _of("output_tokens")),
    *_both("sides", "Acceptance rate", _rate),
    *_both("sides", "Mean acceptance length", _length),
    *_both("sides", "Draft tokens per second", _of("draft_tokens")),
    Line("sides", "Drafts that clients account for", "{{", lambda _: 1.0),
    *_both("sides", "Output tokens per second", _of("output_tokens")),
    *_both("sides", "Requests per second", _of("requests")),
    Line("positions", "Accepted by position, servers", "{{", _by_position),
    Line("positions", "Accepted by position, clients", "{{", _by_position),
    Line("positions", "Acceptance by position over time, servers", "{{", _by_position),
    Line("positions", "Acceptance by position over time, clients", "{{", _by_position),
    *_both("positions", "Speculative steps per second", _of("spec_steps")),
    Line(
        "cost",
        "Draft tokens per second, kept and thrown away",
        "kept ",
        _of("accepted_tokens"),
    ),
    Line(
        "cost", "Draft tokens per second, kept and thrown away", "thrown away ", _wasted
    ),
    Line(
        "cost", "Share of draft tokens thrown away", "{{", lambda sums: 1 - _rate(sums)
    ),
    Line(
        "cost",
        "Tokens thrown away for each output token",
        "{{",
        lambda sums: _wasted(sums) / sums["output_tokens"],
    ),
    Line(
        "cost",
        "Draft length",
        "{{",
        lambda sums: sums["draft_tokens"] / sums["spec_steps"],
    ),
    Line(
        "cost",
        "Output tokens from drafts",
        "{{",
        lambda sums: sums["accepted_tokens"] / sums["output_tokens"],
    ),
)
