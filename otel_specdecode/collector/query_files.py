"""Finds the queries in rule files and dashboards, with their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.collector.findings import Finding
from otel_specdecode.collector.query_rules import check_query
from otel_specdecode.collector.yaml_source import Node, load
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def queries_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and text of each query of a Prometheus rule file or Grafana dashboard.

    Raises:
        ConfigError: it cannot be read, or holds no query.
    """
    found = tuple(_queries(load(path)))
    if not found:
        raise ConfigError(f"{path}: expected rules or a dashboard, found no query")
    return found


def _queries(root: Node) -> Iterator[tuple[int, str]]:
    for path, node in root.walk():
        # A template variable's query is a function of Grafana's, or a data source.
        named = path[-1:] in {("expr",), ("query",)} and "templating" not in path
        if named and isinstance(node.value, str):
            yield node.line, node.value


def check_query_file(path: Path) -> tuple[Finding, ...]:
    """Checks each query of a rule file or dashboard.

    Raises:
        ConfigError: the file cannot be read, or holds no query.
    """
    return tuple(sorted(_findings(path)))


def _findings(path: Path) -> Iterator[Finding]:
    for line, text in queries_of(path):
        try:
            found = check_query(text)
        except ConfigError as error:
            yield Finding(file=str(path), line=line, code="Q100", message=str(error))
            continue
        for one in found:
            yield Finding(
                file=str(path),
                line=line,
                code=one.code,
                message=one.message,
                severity=one.severity,
            )
