"""Each rule of grafana/dashboard-linter holds for each dashboard, and can fail."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import generate
import pytest
from dashboard_linter import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DASHBOARDS: Mapping[str, dict[str, Any]] = {
    name: json.loads(text) for name, text in generate.rendered().items()
}
OVERVIEW = DASHBOARDS["specdecode-overview.json"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_rule_holds_for_a_dashboard(name: str, rule: str) -> None:
    assert list(RULES[rule](DASHBOARDS[name])) == []


def of_variable(name: str, /, **changed: Any) -> Callable[[dict[str, Any]], None]:
    def change(dashboard: dict[str, Any]) -> None:
        for one in dashboard["templating"]["list"]:
            if one["name"] == name:
                one.update(changed)

    return change


def of_panel(**changed: Any) -> Callable[[dict[str, Any]], None]:
    def change(dashboard: dict[str, Any]) -> None:
        panel = next(one for one in dashboard["panels"] if one["type"] == "stat")
        panel.update(changed)

    return change


def asking(expr: str) -> Callable[[dict[str, Any]], None]:
    target = {"expr": expr, "datasource": {"uid": "${datasource}"}}
    return of_panel(targets=[target])


JOB, INSTANCE = 'job=~"$job"', 'instance=~"$instance"'
BOTH = f"{{{JOB}, {INSTANCE}}}"
BROKEN: dict[str, list[Callable[[dict[str, Any]], None]]] = {
    "template-datasource-rule": [of_variable("datasource", name="prom")],
    "template-job-rule": [
        of_variable("job", name="service"),
        of_variable("job", allValue=".*"),
        of_variable("job", multi=False),
    ],
    "template-instance-rule": [of_variable("instance", label="Server")],
    "template-label-promql-rule": [
        of_variable("job", query={"query": "label_values(up{, job)"})
    ],
    "template-on-time-change-reload-rule": [of_variable("model", refresh=1)],
    "panel-datasource-rule": [of_panel(datasource={"uid": "P1809F7CD0C75ACF3"})],
    "panel-title-description-rule": [of_panel(description="")],
    "panel-units-rule": [of_panel(fieldConfig={"defaults": {"unit": "tokens"}})],
    "panel-no-targets-rule": [of_panel(targets=[])],
    "target-promql-rule": [asking("sum by (")],
    "target-rate-interval-rule": [asking(f"rate(x_total{BOTH}[5m])")],
    "target-job-rule": [
        asking(f"rate(x_total{{{INSTANCE}}}[$__rate_interval])"),
        asking(f'rate(x_total{{job="$job", {INSTANCE}}}[$__rate_interval])'),
    ],
    "target-instance-rule": [asking(f"sum(a{BOTH}) / sum(b{{{JOB}}})")],
    "target-counter-agg-rule": [
        asking(f"x_total{BOTH}"),
        asking(f"max_over_time(x_total{BOTH}[1h])"),
    ],
    "uneditable-dashboard-rule": [lambda one: one.update(editable=True)],
}


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        pytest.param(rule, change, id=f"{rule}-{at}")
        for rule, changes in BROKEN.items()
        for at, change in enumerate(changes)
    ],
)
def test_a_rule_names_a_dashboard_that_breaks_it(
    rule: str, change: Callable[[dict[str, Any]], None]
) -> None:
    dashboard = copy.deepcopy(OVERVIEW)
    change(dashboard)
    assert list(RULES[rule](dashboard))


def test_every_rule_has_a_dashboard_that_breaks_it() -> None:
    assert set(BROKEN) == set(RULES)
