"""The rules of grafana/dashboard-linter, by their names, over a dashboard's JSON.

The program itself cannot be had where these tests run: its module is in no registry.
What each rule asks for is read from https://github.com/grafana/dashboard-linter (its
`docs/rules` and `lint/`), as far as it concerns dashboards over one Prometheus; those
on LogQL do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import promql_parser as promql

from otel_specdecode.collector.query_tree import (
    children_of,
    name_of,
    own_selectors,
    parse,
    selectors,
)
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Dashboard = dict[str, Any]
    Rule = Callable[[Dashboard], Iterator[str]]

DATASOURCES = ("$datasource", "${datasource}")
# Of the many ids that Grafana has, those that these dashboards use.
UNITS = frozenset({"percentunit", "s", "short", "reqps", "cps", "bytes"})
QUERY_FUNCTION = re.compile(
    r"label_values\((?P<first>.+),\s*\w+\)|(?:query_result|metrics)\((?P<second>.+)\)"
)


def variables(dashboard: Dashboard) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in dashboard["templating"]["list"]}


def panels(dashboard: Dashboard) -> list[dict[str, Any]]:
    return [one for one in dashboard["panels"] if one["type"] != "row"]


def queries(dashboard: Dashboard) -> Iterator[tuple[str, promql.Expr, str]]:
    """Title, syntax tree and text of each query that is PromQL."""
    for panel in panels(dashboard):
        for target in panel.get("targets") or ():
            try:
                yield panel["title"], parse(target["expr"]), target["expr"]
            except ConfigError:
                continue  # a rule of its own


def template_datasource(dashboard: Dashboard) -> Iterator[str]:
    found = [
        one for one in variables(dashboard).values() if one["type"] == "datasource"
    ]
    if [(one["name"], one["label"], one["query"]) for one in found] != [
        ("datasource", "Data source", "prometheus")
    ]:
        yield "no variable datasource, labelled Data source, over prometheus"


def template_of(name: str) -> Rule:
    def rule(dashboard: Dashboard) -> Iterator[str]:
        one = variables(dashboard).get(name)
        if one is None:
            yield f"no variable {name}"
            return
        asked = {
            "type": one["type"] == "query",
            "datasource": one["datasource"]["uid"] in DATASOURCES,
            "label": one["label"] == name.capitalize(),
            "multi": one["multi"] is True,
            "allValue": one["allValue"] == ".+",
        }
        yield from (f"{name}: {key}" for key, holds in asked.items() if not holds)

    return rule


def template_label_promql(dashboard: Dashboard) -> Iterator[str]:
    for name, one in variables(dashboard).items():
        if one["type"] != "query":
            continue
        query = one["query"]["query"]
        found = QUERY_FUNCTION.fullmatch(query)
        try:
            parse(found["first"] or found["second"] if found else "?")
        except ConfigError:
            yield f"{name}: {query}"


def template_on_time_change_reload(dashboard: Dashboard) -> Iterator[str]:
    for name, one in variables(dashboard).items():
        if one["type"] == "query" and one["refresh"] != 2:
            yield name


def panel_datasource(dashboard: Dashboard) -> Iterator[str]:
    for panel in panels(dashboard):
        for place in (panel, *(panel.get("targets") or ())):
            if place["datasource"]["uid"] not in DATASOURCES:
                yield panel["title"]


def panel_title_description(dashboard: Dashboard) -> Iterator[str]:
    for panel in panels(dashboard):
        if not (panel["title"] and panel["description"]):
            yield f"{panel['id']}: {panel['title']}"


def panel_units(dashboard: Dashboard) -> Iterator[str]:
    for panel in panels(dashboard):
        if panel["fieldConfig"]["defaults"].get("unit") not in UNITS:
            yield panel["title"]


def panel_no_targets(dashboard: Dashboard) -> Iterator[str]:
    yield from (one["title"] for one in panels(dashboard) if not one.get("targets"))


def target_promql(dashboard: Dashboard) -> Iterator[str]:
    for panel in panels(dashboard):
        for target in panel.get("targets") or ():
            try:
                parse(target["expr"])
            except ConfigError:
                yield f"{panel['title']}: {target['expr']}"


def target_rate_interval(dashboard: Dashboard) -> Iterator[str]:
    for title, _, text in queries(dashboard):
        windows = re.findall(r"\b(?:i?rate)\([^\[\]]*\[([^\]]+)\]", text)
        if set(windows) - {"$__rate_interval"}:
            yield f"{title}: {text}"


def target_matches(label: str) -> Rule:
    # What parse() puts in place of a variable of Grafana's.
    wanted = (label, "MatchOp.Re", "variable")

    def rule(dashboard: Dashboard) -> Iterator[str]:
        for title, tree, text in queries(dashboard):
            for selector in selectors(tree):
                asked = {
                    (one.name, str(one.op), one.value)
                    for one in selector.matchers.matchers
                }
                if wanted not in asked or f"${label}" not in text:
                    yield f"{title}: {text}"

    return rule


def target_counter_agg(dashboard: Dashboard) -> Iterator[str]:
    for title, tree, _ in queries(dashboard):
        yield from (f"{title}: {name}" for name in _bare_counters(tree, inside=""))


def _bare_counters(node: promql.Expr, *, inside: str) -> Iterator[str]:
    for name in filter(None, map(name_of, own_selectors(node))):
        counts = isinstance(node, promql.MatrixSelector)
        if name.endswith("_total") and not (
            counts and inside in {"rate", "irate", "increase"}
        ):
            yield name
    function = node.func.name if isinstance(node, promql.Call) else ""
    for below in children_of(node):
        yield from _bare_counters(below, inside=function)


def uneditable_dashboard(dashboard: Dashboard) -> Iterator[str]:
    if dashboard["editable"]:
        yield "editable"


RULES: Mapping[str, Rule] = {
    "template-datasource-rule": template_datasource,
    "template-job-rule": template_of("job"),
    "template-instance-rule": template_of("instance"),
    "template-label-promql-rule": template_label_promql,
    "template-on-time-change-reload-rule": template_on_time_change_reload,
    "panel-datasource-rule": panel_datasource,
    "panel-title-description-rule": panel_title_description,
    "panel-units-rule": panel_units,
    "panel-no-targets-rule": panel_no_targets,
    "target-promql-rule": target_promql,
    "target-rate-interval-rule": target_rate_interval,
    "target-job-rule": target_matches("job"),
    "target-instance-rule": target_matches("instance"),
    "target-counter-agg-rule": target_counter_agg,
    "uneditable-dashboard-rule": uneditable_dashboard,
}
