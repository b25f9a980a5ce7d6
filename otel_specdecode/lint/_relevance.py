"""Which functions of a file can have to do with a stream; the rest need not be run."""

from __future__ import annotations

import ast
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_specdecode.lint._modules import Module

_NAMES = frozenset(
    "stream astream stream_chat astream_chat stream_complete astream_complete "
    "astream_events iter_lines aiter_lines iter_content aiter_bytes iter_bytes "
    "aiter_text iter_text iter_raw aiter_raw iter_any iter_chunked iter_sse aiter_sse "
    "events connect_sse aconnect_sse response_gen async_response_gen text_stream "
    "readline readlines delta chat_stream generate_content_stream converse_stream "
    "invoke_model_with_response_stream send_message_stream stream_async "
    "on_llm_new_token create acreate completion acompletion text_completion post "
    "urlopen Request".split()
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
        the top of the file, or whether it streams is decided by an argument.
    """
    lines: set[int] = set()
    for node in module.nodes:
        if type(node) in _KINDS and _is_hit(node):
            if isinstance(node, ast.keyword) and isinstance(node.value, ast.Name):
                return None
            lines.add(getattr(node, "lineno", 0))
    found = sorted(lines)
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
    return value in _TEXTS or value.startswith("data:") or "[DONE]" in value


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def touches(node: ast.stmt, lines: list[int]) -> bool:
    """Whether any of these lines lies within a definition."""
    found = bisect_left(lines, node.lineno)
    return found < len(lines) and lines[found] <= (node.end_lineno or node.lineno)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_KINDS = frozenset((ast.Attribute, ast.Name, ast.Constant, ast.keyword, *_FUNCTIONS))


def _is_hit(node: ast.AST) -> bool:
    match node:
        case ast.Name():
            return node.id in _NAMES or "stream" in node.id
        case ast.Attribute():
            return node.attr in _NAMES
        case ast.Constant():
            return _is_stream_text(node.value)
        case ast.keyword():
            return node.arg == "stream" and not _is_false(node.value)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name.startswith("on_")
        case _:
            return False
