"""Which functions of a file can have to do with a stream; the rest need not be run."""

from __future__ import annotations

import ast
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.lint._fields import is_false
from otel_specdecode.lint._reach import lines_that_mention
from otel_specdecode.lint._services import is_named_like_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._modules import Module

_NAMES = frozenset(
    "stream astream stream_chat astream_chat stream_complete astream_complete "
    "astream_events iter_lines aiter_lines iter_content aiter_bytes iter_bytes "
    "aiter_text iter_text iter_raw aiter_raw iter_any iter_chunked iter_sse aiter_sse "
    "events connect_sse aconnect_sse response_gen async_response_gen text_stream "
    "readline readlines delta choices chat_stream generate_content_stream "
    "converse_stream invoke_model_with_response_stream send_message_stream "
    "stream_async on_llm_new_token create acreate completion acompletion "
    "text_completion post urlopen Request create_stream stream_text stream_events "
    "streamify".split()
)
"""Attributes and functions that make or read a stream, or measure an answer's text."""
_DEFINITIONS = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
)
_TEXTS = ("[DONE]", "data:", "delta", "choices", "stream")


def stream_lines(module: Module) -> list[int] | None:
    """Lines that mention what only code around a stream does, in order.

    Returns:
        `None` if any function may have to do with one: the request is put together at
        the top of the file.
    """
    nodes = module.nodes
    lines = {
        getattr(node, "lineno", 0)
        for kind, is_hit in _HITS.items()
        for node in nodes.get(kind, ())
        if is_hit(node)
    }
    found = sorted(lines | lines_that_mention(module, _told_to_stream(module)))
    is_at_the_top = any(
        touches(node, found)
        for node in module.tree.body
        if not isinstance(node, _DEFINITIONS)
    )
    return None if is_at_the_top else found


def _is_stream_text(value: object) -> bool:
    if isinstance(value, bytes):
        return b"data:" in value or b"[DONE]" in value
    if not isinstance(value, str) or len(value) > 200:
        return False  # a docstring, not a key
    return (
        value in _TEXTS
        or value.startswith("data:")
        or "[DONE]" in value
        or (value.startswith("response.") and "delta" in value)
    )


def touches(node: ast.stmt, lines: list[int]) -> bool:
    """Whether any of these lines lies within a definition."""
    found = bisect_left(lines, node.lineno)
    return found < len(lines) and lines[found] <= (node.end_lineno or node.lineno)


def _told_to_stream(module: Module) -> set[str]:
    """Functions that stream if their caller says so: the callers matter too."""
    told = sorted(
        node.lineno
        for node in cast("list[ast.keyword]", module.nodes.get(ast.keyword, ()))
        if node.arg == "stream" and isinstance(node.value, ast.Name)
    )
    functions = (
        *module.nodes.get(ast.FunctionDef, ()),
        *module.nodes.get(ast.AsyncFunctionDef, ()),
    )
    return {
        getattr(function, "name", "")
        for function in cast("tuple[ast.stmt, ...]", functions)
        if touches(function, told)
    }


_HITS: dict[type[ast.AST], Callable[[Any], bool]] = {
    ast.Name: lambda node: node.id in _NAMES or "stream" in node.id,
    ast.Attribute: lambda node: node.attr in _NAMES or is_named_like_one(node),
    ast.Constant: lambda node: _is_stream_text(node.value),
    ast.keyword: lambda node: (
        node.arg in {"stream", "stream_mode"} and not is_false(node.value)
    ),
    ast.FunctionDef: lambda node: node.name.startswith("on_"),
    ast.AsyncFunctionDef: lambda node: node.name.startswith("on_"),
}
"""Whether a node is one of what only code around a stream has, by its class."""
