"""Whether a file can hold a stream of chunks at all, told from single nodes.

Each way by which the flow analysis meets a stream begins at one of these. Most files
that talk of streams have none, and following their values is most of the work.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.lint._attributes import STREAM_FIELDS
from otel_specdecode.lint._fields import field_name, is_false
from otel_specdecode.lint._functions import PER_CHUNK_CALLBACKS
from otel_specdecode.lint._iteration import imports_llm_library, is_named_like_a_stream
from otel_specdecode.lint._services import calls_a_service
from otel_specdecode.lint._sources import (
    FRAMEWORK_STREAM,
    HTTP_CALLS,
    SOCKET_CALL,
    STREAMING_CALLS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_specdecode.lint._modules import Module

_SENDERS = HTTP_CALLS | {SOCKET_CALL}
_OPENERS = STREAMING_CALLS | HTTP_CALLS | {"partial"}
_ALWAYS = (
    FRAMEWORK_STREAM
    | {"streamify"}
    | {name for name in STREAMING_CALLS if "stream" in name and name != "stream_async"}
)
_LONGEST_KEY = 200
"""Characters; a longer text is a docstring."""
_NOT_LOOPED_OVER = frozenset(("isinstance", "cast", "issubclass", "callable", "type"))


def can_stream(module: Module) -> bool:
    """Whether anything in a file may be a stream, or be called once per chunk."""
    return (
        _reads_chunks(module)
        or _is_called_per_chunk(module)
        or _opens_one(module)
        or any(calls_a_service(module, call.func) for call in _calls(module))
        or (
            imports_llm_library(module)
            and any(is_named_like_a_stream(place) for place in _iterated(module))
        )
    )


def _calls(module: Module) -> list[ast.Call]:
    return cast("list[ast.Call]", module.nodes.get(ast.Call, ()))


def _attributes(module: Module) -> set[str]:
    nodes = module.nodes.get(ast.Attribute, ())
    return {node.attr for node in cast("list[ast.Attribute]", nodes)}


def _keys(module: Module) -> set[str]:
    """Attributes and short texts of a file."""
    nodes = module.nodes
    keys = _attributes(module)
    for node in cast("list[ast.Constant]", nodes.get(ast.Constant, ())):
        value: Any = node.value
        if value.__class__ is str and len(value) <= _LONGEST_KEY:
            keys.add(value)
        elif value.__class__ is bytes and len(value) <= _LONGEST_KEY:
            keys.add(value.decode("latin-1"))
    return keys


def _reads_chunks(module: Module) -> bool:
    """Whether a file names what only the chunks of an answer have."""
    attributes = _attributes(module)
    if "choices" in attributes and "delta" in attributes:
        return True  # nearly every program that has a stream
    keys = _keys(module)
    if "choices" in keys and ("delta" in keys or "text" in keys):
        return True
    if not STREAM_FIELDS.isdisjoint(keys):
        return True
    return any(
        "[DONE]" in key or (key.startswith("response.") and "delta" in key)
        for key in keys
    )


def _is_called_per_chunk(module: Module) -> bool:
    functions: Iterable[ast.AST] = (
        *module.nodes.get(ast.FunctionDef, ()),
        *module.nodes.get(ast.AsyncFunctionDef, ()),
    )
    return any(getattr(node, "name", "") in PER_CHUNK_CALLBACKS for node in functions)


def _opens_one(module: Module) -> bool:
    """Whether any call may send a request whose answer is streamed."""
    has_key = any(quoted in module.text for quoted in ('"stream"', "'stream'"))
    return any(_may_open(call, has_key=has_key) for call in _calls(module))


def _may_open(call: ast.Call, *, has_key: bool) -> bool:
    name = field_name(call.func)
    if name in _ALWAYS or (has_key and name in _SENDERS):
        return True
    is_opener = name in _OPENERS or isinstance(call.func, ast.Name)
    for keyword in call.keywords:
        if keyword.arg == "stream" and not is_false(keyword.value):
            if is_opener or isinstance(keyword.value, ast.Constant):
                return True
        elif keyword.arg is None and name in _OPENERS:
            return True
    return False


def _iterated(module: Module) -> Iterator[ast.expr]:
    """What a file loops over, or gives to functions that may."""
    nodes = module.nodes
    for kind in (ast.For, ast.AsyncFor, ast.comprehension):
        for loop in cast("list[ast.For]", nodes.get(kind, ())):
            yield loop.iter
    for kind in (ast.YieldFrom, ast.Starred):
        for node in cast("list[ast.Starred]", nodes.get(kind, ())):
            yield node.value
    for call in _calls(module):
        name = field_name(call.func)
        if name not in _NOT_LOOPED_OVER:
            yield from call.args
        if name in {"__next__", "__anext__"} and isinstance(call.func, ast.Attribute):
            yield call.func.value
