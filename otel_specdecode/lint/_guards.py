"""Whether an expression runs only where a value is there and not 0.

`tokens = usage.get("completion_tokens") or 0` is no mistake where nothing is computed
unless `tokens > 0`: what was not reported is left out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from otel_specdecode.lint._fields import field_name, is_none, is_zero
from otel_specdecode.lint._naming import names_in
from otel_specdecode.lint._tree import walk
from otel_specdecode.lint.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LEAVES = ast.Return | ast.Continue | ast.Break | ast.Raise
_SIBLINGS = frozenset({"total_tokens", "prompt_tokens", "input_tokens"})
"""What is reported together with the counts of the answer, or not at all."""
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class _Value:
    """What is asked of the tests around a read.

    Attributes:
        source: the file.
        name: the variable or field.
        is_field: it is the field itself, not yet replaced by 0: `is not None` says
            that it is there.
    """

    source: Source
    name: str
    is_field: bool

    def is_there_if(self, test: ast.expr) -> bool:
        """Whether a test that holds says that the value is there and not 0."""
        if self.is_field and _is_present(test, self.name):
            return True
        return _is_positive(self.source, test, self.name)

    def fails(self, test: ast.expr) -> bool:
        """Whether a test holds wherever the value is missing or 0."""
        if self.is_field and _is_missing(test, self.name):
            return True
        return _is_absent(test, self.name)


def is_guarded(
    source: Source, node: ast.expr, name: str, *, is_field: bool = False
) -> bool:
    """Whether a read of a name is reached only where that is not 0.

    Args:
        source: the file.
        node: the read.
        name: what is read.
        is_field: the read is of the field that may be missing, not of a variable that
            is 0 then.
    """
    value = _Value(source, name, is_field)
    child: ast.AST = node
    parent = source.parent(child)
    while parent is not None and not isinstance(
        parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    ):
        if _guards_child(value, parent, child):
            return True
        child, parent = parent, source.parent(parent)
    return parent is not None and _left_before(value, parent, child)


def is_replaced(source: Source, place: ast.expr) -> bool:
    """Whether a place that is 0 is given another value, or nothing comes of it.

    `if not tokens: tokens = estimate(text)`, or `if prompt + tokens == 0: return None`.
    """
    name = field_name(place)
    return any(
        _replaces(test, name) or _refuses(source, test, name)
        for test in _tests_beside(source, place)
    )


def is_field_replaced(source: Source, name: str) -> bool:
    """Whether a field of this name is given another value where it is 0, anywhere."""
    return any(_replaces(test, name, ast.Attribute) for test in source.nodes(ast.If))


def _tests_beside(source: Source, place: ast.expr) -> Iterator[ast.If]:
    """Tests of the function that a variable lives in; for a field, of the file."""
    scope = source.bindings.scope_of(place)
    for test in source.nodes(ast.If):
        if not isinstance(place, ast.Name) or source.bindings.is_within(test, scope):
            yield test


def _replaces(node: ast.If, name: str, kind: type[ast.expr] = ast.expr) -> bool:
    tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return any(_is_absent(test, name) for test in tests) and any(
        isinstance(statement, ast.Assign)
        and not is_zero(statement.value)
        and any(
            isinstance(target, kind) and field_name(target) == name
            for target in statement.targets
        )
        for part in node.body
        for statement in walk(part)
    )


def _refuses(source: Source, node: ast.If, name: str) -> bool:
    """Whether this leaves without a value where it, or a sum that holds it, is 0."""
    if isinstance(node.body[-1], ast.Raise) and _is_absent(node.test, name):
        return True
    if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
        # `if prompt == 0 and completion == 0: return`: nothing was reported.
        tested = [field_name(each) for each in map(_tested, node.test.values) if each]
        match node.body:
            case [ast.Return(value=None | ast.Constant(value=None)) | ast.Continue()]:
                return (
                    len(tested) == len(node.test.values) > 1
                    and name in tested
                    and all(map(_is_absent, node.test.values, tested))
                )
            case _:
                return False
    match node.test, node.body[-1]:
        case (
            ast.Compare(left=ast.Name() as total)
            | ast.UnaryOp(op=ast.Not(), operand=ast.Name() as total),
            ast.Return(value=None | ast.Constant(value=None)) | ast.Continue(),
        ):
            values = source.bindings.values_of(total)
            return _is_absent(node.test, total.id) and any(
                name in names_in(value) for value in values
            )
        case _:
            return False


def _tested(test: ast.expr) -> ast.expr | None:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=value) | ast.Compare(left=value):
            return value
        case _:
            return None


def _guards_child(value: _Value, parent: ast.AST, child: ast.AST) -> bool:
    match parent:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            # `... else 0.0` would take the missing one for 0 once more.
            says_missing = not is_zero(orelse)
            return child is body and says_missing and value.is_there_if(test)
        case ast.If(test=test, body=body):
            if any(child is statement for statement in body):
                return value.is_there_if(test) or _left_before(value, parent, child)
            return value.fails(test) or _left_before(value, parent, child)
        case ast.BoolOp(op=ast.And(), values=values):
            before = values[: next(i for i, v in enumerate(values) if v is child)]
            return any(map(value.is_there_if, before))
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
            tests = [test for part in parent.generators for test in part.ifs]
            return any(map(value.is_there_if, tests))
        case ast.stmt():
            return _left_before(value, parent, child)
        case _:
            return False


def _left_before(value: _Value, parent: ast.AST, child: ast.AST) -> bool:
    """Whether an earlier statement of the same block leaves where it is 0."""
    if isinstance(parent, ast.Lambda):
        return False
    for block in ("body", "orelse", "finalbody"):
        statements = cast("list[ast.stmt]", getattr(parent, block, ()))
        if any(child is each for each in statements):
            return any(
                isinstance(each, ast.If)
                and value.fails(each.test)
                and isinstance(each.body[-1], _LEAVES)
                for each in _before(statements, child)
            )
    return False


def _before(statements: list[ast.stmt], child: ast.AST) -> Iterable[ast.stmt]:
    for statement in statements:
        if statement is child:
            return
        yield statement


def _is_present(test: ast.expr, field: str) -> bool:
    """Whether a test that holds says that an object has a field, whatever its value."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_is_present(each, field) for each in values)
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[right]):
            return field_name(left) in {field, *_SIBLINGS} and is_none(right)
        case ast.Compare(left=ast.Constant(value=key), ops=[ast.In()]):
            return key == field or key in _SIBLINGS
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=key)]):
            return key == field or key in _SIBLINGS
        case ast.Call(func=ast.Name(id="isinstance"), args=[read, _]):
            return field_name(read) == field
        case _:
            return field_name(test) in _SIBLINGS


