"""Queries for names that nothing exports, or that exist in two forms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_specdecode.collector.findings import QueryFinding
from otel_specdecode.collector.metric_names import missing_name
from otel_specdecode.collector.query_tree import names_in, selectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import promql_parser as promql


def _unknown_names(tree: promql.Expr) -> Iterator[QueryFinding]:
    names = names_in(tree)
    for name in sorted(names):
        finding = missing_name(name)
        # A query that asks for the buckets too has the native form beside them.
        is_second_form = names & {f"{name}_bucket", f"{name}_count"}
        if finding and not is_second_form:
            yield finding


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


RULES: tuple[Callable[[promql.Expr], Iterable[QueryFinding]], ...] = (
    _unknown_names,
    _name_patterns,
)
