"""Dashboards are what the generator writes, and keep the rules of their kind.

The rules are those of grafana/dashboard-linter, which cannot be had as a module here;
each test below is one of them, or one of ours.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import generate
import promql_parser as promql
import pytest

from otel_specdecode.collector.query_rules import parse, selectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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


def variables(name: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in DASHBOARDS[name]["templating"]["list"]}


def test_the_files_are_what_the_generator_writes() -> None:
    assert generate.differing(generate.FOLDER) == []


def test_a_file_edited_by_hand_is_named(tmp_path: Path) -> None:
    for name, text in generate.rendered().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "specdecode-cost.json").write_text("{}")
    assert generate.differing(tmp_path) == ["specdecode-cost.json"]


@each_dashboard
def test_nobody_edits_it_in_place(name: str) -> None:
    assert DASHBOARDS[name]["editable"] is False


@each_dashboard
def test_its_uid_is_fixed_and_it_carries_no_id_or_inputs(name: str) -> None:
    dashboard = DASHBOARDS[name]
    assert (f"{dashboard['uid']}.json", "id" in dashboard, "__inputs" in dashboard) == (
        name,
        False,
        False,
    )


@each_dashboard
def test_the_datasource_is_a_variable(name: str) -> None:
    source = variables(name)["datasource"]
    assert (source["type"], source["query"], source["label"]) == (
        "datasource",
        "prometheus",
        "Data source",
    )


@each_dashboard
@pytest.mark.parametrize("variable", ["job", "instance", "model"])
def test_job_instance_and_model_are_variables_of_many_values(
    name: str, variable: str
) -> None:
    one = variables(name)[variable]
    everything = {"job": ".+", "instance": ".+", "model": ".*"}
    assert (
        one["type"],
        one["multi"],
        one["includeAll"],
        one["allValue"],
        one["label"],
        one["datasource"]["uid"],
    ) == (
        "query",
        True,
        True,
        everything[variable],
        variable.capitalize(),
        "${datasource}",
    )


@each_dashboard
@pytest.mark.parametrize("variable", ["job", "instance", "model"])
def test_variables_follow_the_time_range(name: str, variable: str) -> None:
    assert variables(name)[variable]["refresh"] == 2


@each_dashboard
@pytest.mark.parametrize("variable", ["job", "instance", "model"])
def test_a_variables_query_is_promql_inside_a_function_of_grafana(
    name: str, variable: str
) -> None:
    query = variables(name)[variable]["query"]["query"]
    found = re.fullmatch(r"(?:label_values\((.+), \w+\)|query_result\((.+)\))", query)
    assert found
    parse(found[1] or found[2])


@each_panel
def test_a_panel_uses_the_datasource_variable(panel: dict[str, Any]) -> None:
    assert {panel["datasource"]["uid"]} | {
        target["datasource"]["uid"] for target in panel["targets"]
    } == {"${datasource}"}


@each_panel
def test_a_panel_has_a_title_a_description_a_unit_and_queries(
    panel: dict[str, Any],
) -> None:
    parts = (
        panel["title"],
        panel["description"],
        panel["fieldConfig"]["defaults"]["unit"],
        panel["targets"],
    )
    assert all(parts)


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
def test_a_query_is_promql(expr: str) -> None:
    parse(expr)


@each_query
def test_a_query_asks_for_job_and_instance(expr: str) -> None:
    for selector in selectors(parse(expr)):
        matched = {one.name for one in selector.matchers.matchers}
        assert {"job", "instance"} <= matched


@each_query
def test_a_rate_is_over_grafanas_interval(expr: str) -> None:
    assert set(re.findall(r"\[(.+?)\]", expr)) <= {"$__rate_interval", "1h"}


def counters_outside_rate(node: promql.Expr) -> Iterator[str]:
    if isinstance(node, promql.VectorSelector) and (node.name or "").endswith("_total"):
        yield node.name or ""
    for below in ("lhs", "rhs", "expr"):
        if isinstance(child := getattr(node, below, None), promql.Expr):
            yield from counters_outside_rate(child)
    for child in getattr(node, "args", ()):
        yield from counters_outside_rate(child)


@each_query
def test_a_counter_is_read_through_rate_or_increase_alone(expr: str) -> None:
    assert list(counters_outside_rate(parse(expr))) == []


@each_query
def test_a_ratio_is_absent_where_nothing_is_below_its_line(expr: str) -> None:
    divisions = expr.count(" / ")
    assert expr.count(" > 0)") >= divisions
