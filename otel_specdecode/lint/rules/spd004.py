"""Mean of per-request acceptance rates or lengths.

## What it does

Finds a mean that is taken over the acceptance rates or mean acceptance lengths of
single requests, where the counts should be summed and then divided.

## Why is this bad?

Requests draft very different numbers of tokens. A short request that accepted 3 of 3
weighs as much as a long one that accepted 100 of 1,000, so the mean says 55 % where
the server accepted 10 %. A request that drafted nothing has no rate at all, and the
`0.0` that vLLM prints for it pulls the mean down.

Sums first, then the ratio: `sum(accepted) / sum(drafted)`, and
`1 + sum(accepted) / sum(steps)` for the acceptance length. Weighting the rates with
their draft tokens gives the same; medians and percentiles say openly that they are
about requests, and stay silent.

## Example

```python
rate = statistics.mean(r["draft_acceptance_rate"] for r in rows)
```

## Use instead

```python
accepted = sum(r["num_accepted_draft_tokens"] for r in rows)
drafted = sum(r["num_draft_tokens"] for r in rows)
rate = accepted / drafted if drafted else None
```

## Fix safety

There is no automatic fix: the counts may not be at hand where the mean is taken.

## References

- [vLLM: per-request acceptance metrics](https://github.com/vllm-project/vllm/pull/48915)
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint._fields import field_name
from otel_specdecode.lint._tree import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.source import Source

CODE = "SPD004"
NAME = "mean-of-acceptance-ratios"
MESSAGE = (
    "mean of per-request acceptance ratios: requests draft different numbers of "
    "tokens; sum accepted and drafted tokens (or steps) first, then divide"
)

RATIO = re.compile(
    r"(?i)(?:^|_)accept(?:ance|ed|ing)?_?(?:rate|ratio|len(?:gth)?)s?(?:_|$)"
    r"|^acc(?:ept)?_(?:rate|len(?:gth)?)s?$|^mal$|^acceptance$"
)
_ACCEPTED = re.compile(r"(?i)accept")
_DRAFTED = re.compile(r"(?i)draft|propos|spec_steps|num_steps|verify|rounds?$")
_VERIFIED = re.compile(r"(?i)verify|spec_steps")
_FILE = (
    "spec_dec", "spec dec", "spec-dec", "specdec", "speculat", "num_spec", "draft",
    "eagle", "mtp", "spec_acc", "spec_stat", "spec_verify", "vllm", "sglang", "trtllm",
    "acceptance_len", "accept_len",
)  # fmt: skip
_NAMED = re.compile(
    r"acc(?:ept(?:ance|ed|ing)?[ _]?(?:rate|ratio|len)|eptance\b|_(?:rate|len)"
    # A ratio spelt out: `accepted / drafted`, `r.get("accepted", 0) / max(drafted, 1)`.
    r"|ept[^/]{0,80}/[^/]{0,40}(?:draft|propos|spec_steps|num_steps|verify|round))"
)
"""All begin alike: an expression is looked for as fast as its first letters are."""
_MEAN_LENGTH = re.compile(r"\bmal\b")
_MEANS = frozenset(
    {"statistics.mean", "statistics.fmean", "numpy.mean", "numpy.nanmean"}
    | {"numpy.average", "torch.mean", "mean", "fmean", "avg", "average"}
)
_SQL = re.compile(r"(?i)\bavg\s*\(\s*(?:\w+\.)?([\w]+)\s*\)")
_DEPTH = 5


def may_apply(text: str) -> bool:
    """Whether a source can average acceptance ratios; cheap, no parsing."""
    if "ccept" not in text and "CCEPT" not in text:
        return False
    lowered = text.lower()
    return any(word in lowered for word in _FILE) and bool(
        _NAMED.search(lowered) or ("mal" in lowered and _MEAN_LENGTH.search(lowered))
    )


def check(source: Source) -> Iterator[Finding]:
    """Report means over the ratios of single requests."""
    ratios = _Ratios(source)
    for node in source.nodes(ast.Call, ast.BinOp, ast.Constant):
        if ratios.is_mean(node):
            yield source.finding(CODE, node, MESSAGE)


class _Ratios:
    """What an expression is: a ratio, many ratios, or their mean."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._appended: dict[str, list[ast.expr]] = {}
        self._added: dict[str, list[ast.expr]] = {}
        for node in source.nodes(ast.Call, ast.AugAssign):
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Call(
                func=ast.Attribute(attr="append" | "add", value=target), args=[value]
            ):
                self._appended.setdefault(field_name(target), []).append(value)
            case ast.AugAssign(op=ast.Add(), target=target, value=value):
                self._added.setdefault(field_name(target), []).append(value)
            case _:
                pass

    def is_mean(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(attr="mean", value=values), args=[]):
                return self._are_many(values)
            case ast.Call(func=ast.Attribute(attr="agg" | "aggregate")):
                return self._aggregates(node)
            case ast.Call(args=[values, *_], keywords=keywords):
                if any(keyword.arg == "weights" for keyword in keywords):
                    return False
                name = self._source.bindings.qualified(node.func)
                if name.endswith((".mean", ".avg")) and _is_column_name(values):
                    return True
                return name in _MEANS and self._are_many(values)
            case ast.BinOp(op=ast.Div(), left=left):
                return self._is_sum(left)
            case ast.Constant(value=str(text)):
                return any(RATIO.search(column) for column in _SQL.findall(text))
            case _:
                return False

    def _aggregates(self, call: ast.Call) -> bool:
        values = [keyword.value for keyword in call.keywords]
        for argument in call.args:
            if isinstance(argument, ast.Constant) and argument.value == "mean":
                base = call.func.value if isinstance(call.func, ast.Attribute) else None
                return base is not None and self._are_many(base)
            if isinstance(argument, ast.Dict):
                for key, value in zip(argument.keys, argument.values, strict=True):
                    if _is_column_name(key) and "mean" in _words(value):
                        return True
        return any(
            isinstance(value, ast.Tuple)
            and len(value.elts) == 2
            and _is_column_name(value.elts[0])
            and "mean" in _words(value.elts[1])
            for value in values
        )

    def _is_sum(self, node: ast.expr) -> bool:
        """Whether this is a sum of ratios, or a name that ratios are added to."""
        match node:
            case ast.Call(func=ast.Name(id="sum" | "fsum"), args=[values, *_]):
                return self._are_many(values)
            case ast.Call(func=ast.Attribute(attr="sum", value=values), args=[]):
                return self._are_many(values)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                added = self._added.get(field_name(node), [])
                if any(self._is_ratio(value) for value in added):
                    return True
                if isinstance(node, ast.Name):
                    values = self._source.bindings.values_of(node)
                    return any(
                        isinstance(value, ast.Call) and self._is_sum(value)
                        for value in values
                    )
                return False
            case _:
                return False

    def _are_many(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether this is a collection of ratios, one a request."""
        if depth > _DEPTH:
            return False
        match node:
            case ast.GeneratorExp(elt=each) | ast.ListComp(elt=each):
                return self._is_ratio(each)
            case ast.List(elts=[_, _, *_] as each):
                return all(self._is_ratio(one) for one in each)
            case ast.Call(func=function, args=[values, *_]) if (
                self._source.bindings.qualified(function).rpartition(".")[2]
                in {"array", "asarray", "list", "tuple", "tensor", "Series", "sorted"}
            ):
                return self._are_many(values, depth + 1)
            case ast.Call(func=ast.Attribute(attr="dropna" | "filter", value=values)):
                return self._are_many(values, depth + 1)
            case ast.Subscript(slice=ast.List(elts=columns)):
                return any(_is_column_name(column) for column in columns)
            case ast.Subscript() | ast.Attribute():
                name = field_name(node)
                appended = self._appended.get(name, [])
                return bool(RATIO.search(name)) or any(
                    self._is_ratio(value) for value in appended
                )
            case ast.Call(func=ast.Attribute(attr="col"), args=[column, *_]):
                return _is_column_name(column)
            case ast.Name(id=name):
                return self._name_is_many(node, name, depth)
            case _:
                return False

    def _name_is_many(self, node: ast.Name, name: str, depth: int) -> bool:
        appended = self._appended.get(name, [])
        if any(self._is_ratio(value) for value in appended):
            return True
        values = self._source.bindings.values_of(node)
        if any(self._are_many(value, depth + 1) for value in values):
            return True
        # A parameter that says what it holds.
        return not values and name.endswith("s") and bool(RATIO.search(name))

    def _is_ratio(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether this is the acceptance ratio of one request."""
        if depth > _DEPTH:
            return False
        match node:
            case ast.BinOp(op=ast.Div(), left=accepted, right=drafted):
                made = field_name(_unwrapped(accepted))
                per = field_name(_unwrapped(drafted))
                return bool(
                    (_ACCEPTED.search(made) and _DRAFTED.search(per))
                    # SGLang's acceptance length: tokens a verify step.
                    or (made.endswith("tokens") and _VERIFIED.search(per))
                )
            case (
                ast.BinOp(left=ast.Constant(), right=inner)
                | ast.BinOp(left=inner, right=ast.Constant())
            ):
                # Times 100, plus the bonus token; times a weight is another thing.
                return self._is_ratio(inner, depth + 1)
            case ast.IfExp(body=body, orelse=orelse):
                return self._is_ratio(body, depth + 1) or self._is_ratio(
                    orelse, depth + 1
                )
            case ast.BoolOp(values=[first, *_]):
                return self._is_ratio(first, depth + 1)
            case ast.Call(func=ast.Name(id="float" | "round"), args=[inner, *_]):
                return self._is_ratio(inner, depth + 1)
            case ast.Name(id=name):
                values = self._source.bindings.values_of(node)
                if values:
                    return any(self._is_ratio(value, depth + 1) for value in values)
                return bool(RATIO.search(name)) and not name.endswith("s")
            case _:
                return bool(RATIO.search(field_name(node)))


def _unwrapped(node: ast.expr) -> ast.expr:
    """The value inside `max(x, 1)`, `float(x)` and `x or 1`."""
    match node:
        case ast.Call(func=ast.Name(id="max" | "float" | "int"), args=[inner, *_]):
            return _unwrapped(inner)
        case ast.BoolOp(values=[first, *_]):
            return _unwrapped(first)
        case _:
            return node


def _is_column_name(node: ast.expr | None) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and bool(RATIO.search(node.value))
    )


def _words(node: ast.expr) -> set[object]:
    return {part.value for part in walk(node) if isinstance(part, ast.Constant)}
