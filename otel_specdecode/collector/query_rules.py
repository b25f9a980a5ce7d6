"""Queries about speculation that return nothing, or something else than they seem to.

Each rule was written for a query that people run: in dashboards, alerts and load
tests found in public. `docs/collector.md` lists them with an example each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.collector import (
    query_counter_rules,
    query_name_rules,
    query_ratio_rules,
)
from otel_specdecode.collector.query_tree import parse

if TYPE_CHECKING:
    from otel_specdecode.collector.findings import QueryFinding

_RULES = (
    *query_name_rules.RULES,
    *query_counter_rules.RULES,
    *query_ratio_rules.RULES,
)


def check_query(text: str) -> tuple[QueryFinding, ...]:
    """Checks one PromQL expression; Grafana's variables may stand in it.

    Raises:
        ConfigError: it is no PromQL.
    """
    tree = parse(text)
    found = [finding for rule in _RULES for finding in rule(tree)]
    return tuple(dict.fromkeys(found))
