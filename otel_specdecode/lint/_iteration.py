"""Loops: what they run over, and whether they turn once per streamed chunk."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._frames import Frame
from otel_specdecode.lint._naming import names_in
from otel_specdecode.lint._services import is_stream_of_a_service
from otel_specdecode.lint._tree import walk
from otel_specdecode.lint._values import (
    UNKNOWN,
    Thing,
    Value,
    join,
    join_all,
    retagged,
    with_step,
)
from otel_specdecode.lint.words import words_of

if TYPE_CHECKING:
    from otel_specdecode.lint._machine import Machine
    from otel_specdecode.lint._modules import Module

_LLM_LIBRARY = re.compile(
    r"openai|litellm|langchain|llama_index|anthropic|chat/completions|/v1/completions"
)
_CHUNK_NAMES = frozenset(
    "chunk chunks line lines event events ev part piece data msg message sse delta raw "
    "packet item obj payload c x".split()
)
_TEXT_KEYS = frozenset("token content delta text answer".split())
"""Under which an endpoint of somebody's own sends the text of an event."""
_NATIVE_API = re.compile(
    r"/api/(?:chat|generate)|/generate|/infer|/invocations|11434|/completion\b(?!s)"
    r"|generated_text"
)
_STREAM_WORDS = frozenset(("stream", "streaming", "sse", "flux", "flujo", "strom"))


@dataclass(frozen=True, slots=True)
class Turns:
    """What a loop's iterable yields, and how often.

    Attributes:
        elem: one item.
        per_chunk: one item per streamed chunk.
        strong: that stream is certain.
        is_inside_chunk: it runs over the parts of one chunk.
        per_token: one item per token; with `per_chunk`, whichever there was.
    """

    elem: Value
    per_chunk: bool = False
    strong: bool = False
    is_inside_chunk: bool = False
    per_token: bool = False


def turns_of(
    machine: Machine, value: Value, iterable: ast.expr, loop: ast.AST, frame: Frame
) -> Turns:
    """What iterating this value yields."""
    _note_reader(machine, value, loop)
    turns = _turns_of(machine, value, iterable, loop, frame)
    if turns.per_chunk:
        machine.carriers.add(frame.name)
    return turns


def _turns_of(
    machine: Machine, value: Value, iterable: ast.expr, loop: ast.AST, frame: Frame
) -> Turns:
    if value.things:
        turns = _turns_of_things(machine, value, iterable, frame)
        is_guessed = not any(isinstance(x.node, ast.AST | Thing) for x in value.things)
        if turns.per_chunk or not is_guessed:
            return turns
        # An unknown object that things are sent to, such as a web socket.
        if looks_like_chunks(frame.module, loop, iterable):
            return _chunks(machine, 0, iterable, frame, value)
        return turns
    if value.tags & (t.STREAM | t.RESPONSE):
        return _chunks(machine, value.tags & t.STRONG, iterable, frame, value)
    if value.tags & (t.PIECE | t.TEXT | t.WORDS | t.IDS):
        return Turns(UNKNOWN, per_token=bool(value.tags & t.IDS))
    if value.tags & t.CHUNK:
        strong = value.tags & t.STRONG
        if not frame.per_chunk and _reads_events(loop):
            # A body that was read whole, split into its lines.
            return _chunks(machine, strong, iterable, frame, value)
        return Turns(Value(t.CHUNK | strong), is_inside_chunk=True)
    if value.tags or value.texts or value.path in {"range()", "open()"}:
        return Turns(UNKNOWN)
    if looks_like_chunks(frame.module, loop, iterable) or is_stream_of_a_service(
        frame.module, value.path
    ):
        return _chunks(machine, 0, iterable, frame, value)
    return Turns(UNKNOWN)


def _chunks(
    machine: Machine, strong: int, iterable: ast.expr, frame: Frame, value: Value
) -> Turns:
    machine.has_stream = True
    elem = Value(t.CHUNK | strong, steps=value.steps)
    elem = with_step(elem, machine.step(iterable, frame, "one turn per streamed chunk"))
    return Turns(elem, per_chunk=True, strong=bool(strong))


def _note_reader(machine: Machine, value: Value, loop: ast.AST) -> None:
    for thing in value.things:
        if thing.request is not None:
            request = machine.facts.requests.get(thing.request)
            if request is not None:
                request.loops.add(loop)


