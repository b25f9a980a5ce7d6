"""The fix for a request without usage: where to write it, and whether it is safe."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from otel_specdecode.lint.facts import Usage
from otel_specdecode.lint.findings import Edit, Fix

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._modules import Module
    from otel_specdecode.lint.facts import Request

OPTION = '{"include_usage": True}'
TITLE = "Ask for usage on the last chunk"


def usage_fix(request: Request) -> Fix | None:
    """Edits that make a request ask for usage; `None` if they cannot be told."""
    edits = () if _is_in_string(request) else _edits(request)
    if not edits:
        return None
    return Fix(edits=edits, is_safe=is_safe(request), title=TITLE)


def _is_in_string(request: Request) -> bool:
    """Whether it stands in an f-string: quotes would end that, places are vague."""
    node: ast.AST | None = request.body if request.is_raw else request.node
    while node is not None:
        if isinstance(node, ast.JoinedStr):
            return True
        node = request.module.parents.get(node)
    return False


def _edits(request: Request) -> tuple[Edit, ...]:
    module = request.module
    if request.usage is Usage.REFUSED:
        return _replacement(request)
    if request.is_raw:
        body = request.body
        if isinstance(body, ast.Dict):
            return _into_dict(module, body)
        return _into_call(module, body) if isinstance(body, ast.Call) else ()
    return _into_call(module, request.node)


def _replacement(request: Request) -> tuple[Edit, ...]:
    """Write the option over one that is empty or says no."""
    options = request.options
    if options is None and isinstance(request.body, ast.Dict):
        options = _value_of(request.body, "stream_options")
    if not isinstance(options, ast.Dict):
        return ()
    asked = _value_of(options, "include_usage")
    if asked is not None:
        return _over(request.module, asked, "True")
    if not options.keys:
        return _over(request.module, options, OPTION)
    last = options.values[-1]
    return _insert(request.module, options, last, '"include_usage": True')


def _value_of(node: ast.Dict, name: str) -> ast.expr | None:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == name:
            return value
    return None


def _span(module: Module, node: ast.AST) -> tuple[int, int]:
    start = module.index(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
    end = module.index(
        getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
    )
    return start, end


def _over(module: Module, node: ast.AST, text: str) -> tuple[Edit, ...]:
    start, end = _span(module, node)
    return (Edit(start=start, end=end, text=text),)


def _into_dict(module: Module, body: ast.Dict) -> tuple[Edit, ...]:
    present = _value_of(body, "stream_options")
    if present is not None:
        return _over(module, present, OPTION)
    stream = _value_of(body, "stream")
    anchor = stream if stream is not None else body.values[-1] if body.values else None
    if anchor is None:
        return ()
    return _insert(module, body, anchor, f'"stream_options": {OPTION}')


def _into_call(module: Module, call: ast.Call) -> tuple[Edit, ...]:
    present = next((kw for kw in call.keywords if kw.arg == "stream_options"), None)
    if present is not None:
        return _over(module, present.value, OPTION)
    stream = next((kw for kw in call.keywords if kw.arg == "stream"), None)
    text = f"stream_options={OPTION}"
    if stream is not None:
        return _insert(module, call, stream, text)
    # The last argument: nothing may follow `**options` but further keywords.
    anchors: list[ast.AST] = [*call.args, *call.keywords]
    if not anchors:
        return ()
    last = max(anchors, key=lambda node: _span(module, node)[1])
    return _insert(module, call, last, text)


def _insert(
    module: Module, outer: ast.AST, anchor: ast.AST, text: str
) -> tuple[Edit, ...]:
    """Write an item after another, on a line of its own if that one has one.

    Args:
        module: the file.
        outer: the call or dict that the items are of.
        anchor: the other item, or its value.
        text: what to write.
    """
    start, end = _span(module, anchor)
    last = _span(module, outer)[1] - 1
    if end > last:
        return ()  # a generator that shares the call's parentheses
    # A value in parentheses of its own ends behind them.
    while end < last and (closed := _CLOSING.match(module.text, end, last)):
        end = closed.end()
    line = module.line(getattr(anchor, "lineno", 1))
    before = line[: len(line) - len(line.lstrip())]
    leading = module.text[_line_start(module.text, start) : start]
    rest = _REST.match(module.text, end)
    if rest is None or (leading.strip() and not _is_key(leading)):
        return (Edit(start=end, end=end, text=f", {text}"),)
    comma, comment, newline = rest.groups(default="")
    if not comment:
        return (Edit(start=end, end=end, text=f",{newline}{before}{text}"),)
    behind = rest.start(3)
    item = Edit(start=behind, end=behind, text=f"{newline}{before}{text}{comma}")
    return (item,) if comma else (Edit(start=end, end=end, text=","), item)


_CLOSING = re.compile(r"(?:\s|\\\r?\n|#[^\r\n]*+)*\)")
_REST = re.compile(r"(,)?[ \t]*(#[^\r\n]*)?(\r\n|\n|\r)")


def _line_start(text: str, index: int) -> int:
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1


def _is_key(leading: str) -> bool:
    """Whether only a dict key stands before the value on its line."""
    return re.fullmatch(r"\s*[\"'][^\"']*[\"']\s*:\s*", leading) is not None


# Safety


def is_safe(request: Request) -> bool:
    """Whether the chunk that brings usage cannot trip the code that reads it.

    Safe only if the loops that read the stream are known and none of them takes
    a choice without looking. A file that does so anywhere is not trusted.
    """
    if not request.loops:
        return False
    module = request.module
    if module.is_guarded is None:
        module.is_guarded = all(
            _has_guard(node, module)
            for kind in (ast.Subscript, ast.Assign, ast.Call)
            for node in module.nodes.get(kind, ())
            if _needs_a_choice(node)
        )
    return module.is_guarded


def _needs_a_choice(node: ast.AST) -> bool:
    """`choices[0]`, `(choice,) = choices` and `choices.pop()` fail on none."""
    match node:
        case ast.Subscript(value=value, slice=index):
            return not isinstance(index, ast.Slice) and _is_choices(value)
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value):
            return _is_choices(value)
        case ast.Call(func=ast.Attribute(value=value, attr="pop")):
            return _is_choices(value)
        case _:
            return False


def _is_choices(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name == "choices"
        case ast.Subscript(slice=ast.Constant(value=name)):
            return name == "choices"
        case _:
            return False


def _has_guard(node: ast.AST, module: Module) -> bool:
    """Whether a test on `choices` or an early `continue` stands around or before it."""
    outer = module.parents.get(node)
    while outer is not None:
        guards = _GUARDS.get(outer.__class__)
        if guards is not None and guards(outer, node):
            return True
        outer = module.parents.get(outer)
    return False


def _tests_first(outer: Any, _node: ast.AST) -> bool:
    return _tests_choices(outer.test)


def _skips_before(outer: Any, node: ast.AST) -> bool:
    return _skips_empty(outer.body, getattr(node, "lineno", 0))


def _filters(outer: Any, _node: ast.AST) -> bool:
    return any(_tests_choices(test) for part in outer.generators for test in part.ifs)


_GUARDS: dict[type[ast.AST], Callable[[Any, ast.AST], bool]] = {
    **dict.fromkeys((ast.If, ast.IfExp), _tests_first),
    ast.BoolOp: lambda outer, _node: _tests_choices(outer.values[0]),
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.While), _skips_before),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _filters
    ),
}
"""What can stand around an index and make it safe."""


def _tests_choices(test: ast.expr) -> bool:
    """Whether `choices` is asked for before it is indexed in this test."""
    if isinstance(test, ast.BoolOp):
        return _tests_choices(test.values[0])
    if isinstance(test, ast.UnaryOp):
        return _tests_choices(test.operand)
    if isinstance(test, ast.NamedExpr):
        return _tests_choices(test.value)
    if isinstance(test, ast.Compare):
        return _tests_choices(test.left)
    if isinstance(test, ast.Call):
        return any(_tests_choices(arg) for arg in test.args) or _gets_choices(test)
    return _is_choices(test)


def _gets_choices(test: ast.Call) -> bool:
    return (
        isinstance(test.func, ast.Attribute)
        and test.func.attr == "get"
        and bool(test.args)
        and isinstance(test.args[0], ast.Constant)
        and test.args[0].value == "choices"
    )


def _skips_empty(body: list[ast.stmt], line: int) -> bool:
    """Whether an earlier statement of the loop skips chunks without choices."""
    for statement in body:
        if statement.lineno >= line:
            break
        if (
            isinstance(statement, ast.If)
            and _tests_choices(statement.test)
            and statement.body
            and isinstance(statement.body[-1], ast.Continue | ast.Return | ast.Break)
        ):
            return True
    return False
