"""PromQL as the query rules read it: a syntax tree, its selectors and their names."""

from __future__ import annotations

import re
from typing import TypeGuard

import promql_parser as promql

from otel_specdecode.errors import ConfigError

# What Grafana puts in before Prometheus sees the query.
_VARIABLES = (
    (re.compile(r"\[\s*\$\{?(?:__\w+|\w+)\}?(?::[^\]]*)?\s*\]"), "[5m]"),
    (re.compile(r"\$\{?__(?:rate_)?(?:interval|range)(?:_m?s)?\}?"), "5m"),
    # These take a number first, and everything else a name.
    (
        re.compile(
            r"\b(topk|bottomk|limitk|quantile|quantile_over_time|histogram_quantile)"
            r"\s*\(\s*\$(?:\{\w+(?::\w+)?\}|\w+)\s*,"
        ),
        r"\1(1,",
    ),
    (re.compile(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)"), "variable"),
)


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


def nodes_of(tree: promql.Expr) -> list[promql.Expr]:
    """An expression and all below it."""
    nodes: list[promql.Expr] = []
    promql.walk(tree, pre_visit=nodes.append)
    return nodes


def selectors(tree: promql.Expr) -> list[promql.VectorSelector]:
    """Every selector below an expression, also those inside a range."""
    # walk() goes into a range, too.
    return [one for one in nodes_of(tree) if isinstance(one, promql.VectorSelector)]


def name_of(selector: promql.VectorSelector) -> str | None:
    """The metric's name, also where it stands in the braces; `None` for a pattern."""
    if selector.name:
        return selector.name
    return next(
        (
            one.value
            for one in selector.matchers.matchers
            if one.name == "__name__" and str(one.op) == "MatchOp.Equal"
        ),
        None,
    )


def names_in(tree: promql.Expr) -> set[str]:
    """The names of the metrics that an expression reads."""
    return {name for name in map(name_of, selectors(tree)) if name}


def own_selectors(node: promql.Expr) -> list[promql.VectorSelector]:
    """The selector that a node itself is, a range's included."""
    if isinstance(node, promql.VectorSelector):
        return [node]
    if isinstance(node, promql.MatrixSelector):
        return [node.vector_selector]
    return []


def children_of(node: promql.Expr) -> list[promql.Expr]:
    """The expressions right below a node."""
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


def is_operation(node: promql.Expr, operator: str) -> TypeGuard[promql.BinaryExpr]:
    """Whether a node joins two expressions with this operator."""
    return isinstance(node, promql.BinaryExpr) and str(node.op) == operator


def without_parentheses(node: promql.Expr) -> promql.Expr:
    """What stands inside parentheses."""
    while isinstance(node, promql.ParenExpr):
        node = node.expr
    return node


def without_aggregations(node: promql.Expr) -> promql.Expr:
    """What stands inside parentheses and aggregations."""
    while isinstance(node, promql.ParenExpr | promql.AggregateExpr):
        node = node.expr
    return node