def _turns_of_things(
    machine: Machine, value: Value, iterable: ast.expr, frame: Frame
) -> Turns:
    elem = UNKNOWN
    per_chunk = strong = False
    per_token = is_per_token(value)
    for thing in value.things:
        if thing.kind == "instance":
            turns = _turns_of_instance(machine, Value(things=frozenset({thing})), frame)
            elem = join(elem, turns.elem)
            per_chunk = per_chunk or turns.per_chunk
            strong = strong or turns.strong
            continue
        if thing.kind == "tuple":
            elem = join(elem, join_all(thing.fields.values()))
        elem = join(elem, thing.elem)
        per_chunk = per_chunk or thing.per_chunk
        strong = strong or thing.strong
    if value.tags & t.STREAM:
        elem = join(elem, Value(t.CHUNK | (value.tags & t.STRONG)))
        per_chunk = True
        strong = strong or bool(value.tags & t.STRONG)
    if per_chunk:
        note = machine.step(iterable, frame, "one turn per streamed chunk")
        elem = with_step(elem if elem is not UNKNOWN else Value(t.CHUNK), note)
    if per_token:
        elem = retagged(elem, elem.tags & ~t.LATER)
    return Turns(elem, per_chunk=per_chunk, strong=strong, per_token=per_token)


def is_per_token(value: Value) -> bool:
    """Whether a sequence may hold one entry per token."""
    return bool(value.tags & t.IDS) or any(thing.per_token for thing in value.things)


def _turns_of_instance(machine: Machine, value: Value, frame: Frame) -> Turns:
    """Iterate an object by the methods of its class."""
    for opener, reader in (("__iter__", "__next__"), ("__aiter__", "__anext__")):
        opened = machine.call_method(value, opener, frame)
        if opened is None:
            continue
        if opened.things and opened.things != value.things:
            inner = next(iter(opened.things))
            if inner.kind != "instance":
                return Turns(inner.elem, inner.per_chunk, inner.strong)
        if opened.tags & t.STREAM:
            strong = opened.tags & t.STRONG
            return Turns(Value(t.CHUNK | strong), per_chunk=True, strong=bool(strong))
        item = machine.call_method(value, reader, frame, pulls=False)
        if item is not None and item.tags & t.CHUNK:
            # Run it once more as what it is: called once per chunk.
            is_strong = bool(item.tags & t.STRONG)
            inside = Frame(frame.module, {}, inherited=True, strong=is_strong)
            machine.call_method(value, reader, inside)
            return Turns(item, per_chunk=True, strong=bool(item.tags & t.STRONG))
    return Turns(UNKNOWN)


def looks_like_chunks(
    module: Module, loop: ast.AST, iterable: ast.expr | None = None
) -> bool:
    """Whether a loop's body treats its items as chunks of an LLM stream."""
    known = module.evidence.get(loop)
    if known is None:
        known = module.evidence[loop] = _has_evidence(module, loop, iterable)
    return known


def _has_evidence(module: Module, loop: ast.AST, iterable: ast.expr | None) -> bool:
    names: set[str] = set()
    texts: list[str] = []
    written: set[ast.AST] = set()
    for node in walk(loop):
        if isinstance(node, ast.Dict):
            # Keys of a display are written, not read: a mock server's loop.
            written.update(key for key in node.keys if key is not None)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif node not in written and isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                texts.append(node.value)
            elif isinstance(node.value, bytes):
                texts.append(node.value.decode("latin-1"))
    keys = names.union(texts)
    if "choices" in keys and "delta" in keys:
        return True
    if any(text.startswith("response.") and "delta" in text for text in texts):
        return True
    is_sse = any("[DONE]" in text for text in texts)
    is_line = any(text.startswith("data:") for text in texts)
    if is_sse and ("choices" in keys or is_line):
        return True
    if is_line and not keys.isdisjoint(_TEXT_KEYS) and not module.mentions(_NATIVE_API):
        return True
    if "choices" in keys and "text" in keys and _is_named_like_a_chunk(loop):
        return True
    return (
        iterable is not None
        and is_named_like_a_stream(iterable)
        and imports_llm_library(module)
    )


def _reads_events(loop: ast.AST) -> bool:
    """Whether a loop's body looks for the `data:` in front of an event."""
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and node.value[:5] in ("data:", b"data:")
        for node in walk(loop)
    )


def _is_named_like_a_chunk(loop: ast.AST) -> bool:
    target = getattr(loop, "target", None)
    return isinstance(target, ast.Name) and bool(
        _CHUNK_NAMES.intersection(words_of(target.id))
    )


def is_named_like_a_stream(iterable: ast.expr) -> bool:
    """Whether what is looped over is a variable or field called a stream."""
    return isinstance(iterable, ast.Name | ast.Attribute) and any(
        _STREAM_WORDS.intersection(words_of(name)) for name in names_in(iterable)
    )


def imports_llm_library(module: Module) -> bool:
    """Whether a file speaks of a client library or of an endpoint for completions."""
    return module.mentions(_LLM_LIBRARY)
