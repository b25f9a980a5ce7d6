"""Queries about speculation that return nothing, or something else than they seem to.

Each rule was written for a query that people run: in dashboards, alerts and load
tests found in public. `docs/collector.md` lists them with an example each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import promql_parser as promql

from otel_specdecode.collector.findings import Severity
from otel_specdecode.collector.metric_names import (
    RATIO_GAUGES,
    is_counter,
    missing_name,
)
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# What Grafana puts in before Prometheus sees the query.
_VARIABLES = (
    (re.compile(r"\[\s*\$\{?(?:__\w+|\w+)\}?(?::[^\]]*)?\s*\]"), "[5m]"),
    (re.compile(r"\$\{?__(?:rate_)?(?:interval|range)(?:_m?s)?\}?"), "5m"),
    (re.compile(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)"), "variable"),
)
_OVER_TIME = frozenset(
    {"rate", "irate", "increase", "delta", "idelta", "resets", "changes"}
)
# Reads one point of a counter on purpose: its age, its presence, a reset.
_PRESENCE = frozenset(
    {
        "absent",
        "absent_over_time",
        "count_over_time",
        "present_over_time",
        "last_over_time",
        "timestamp",
        "group",
        "count",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFinding:
    """A finding about one query, whose place the caller knows."""

    code: str
    message: str
    severity: Severity = Severity.ERROR


def check_query(text: str) -> tuple[QueryFinding, ...]:
    """Checks one PromQL expression; Grafana's variables may stand in it.

    Raises:
        ConfigError: it is no PromQL.
    """
    tree = parse(text)
    found = [finding for rule in _RULES for finding in rule(tree)]
    return tuple(dict.fromkeys(found))


def parse(text: str) -> promql.Expr:
    """The syntax tree of an expression whose Grafana variables were filled in.

    Raises:
        ConfigError: it is no PromQL.
    """
    for pattern, value in _VARIABLES:
        text = pattern.sub(value, text)
    try:
        return promql.parse(text)
    except ValueError as error:
        raise ConfigError(f"not PromQL: {error}: {text}") from error


def _nodes(tree: promql.Expr) -> list[promql.Expr]:
    nodes: list[promql.Expr] = []
    promql.walk(tree, pre_visit=nodes.append)
    return nodes


def selectors(tree: promql.Expr) -> list[promql.VectorSelector]:
    """Every selector below an expression, also those inside a range."""
    found: list[promql.VectorSelector] = []
    for node in _nodes(tree):
        if isinstance(node, promql.VectorSelector):
            found.append(node)
        elif isinstance(node, promql.MatrixSelector):
            found.append(node.vector_selector)
    # walk() may hand out a range's selector by itself as well.
    return list({id(one): one for one in found}.values())


def _unknown_names(tree: promql.Expr) -> Iterator[QueryFinding]:
    for name in sorted({one.name for one in selectors(tree) if one.name}):
        advice = missing_name(name)
        if advice:
            yield QueryFinding(code=advice.code, message=advice.message)


def _name_patterns(tree: promql.Expr) -> Iterator[QueryFinding]:
    for selector in selectors(tree):
        for matcher in selector.matchers.matchers:
            if matcher.name == "__name__" and re.search(
                r"vllm(?:\[[:_]{2}\]|\.|\(:\|_\)|\(\?::\|_\))", matcher.value
            ):
                message = (
                    f'__name__=~"{matcher.value}" fails as soon as both forms of a '
                    "name exist; write rate(vllm:x[5m]) or rate(vllm_x[5m])"
                )
                yield QueryFinding(code="Q104", message=message)


def _bare_counters(tree: promql.Expr) -> Iterator[QueryFinding]:
    for name in sorted(_counters_outside_rate(tree)):
        message = (
            f"{name} counts since its process began: without rate() or increase() "
            "this is the value of a whole lifetime, which the past never leaves"
        )
        yield QueryFinding(code="Q103", message=message)


def _counters_outside_rate(tree: promql.Expr) -> set[str]:
    inside: set[str] = set()
    outside: set[str] = set()

    def visit(node: promql.Expr, *, counted: bool) -> None:
        if isinstance(node, promql.Call):
            counted = counted or node.func.name in _OVER_TIME | _PRESENCE
        elif isinstance(node, promql.AggregateExpr):
            counted = counted or str(node.op) in _PRESENCE
        for name in (one.name for one in _own_selectors(node)):
            if name and is_counter(name):
                (inside if counted else outside).add(name)
        for below in _children(node):
            visit(below, counted=counted)

    visit(tree, counted=False)
    return outside


def _own_selectors(node: promql.Expr) -> list[promql.VectorSelector]:
    if isinstance(node, promql.VectorSelector):
        return [node]
    if isinstance(node, promql.MatrixSelector):
        return [node.vector_selector]
    return []


def _children(node: promql.Expr) -> list[promql.Expr]:
    if isinstance(node, promql.BinaryExpr):
        return [node.lhs, node.rhs]
    if isinstance(node, promql.Call):
        return list(node.args)
    if isinstance(
        node,
        promql.AggregateExpr
        | promql.ParenExpr
        | promql.UnaryExpr
        | promql.SubqueryExpr,
    ):
        return [node.expr]
    return []


def _fixed_draft_length(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in _nodes(tree):
        if not isinstance(node, promql.BinaryExpr) or str(node.op) != "*":
            continue
        sides = (node.lhs, node.rhs)
        factors = [one for one in sides if isinstance(one, promql.NumberLiteral)]
        names = {name for one in sides for name in _names(one)}
        acceptance = any("num_accepted_tokens" in name for name in names) and any(
            "num_draft_tokens" in name for name in names
        )
        if factors and acceptance and factors[0].val > 1:
            message = (
                f"acceptance times {factors[0].val:g} takes the draft length for a "
                "constant; tokens per step are 1 + rate(num_accepted_tokens) / "
                "rate(num_drafts)"
            )
            yield QueryFinding(code="Q105", message=message)


def _names(tree: promql.Expr) -> set[str]:
    return {one.name for one in selectors(tree) if one.name}


def _clamped_denominators(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in _nodes(tree):
        if isinstance(node, promql.BinaryExpr) and str(node.op) == "/":
            below = _without_parentheses(node.rhs)
            if isinstance(below, promql.Call) and below.func.name == "clamp_min":
                message = (
                    "clamp_min below the line makes the ratio too small whenever the "
                    "rate is below it, and 0 without traffic; write / (rate > 0)"
                )
                yield QueryFinding(code="Q106", message=message)


def _without_parentheses(node: promql.Expr) -> promql.Expr:
    while isinstance(node, promql.ParenExpr | promql.AggregateExpr):
        node = node.expr
    return node


def _averaged_ratios(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in _nodes(tree):
        averaged = (
            isinstance(node, promql.AggregateExpr) and str(node.op) == "avg"
        ) or (isinstance(node, promql.Call) and node.func.name == "avg_over_time")
        for name in sorted(_names(node) & RATIO_GAUGES) if averaged else ():
            message = (
                f"the mean of {name} over servers or time weighs an idle one like a "
                "busy one; the sums behind it are not exported, so show it per server"
            )
            yield QueryFinding(code="Q107", message=message)


_RULES: tuple[Callable[[promql.Expr], Iterable[QueryFinding]], ...] = (
    _unknown_names,
    _bare_counters,
    _name_patterns,
    _fixed_draft_length,
    _clamped_denominators,
    _averaged_ratios,
)
