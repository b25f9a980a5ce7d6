"""The page on the collector lists each variable, metric and alert that there is."""

from __future__ import annotations

import re
from pathlib import Path

from otel_specdecode.collector import bundle_root
from otel_specdecode.collector.metric_names import CLIENT_COUNTERS, CLIENT_HISTOGRAMS
from otel_specdecode.collector.query_files import queries_of
from otel_specdecode.collector.query_tree import parse, selectors

ROOT = bundle_root()
PAGE = Path(__file__).resolve().parents[2] / "docs" / "collector.md"
TEXT = PAGE.read_text()


def test_each_variable_is_listed_with_its_default() -> None:
    files = sorted(
        (ROOT / "config").glob("*.yaml"), key=lambda f: f.name != "base.yaml"
    )
    found: dict[str, str] = {}
    for file in files:
        for name, default in re.findall(
            r"\$\{env:(\w+)(?::-([^}]*))?\}", file.read_text()
        ):
            found.setdefault(name, default)
    listed = dict(
        re.findall(r"^\| `(SPECDECODE_\w+)` \| (?:-|`(.*?)`) \|", TEXT, re.MULTILINE)
    )
    assert listed == found


def test_each_of_the_clients_metrics_is_listed() -> None:
    listed = set(re.findall(r"^\| `specdecode_client_(\w+)` \|", TEXT, re.MULTILINE))
    assert listed == {f"{name}_total" for name in CLIENT_COUNTERS} | CLIENT_HISTOGRAMS


def test_each_server_metric_that_is_read_is_listed() -> None:
    files = [
        *ROOT.glob("prometheus/rules/*.yml"),
        *ROOT.glob("grafana/dashboards/*.json"),
    ]
    read = {
        re.sub(r"_(?:bucket|sum|count)$", "", selector.name.removeprefix("vllm:"))
        for file in files
        for _, query in queries_of(file)
        for selector in selectors(parse(query))
        if selector.name and selector.name.startswith("vllm:")
    }
    assert set(re.findall(r"^\| `vllm:(\w+)` \|", TEXT, re.MULTILINE)) == read


def test_each_alert_is_listed_with_its_severity() -> None:
    rules = "".join(file.read_text() for file in ROOT.glob("prometheus/rules/*.yml"))
    alerts = re.findall(r"- alert: (\w+)\n.*?severity: (\w+)", rules, re.DOTALL)
    listed = re.findall(
        r"^\| \[(\w+)\]\(runbooks/\1\.md\) \| (\w+) \|", TEXT, re.MULTILINE
    )
    assert sorted(listed) == sorted(alerts)
