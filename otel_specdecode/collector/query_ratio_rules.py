"""Ratios and lengths of acceptance that are computed wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import promql_parser as promql

from otel_specdecode.collector.findings import QueryFinding
from otel_specdecode.collector.metric_names import (
    RATIO_GAUGES,
    is_counter,
    is_recorded_ratio,
)
from otel_specdecode.collector.query_tree import (
    is_operation,
    names_in,
    nodes_of,
    without_aggregations,
    without_parentheses,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# No draft is that long.
_PERCENT = 100


def _fixed_draft_length(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        factor = _factor(node) if _is_product(node) else 1
        # A threshold of 0.7 below the line is no length.
        is_length = 1 < factor == round(factor) != _PERCENT
        if (
            is_length
            and _reads(node, "accepted_tokens")
            and _reads(node, "draft_tokens")
        ):
            message = (
                f"acceptance times {factor:g} takes the draft length for a "
                "constant; tokens per step are 1 + rate(num_accepted_tokens) / "
                "rate(num_drafts)"
            )
            yield QueryFinding(code="Q105", message=message)


def _is_product(node: promql.Expr) -> TypeGuard[promql.BinaryExpr]:
    return is_operation(node, "*") or is_operation(node, "/")


def _factor(node: promql.Expr) -> float:
    """The numbers of a product multiplied, those below its line as divisors."""
    node = without_parentheses(node)
    if isinstance(node, promql.NumberLiteral):
        return node.val
    if not _is_product(node):
        return 1
    left, right = _factor(node.lhs), _factor(node.rhs)
    if str(node.op) == "*":
        return left * right
    return left / right if right else 1


def _reads(tree: promql.Expr, metric: str) -> bool:
    """Whether an expression reads a metric, under whatever prefix and ending."""
    return any(metric in name for name in names_in(tree))


def _wrong_tokens_per_step(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if not is_operation(node, "+"):
            continue
        for one, other in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
            added = without_aggregations(other)
            if (
                isinstance(one, promql.NumberLiteral)
                and is_operation(added, "/")
                and _reads(added.lhs, "accepted_tokens")
                and _reads(added.rhs, "draft_tokens")
            ):
                message = (
                    "1 + accepted over draft tokens is below the tokens of a step by "
                    "the draft length; below the line stand steps: rate(num_drafts)"
                )
                yield QueryFinding(code="Q108", message=message)


def _values_for_silence(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if not is_operation(node, "or"):
            continue
        instead = without_parentheses(node.rhs)
        if not isinstance(instead, promql.Call) or instead.func.name != "vector":
            continue
        names = names_in(node.lhs)
        is_ratio = any(is_operation(one, "/") for one in nodes_of(node.lhs)) and any(
            map(is_counter, names)
        )
        if is_ratio or any(map(_is_ratio, names)):
            message = (
                "or vector() makes a value up where nothing was drafted; without it "
                "no traffic is a gap"
            )
            yield QueryFinding(code="Q110", message=message)


def _position_over_draft_tokens(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if (
            is_operation(node, "/")
            and _reads(node.lhs, "accepted_tokens_per_pos")
            and _reads(node.rhs, "draft_tokens")
        ):
            message = (
                "accepted by position over draft tokens divides by the draft length, "
                "too; below the line stand steps: rate(num_drafts), joined with "
                "ignoring (position) group_left ()"
            )
            yield QueryFinding(code="Q108", message=message)


def _added_to_denominators(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if not is_operation(node, "/") or not any(map(is_counter, names_in(node.rhs))):
            continue
        below = without_aggregations(node.rhs)
        if is_operation(below, "+") and any(
            isinstance(side, promql.NumberLiteral) and 0 < side.val <= 1
            for side in (below.lhs, below.rhs)
        ):
            message = (
                "a number added below the line makes the ratio too small at low rates, "
                "and 0 without traffic; write / (rate > 0)"
            )
            yield QueryFinding(code="Q106", message=message)


def _clamped_denominators(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if is_operation(node, "/"):
            below = without_aggregations(node.rhs)
            if isinstance(below, promql.Call) and below.func.name == "clamp_min":
                message = (
                    "clamp_min below the line makes the ratio too small whenever the "
                    "rate is below it, and 0 without traffic; write / (rate > 0)"
                )
                yield QueryFinding(code="Q106", message=message)


def _averaged_ratios(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        averaged = (
            isinstance(node, promql.AggregateExpr) and str(node.op) == "avg"
        ) or (isinstance(node, promql.Call) and node.func.name == "avg_over_time")
        for name in sorted(filter(_is_ratio, names_in(node))) if averaged else ():
            instead = (
                "divide the sums that stand in rules beside it"
                if is_recorded_ratio(name)
                else "the sums behind it are not exported, so show it per server"
            )
            message = (
                f"the mean of {name} over servers or time weighs an idle one like a "
                f"busy one; {instead}"
            )
            yield QueryFinding(code="Q107", message=message)


def _averaged_quotients(tree: promql.Expr) -> Iterator[QueryFinding]:
    for node in nodes_of(tree):
        if not isinstance(node, promql.AggregateExpr) or str(node.op) != "avg":
            continue
        averaged = without_parentheses(node.expr)
        if is_operation(averaged, "/") and any(map(is_counter, names_in(averaged))):
            message = (
                "the mean of quotients weighs an idle server like a busy one; divide "
                "sums: sum(rate(above)) / sum(rate(below))"
            )
            yield QueryFinding(code="Q107", message=message)
        elif (
            isinstance(averaged, promql.Call)
            and averaged.func.name == "histogram_quantile"
        ):
            message = (
                "the mean of quantiles is no quantile; sum the buckets first: "
                "histogram_quantile(q, sum by (le) (rate(x_bucket[5m])))"
            )
            yield QueryFinding(code="Q107", message=message)


def _is_ratio(name: str) -> bool:
    return name in RATIO_GAUGES or is_recorded_ratio(name)


RULES: tuple[Callable[[promql.Expr], Iterable[QueryFinding]], ...] = (
    _fixed_draft_length,
    _wrong_tokens_per_step,
    _position_over_draft_tokens,
    _clamped_denominators,
    _added_to_denominators,
    _averaged_ratios,
    _averaged_quotients,
    _values_for_silence,
)
