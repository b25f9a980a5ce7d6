"""What a dashboard is here, and the JSON that Grafana 10.4 and newer reads.

Everything that grafana/dashboard-linter asks for is set in this one place: templated
datasource, job and instance, a description and a unit on each panel, a legend on each
target, and no editing of what a generator writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCHEMA_VERSION = 39  # Grafana 10.4
WIDTH = 24
TAG = "speculative-decoding"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One query of a panel.

    Attributes:
        expr: PromQL, with the dashboard's variables.
        legend: name of each series, as `{{label}}` templates.
    """

    expr: str
    legend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        title: what stands above it.
        description: what is measured, by whom, and what absence means.
        unit: Grafana's unit id, such as `percentunit`, `s` or `short`.
        targets: its queries.
        kind: Grafana's panel type.
        width: of 24 columns.
        height: in Grafana's rows, 30 pixels each.
        decimals: digits of a value; `None` leaves them to Grafana.
        smallest: lower end of the axis; `None` leaves it to the data.
        largest: upper end of the axis; `None` leaves it to the data.
        stacked: series on top of each other, where they are parts of one whole.
    """

    title: str
    description: str
    unit: str
    targets: tuple[Target, ...]
    kind: str = "timeseries"
    width: int = 12
    height: int = 8
    decimals: int | None = None
    smallest: float | None = 0
    largest: float | None = None
    stacked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A headline and the panels under it."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One dashboard; `uid` never changes, since links and bookmarks hold it."""

    uid: str
    title: str
    description: str
    rows: tuple[Row, ...]


def to_json(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard as Grafana provisions it."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [_links_to_the_others()],
        "templating": {"list": _variables()},
        "annotations": {"list": []},
        "panels": _placed(dashboard.rows),
    }


def _links_to_the_others() -> dict[str, Any]:
    return {
        "type": "dashboards",
        "title": "Speculation",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "icon": "external link",
    }


# Series of which every dashboard has at least one; they name jobs and instances.
_ANCHORS = (
    "vllm:generation_tokens_total|vllm_generation_tokens_total"
    "|specdecode_client_requests_total|otelcol_exporter_queue_capacity"
)


def _variables() -> list[dict[str, Any]]:
    anchors = f'{{__name__=~"{_ANCHORS}"}}'
    of_jobs = f'{{__name__=~"{_ANCHORS}", job=~"$job"}}'
    return [
        {
            "name": "datasource",
            "label": "Data source",
            "type": "datasource",
            "query": "prometheus",
            "hide": 0,
            "current": {},
        },
        _query_variable("job", "Job", f"label_values({anchors}, job)", ".+"),
        # Servers and clients name the model differently; this takes the union.
        _query_variable(
            "model",
            "Model",
            "query_result(group by (model_name) ("
            'vllm:generation_tokens_total{job=~"$job"}'
            ' or vllm_generation_tokens_total{job=~"$job"}'
            " or label_replace(specdecode_client_requests_total"
            '{job=~"$job", gen_ai_response_model!=""}, "model_name", "$1",'
            ' "gen_ai_response_model", "(.+)")))',
            # Requests that failed before an answer have no model: keep them in "All".
            ".*",
            regex='/model_name="([^"]+)"/',
        ),
        _query_variable(
            "instance", "Instance", f"label_values({of_jobs}, instance)", ".+"
        ),
    ]


def _query_variable(
    name: str, label: str, query: str, everything: str, *, regex: str = ""
) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "regex": regex,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": everything,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def _placed(rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    """All panels with their places: rows below each other, panels left to right."""
    placed: list[dict[str, Any]] = []
    top = 0
    for row in rows:
        placed.append(_headline(row.title, number=len(placed) + 1, top=top))
        top += 1
        left = height = 0
        for panel in row.panels:
            if left + panel.width > WIDTH:
                top, left, height = top + height, 0, 0
            place = {"h": panel.height, "w": panel.width, "x": left, "y": top}
            placed.append(_panel(panel, number=len(placed) + 1, place=place))
            left, height = left + panel.width, max(height, panel.height)
        top += height
    return placed


def _headline(title: str, *, number: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "row",
        "title": title,
        "collapsed": False,
        "panels": [],
        "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": top},
    }


def _panel(panel: Panel, *, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": _field(panel), "overrides": []},
        "options": _OPTIONS[panel.kind],
        "targets": [
            _target(target, chr(ord("A") + at), instant=panel.kind != "timeseries")
            for at, target in enumerate(panel.targets)
        ],
    }


def _field(panel: Panel) -> dict[str, Any]:
    field: dict[str, Any] = {"unit": panel.unit}
    if panel.decimals is not None:
        field["decimals"] = panel.decimals
    if panel.smallest is not None:
        field["min"] = panel.smallest
    if panel.largest is not None:
        field["max"] = panel.largest
    if panel.kind == "timeseries":
        field["custom"] = {
            "lineWidth": 1,
            "fillOpacity": 25 if panel.stacked else 8,
            "showPoints": "auto",
            # A gap is a time without traffic, and no line belongs there.
            "spanNulls": False,
            "stacking": {"mode": "normal" if panel.stacked else "none"},
        }
    return field


_LEGEND = {"displayMode": "list", "placement": "bottom", "showLegend": True}
_LAST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: dict[str, dict[str, Any]] = {
    "timeseries": {
        "legend": _LEGEND,
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "reduceOptions": _LAST,
        "colorMode": "value",
        "graphMode": "none",
        "textMode": "auto",
    },
    "bargauge": {
        "reduceOptions": _LAST,
        "displayMode": "basic",
        "orientation": "horizontal",
    },
}


def _target(target: Target, letter: str, *, instant: bool) -> dict[str, Any]:
    return {
        "refId": letter,
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": target.expr,
        "legendFormat": target.legend,
        "instant": instant,
        "range": not instant,
    }
