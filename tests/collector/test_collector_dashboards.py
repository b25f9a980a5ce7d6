"""Dashboards are what the generator writes, and keep the rules of their kind.

What grafana/dashboard-linter asks for is in `test_collector_dashboard_linter.py`; these
are rules of ours beside it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import generate
import pytest
from dashboard_linter import variables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DASHBOARDS: Mapping[str, dict[str, Any]] = {
    name: json.loads(text) for name, text in generate.rendered().items()
}
PANELS = [
    pytest.param(panel, id=f"{name}:{panel['title']}")
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    if panel["type"] != "row"
]
TARGETS = [
    pytest.param(target["expr"], id=f"{param.id}:{target['refId']}")
    for param in PANELS
    for target in param.values[0]["targets"]
]
each_dashboard = pytest.mark.parametrize("name", DASHBOARDS)
each_panel = pytest.mark.parametrize("panel", PANELS)
each_query = pytest.mark.parametrize("expr", TARGETS)


def test_the_files_are_what_the_generator_writes() -> None:
    assert generate.differing(generate.FOLDER) == []


def test_a_file_edited_by_hand_is_named(tmp_path: Path) -> None:
    for name, text in generate.rendered().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "specdecode-cost.json").write_text("{}")
    assert generate.differing(tmp_path) == ["specdecode-cost.json"]


@each_dashboard
def test_its_uid_is_fixed_and_it_carries_no_id_or_inputs(name: str) -> None:
    dashboard = DASHBOARDS[name]
    assert (f"{dashboard['uid']}.json", "id" in dashboard, "__inputs" in dashboard) == (
        name,
        False,
        False,
    )


@each_dashboard
def test_the_model_is_a_variable_of_many_values_and_keeps_requests_without_one(
    name: str,
) -> None:
    model = variables(DASHBOARDS[name])["model"]
    assert (model["type"], model["multi"], model["allValue"]) == ("query", True, ".*")


@each_dashboard
@pytest.mark.parametrize("variable", ["job", "instance", "model"])
def test_a_variable_is_asked_for_in_a_panel(name: str, variable: str) -> None:
    queries = [
        target["expr"]
        for panel in DASHBOARDS[name]["panels"]
        for target in panel.get("targets", ())
    ]
    assert any(f"${variable}" in query for query in queries)


@each_panel
def test_each_query_of_a_panel_names_its_series(panel: dict[str, Any]) -> None:
    legends = [target["legendFormat"] for target in panel["targets"]]
    assert all("{{" in legend for legend in legends)
    assert len(set(legends)) == len(legends)


@each_panel
def test_a_title_fits_the_width_of_its_panel(panel: dict[str, Any]) -> None:
    # A column of 24 on a screen of 1280 has room for six letters.
    assert len(panel["title"]) <= panel["gridPos"]["w"] * 6


@each_dashboard
def test_panels_neither_overlap_nor_leave_the_grid(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARDS[name]["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


@each_dashboard
def test_titles_and_ids_are_unique(name: str) -> None:
    panels = DASHBOARDS[name]["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)


@each_query
def test_a_rate_is_over_grafanas_interval(expr: str) -> None:
    assert set(re.findall(r"\[(.+?)\]", expr)) <= {"$__rate_interval", "1h"}


@each_query
def test_a_ratio_is_absent_where_nothing_is_below_its_line(expr: str) -> None:
    divisions = expr.count(" / ")
    assert expr.count(" > 0)") >= divisions
