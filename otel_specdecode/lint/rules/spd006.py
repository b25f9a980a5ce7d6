"""Cumulative speculation counter read once and used as the run's.

## What it does

Finds a counter of speculative decoding from a server's `/metrics`
(`vllm:spec_decode_num_accepted_tokens_total` and its like) that is read once and
divided, where the difference of two readings is meant.

## Why is this bad?

These counters run from the start of the server process. Their ratio is the average
of its whole life: warm-up, yesterday's traffic and everybody else's requests. A new
draft model, a new prompt set, a collapse of acceptance hardly move it.

The rule stays silent where a reading is subtracted from a later one, and where
Prometheus takes the difference (`rate`, `increase`, `delta`).

## Example

```python
now = scrape(url)
accepted = now["vllm:spec_decode_num_accepted_tokens_total"]
drafted = now["vllm:spec_decode_num_draft_tokens_total"]
rate = accepted / drafted
```

## Use instead

```python
before = scrape(url)
run()
after = scrape(url)
accepted, drafted = (after[name] - before[name] for name in (ACCEPTED, DRAFTED))
rate = accepted / drafted if drafted else None
```

## Fix safety

There is no automatic fix: the first reading has to be taken elsewhere.

## References

- [vLLM: speculative decoding counters](https://docs.vllm.ai/en/latest/usage/metrics.html)
- [Prometheus: counters and `rate`](https://prometheus.io/docs/prometheus/latest/querying/functions/#rate)
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint._fields import constant_text, field_name
from otel_specdecode.lint._tree import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD006"
NAME = "cumulative-counter-read-once"
MESSAGE = (
    "cumulative speculation counter used as the run's: it counts from the start of "
    "the server; subtract a reading taken before the run"
)

COUNTER = re.compile(
    r"(?:\w+[:_])?spec_decode_num_(?:accepted_tokens|draft_tokens|drafts)"
    r"|sglang[:_]spec_verify_calls|trtllm_spec_decode_\w*tokens"
)
_DIFFERENCE = re.compile(
    r"(?i)(?:^|_)(?:delta|diff|difference|increase|since|subtract|change|rate)"
)
_STATISTIC = re.compile(r"(?i)total|delta|increase|diff|rate|avg|mean|sum")
_QUERY_DIFFERENCE = re.compile(r"\b(?:rate|irate|increase|delta|idelta)\s*\(")
_WORDS = ("spec_decode_num_", "spec_verify_calls", "trtllm_spec_decode_")
_DEPTH = 6


def may_apply(text: str) -> bool:
    """Whether a source reads such a counter; cheap, no parsing."""
    # Substrings: `COUNTER` takes quadratic time on a long word without a counter.
    return "/" in text and any(word in text for word in _WORDS)


def check(source: Source) -> Iterator[Finding]:
    """Report divisions of counters that were read once."""
    readings = _Readings(source)
    for node in source.nodes(ast.BinOp, ast.Constant):
        match node:
            case ast.BinOp(op=ast.Div(), left=left, right=right):
                if readings.is_of_a_new_engine(node):
                    continue
                if readings.is_reading(left) or readings.is_reading(right):
                    yield source.finding(CODE, node, MESSAGE)
            case ast.Constant(value=str(text)) if _is_lifetime_query(text):
                yield source.finding(CODE, node, MESSAGE)
            case _:
                pass


def _is_lifetime_query(text: str) -> bool:
    """Whether a string is PromQL that divides counters as they stand."""
    return (
        "/" in text
        and "\n" not in text.strip()
        and len(COUNTER.findall(text)) >= 2
        and not _QUERY_DIFFERENCE.search(text)
    )


class _Readings:
    """Which expressions are one reading of a counter, with nothing subtracted."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._functions = {
            node.name: node
            for node in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        }

    def is_reading(self, node: ast.expr, depth: int = 0) -> bool:
        if depth > _DEPTH:
            return False
        match node:
            case ast.BinOp(op=ast.Sub()):
                return False
            case ast.BinOp(left=left, right=right):
                return self._any((left, right), depth)
            case ast.BoolOp(values=values):
                return self._any(values, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return self._any((body, orelse), depth)
            case ast.Await(value=value):
                return self.is_reading(value, depth + 1)
            case ast.Subscript(value=ast.Call() as match, slice=ast.Constant(value=1)):
                return self._is_reading_call(match, depth)
            case ast.Subscript(value=base, slice=key):
                if not COUNTER.search(constant_text(self._source, key)):
                    return False
                return self._is_snapshot(base, depth)
            case ast.Name():
                values = self._source.bindings.values_of(node)
                return any(
                    self._is_guarded(value) or self.is_reading(value, depth + 1)
                    for value in values
                )
            case ast.Call():
                return self._is_reading_call(node, depth)
            case _:
                return False

    def is_of_a_new_engine(self, node: ast.expr) -> bool:
        """Whether its function makes the engine whose counters it reads, once."""
        scope = self._source.bindings.scope_of(node)
        reads = [
            call.func.value
            for call in self._source.calls.get("get_metrics", [])
            if isinstance(call.func, ast.Attribute)
            and self._source.bindings.is_within(call, scope)
        ]
        if len(reads) != 1 or not isinstance(reads[0], ast.Name):
            return False
        made = self._source.bindings.values_of(reads[0])
        return len(made) == 1 and (
            isinstance(made[0], ast.Call)
            and field_name(made[0].func)[:1].isupper()
            and self._source.bindings.is_within(made[0], scope)
        )

    def _any(self, nodes: tuple[ast.expr, ...] | list[ast.expr], depth: int) -> bool:
        return any(self.is_reading(node, depth + 1) for node in nodes)

    def _is_reading_call(self, node: ast.Call, depth: int) -> bool:
        name = field_name(node.func) if isinstance(node.func, ast.Name) else ""
        function = name or (
            node.func.attr if isinstance(node.func, ast.Attribute) else ""
        )
        if function in {"float", "int", "sum", "max", "round"} and node.args:
            inner = node.args[0]
            if isinstance(inner, ast.GeneratorExp | ast.ListComp):
                return self._is_reading_comprehension(inner, depth)
            return self.is_reading(inner, depth + 1)
        if function in {"group", "item"} and isinstance(node.func, ast.Attribute):
            return self.is_reading(node.func.value, depth + 1)
        names_counter = any(
            COUNTER.search(constant_text(self._source, argument))
            for argument in node.args
        )
        if not names_counter or _DIFFERENCE.search(function):
            return False
        if any(_STATISTIC.fullmatch(constant_text(self._source, x)) for x in node.args):
            return False  # a summary of the run, such as AIPerf's, is asked for
        if function == "get" and isinstance(node.func, ast.Attribute):
            return self._is_snapshot(node.func.value, depth)
        return not self._subtracts(function)

    def _is_reading_comprehension(
        self, node: ast.GeneratorExp | ast.ListComp, depth: int
    ) -> bool:
        tested = (test for part in node.generators for test in part.ifs)
        if any(self._names_counter(test) for test in tested):
            return not _has_difference(node.elt)
        return self.is_reading(node.elt, depth + 1)

    def _is_snapshot(self, base: ast.expr, depth: int) -> bool:
        """Whether what a counter is looked up in is a reading, not a difference."""
        if depth > _DEPTH or _has_difference(base):
            return False
        match base:
            case ast.Name(id=name):
                values = self._source.bindings.values_of(base)
                if not values:
                    return self._is_snapshot_parameter(base, depth)
                return not _DIFFERENCE.search(name) and not any(
                    self._makes_difference(value) for value in values
                )
            case ast.Call():
                return not self._makes_difference(base)
            case _:
                return False

    def _is_snapshot_parameter(self, name: ast.Name, depth: int) -> bool:
        """Follow a parameter to what the file's calls hand over; unsure is no."""
        outer: ast.AST | None = name
        while outer is not None and not isinstance(
            outer, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            outer = self._source.parent(outer)
        if outer is None:
            return False
        parameters = [argument.arg for argument in outer.args.args]
        if name.id not in parameters:
            return False
        index = parameters.index(name.id)
        given = [
            call.args[index]
            for call in self._source.calls.get(outer.name, [])
            if len(call.args) > index
        ]
        return bool(given) and all(self._is_snapshot(v, depth + 1) for v in given)

    def _makes_difference(self, value: ast.expr) -> bool:
        if _has_difference(value):
            return True
        return any(
            bool(_DIFFERENCE.search(field_name(call.func)))
            or self._subtracts(field_name(call.func))
            for call in walk(value)
            if isinstance(call, ast.Call)
        )

    def _subtracts(self, function: str) -> bool:
        body = self._functions.get(function)
        return body is not None and _has_difference(body)

    def _is_guarded(self, value: ast.expr) -> bool:
        """Whether a value is assigned under a test for the counter's name."""
        if _has_difference(value) or isinstance(value, ast.Constant):
            return False
        child: ast.AST = value
        parent = self._source.parent(child)
        while parent is not None and not isinstance(
            parent, ast.FunctionDef | ast.AsyncFunctionDef
        ):
            if isinstance(parent, ast.If) and child in parent.body:
                return self._names_counter(parent.test)
            child, parent = parent, self._source.parent(parent)
        return False

    def _names_counter(self, node: ast.expr) -> bool:
        return any(
            COUNTER.search(constant_text(self._source, part))
            for part in walk(node)
            if isinstance(part, ast.Constant | ast.Name)
        )


def _has_difference(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.BinOp | ast.AugAssign) and isinstance(part.op, ast.Sub)
        for part in walk(node)
    )