def _is_missing(test: ast.expr, field: str) -> bool:
    """Whether a test holds wherever an object lacks a field.

    Or what is reported together with it; or it and other counts, so that nothing was
    reported at all.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=said):
            return _is_present(said, field)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_is_missing(each, field) for each in values)
        case ast.BoolOp(op=ast.And(), values=values):
            counts = [_counted(each) for each in values]
            return field in counts and all("tokens" in each for each in counts)
        case ast.Compare(left=ast.Constant(value=key), ops=[ast.NotIn()]):
            return key == field or key in _SIBLINGS
        case _:
            return _counted(test) in {field, *_SIBLINGS}


def _counted(test: ast.expr) -> str:
    """The field that a test says is `None`; empty for other tests."""
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]) if is_none(
            right
        ):
            return field_name(left)
        case _:
            return ""


def _is_positive(source: Source, test: ast.expr, name: str, depth: int = 0) -> bool:
    """Whether a test that holds says that the value is not 0."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_is_positive(source, each, name, depth) for each in values)
        case ast.Compare(left=left, ops=[ast.Gt() | ast.NotEq()], comparators=[right]):
            return field_name(left) == name and isinstance(right, ast.Constant)
        case ast.Compare(left=left, ops=[ast.GtE()], comparators=[right]):
            return field_name(left) == name and not is_zero(right)
        case ast.Name(id=known) if known != name and depth < _DEPTH:
            return any(
                _is_positive(source, value, name, depth + 1)
                for value in source.bindings.values_of(test)
            )
        case _:
            return field_name(test) == name


def _is_absent(test: ast.expr, name: str) -> bool:
    """Whether a test holds wherever the value is 0."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=value):
            return field_name(value) == name
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_is_absent(each, name) for each in values)
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.LtE() | ast.Lt()], comparators=[right]
        ):
            is_below_0 = isinstance(test.ops[0], ast.Lt) and is_zero(right)
            is_constant = isinstance(right, ast.Constant) and not is_below_0
            return field_name(left) == name and is_constant
        case _:
            return False
