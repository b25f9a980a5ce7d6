"""Counters read as if they were values, and functions for the other kind of series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import promql_parser as promql

from otel_specdecode.collector.findings import QueryFinding
from otel_specdecode.collector.metric_names import is_counter, is_gauge
from otel_specdecode.collector.query_tree import (
    children_of,
    is_operation,
    name_of,
    names_in,
    nodes_of,
    own_selectors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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

_OF_COUNTERS = frozenset({"rate", "irate", "increase", "resets"})
_OF_GAUGES = frozenset({"delta", "idelta", "deriv"})


def _bare_counters(tree: promql.Expr) -> Iterator[QueryFinding]:
    for name in sorted(_counters_outside_rate(tree)):
        message = (
            f"{name} counts since its process began: without rate() or increase() "
            "this is the value of a whole lifetime, which the past never leaves"
        )
        yield QueryFinding(code="Q103", message=message)


def _counters_outside_rate(tree: promql.Expr) -> set[str]:
    outside: set[str] = set()

    def visit(node: promql.Expr, *, counted: bool) -> None:
        if isinstance(node, promql.Call):
            counted = counted or node.func.name in _OVER_TIME | _PRESENCE
        elif isinstance(node, promql.AggregateExpr):
            counted = counted or str(node.op) in _PRESENCE
        elif isinstance(node, promql.BinaryExpr):
            counted = counted or _is_growth(node)
        for name in map(name_of, own_selectors(node)):
            if name and is_counter(name) and not counted:
                outside.add(name)
        for below in children_of(node):
            visit(below, counted=counted)

    visit(tree, counted=False)
    return outside


def _is_growth(node: promql.BinaryExpr) -> bool:
    """Whether a series is taken from itself: what it was, from what it is."""
    sides = names_in(node.lhs), names_in(node.rhs)
    return is_operation(node, "-") and sides[0] == sides[1] and len(sides[0]) == 1


def _functions_of_the_other_kind(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if not isinstance(node, promql.Call) or not node.args:
            continue
        function = node.func.name
        for name in sorted(names_in(node.args[0])):
            if function in _OF_COUNTERS and is_gauge(name):
                message = (
                    f"{function}() of {name}, a gauge, takes each fall for a reset"
                )
                yield QueryFinding(code="Q109", message=message)
            if function in _OF_GAUGES and is_counter(name):
                message = (
                    f"{function}() of {name}, a counter, is negative after a restart; "
                    "write rate() or increase()"
                )
                yield QueryFinding(code="Q109", message=message)


def _rates_of_sums(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if not isinstance(node, promql.Call) or node.func.name not in _OF_COUNTERS:
            continue
        for below in node.args:
            summed = below.expr if isinstance(below, promql.SubqueryExpr) else None
            if isinstance(summed, promql.AggregateExpr) and any(
                map(is_counter, names_in(summed))
            ):
                message = (
                    f"{node.func.name}() of a sum takes the restart of one server for "
                    "one of all, and counts the others again; sum the rates"
                )
                yield QueryFinding(code="Q111", message=message)


RULES: tuple[Callable[[promql.Expr], Iterable[QueryFinding]], ...] = (
    _bare_counters,
    _functions_of_the_other_kind,
    _rates_of_sums,
)
