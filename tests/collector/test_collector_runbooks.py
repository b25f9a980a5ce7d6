"""Each alert says what it means and has a page that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import generate
import pytest
from bundle_rules import RULES

PAGES = Path(__file__).resolve().parents[2] / "docs" / "runbooks"
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
each_alert = pytest.mark.parametrize("name", ALERTS)


@each_alert
def test_an_alert_waits_has_a_severity_and_says_what_is_the_matter(name: str) -> None:
    rule = ALERTS[name]
    assert re.fullmatch(r"[1-9]\d*[smhd]", rule["for"])
    assert rule["labels"]["severity"] in {"info", "warning", "critical"}
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}


@each_alert
def test_one_with_a_floor_of_traffic_outlasts_traffic_below_it(name: str) -> None:
    # Rates of requests, steps and streams are traffic; a growth of losses is not.
    floor = re.search(
        r":rate5m > 0\.\d|generation_tokens:rate5m > 1", ALERTS[name]["expr"]
    )
    assert ("keep_firing_for" in ALERTS[name]) == bool(floor)


@each_alert
def test_its_runbook_is_the_page_of_its_name(name: str) -> None:
    url = ALERTS[name]["annotations"]["runbook_url"]
    assert url.endswith(f"/docs/runbooks/{name}.md")
    assert (PAGES / f"{name}.md").read_text().startswith(f"# {name}\n")


@each_alert
def test_its_page_has_the_four_parts_and_the_severity_of_the_rule(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == [
        "Summary",
        "Impact",
        "Diagnosis",
        "Resolution",
    ]
    assert f"**Severity** {ALERTS[name]['labels']['severity']}." in text


def test_there_is_no_page_without_an_alert() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == set(ALERTS)


def test_dashboards_that_a_page_names_exist() -> None:
    titles = {dashboard.title for dashboard in generate.DASHBOARDS}
    text = "".join(page.read_text() for page in PAGES.glob("*.md"))
    named = re.findall(r"\*(Speculation: [\w ]+)\*", text)
    assert named
    assert set(named) <= titles
