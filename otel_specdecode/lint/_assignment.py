"""Binding names, attributes and keys; counters that grow once per chunk."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._annotations import made_of
from otel_specdecode.lint._attributes import write_field
from otel_specdecode.lint._expressions import combine
from otel_specdecode.lint._naming import reads_place
from otel_specdecode.lint._requests import is_true
from otel_specdecode.lint._values import (
    UNKNOWN,
    Thing,
    Value,
    join,
    join_all,
    retagged,
    with_step,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._frames import Frame
    from otel_specdecode.lint._machine import Machine

_STREAM = frozenset(("stream",))


def assign(machine: Machine, target: ast.expr, value: Value, frame: Frame) -> None:
    """Bind a target to a value."""
    match target:
        case ast.Name():
            machine.label(value.rates, target.id)
            _bind_name(machine, target.id, _timed(value, frame), frame)
        case ast.Attribute():
            machine.label(value.rates, target.attr)
            base = machine.evaluate(target.value, frame)
            write_field(machine, base, target.attr, _timed(value, frame))
        case ast.Subscript():
            _assign_item(machine, target, value, frame)
        case ast.Tuple() | ast.List():
            _unpack(machine, target, value, frame)
        case ast.Starred():
            assign(machine, target.value, value, frame)
        case _:
            pass


def _timed(value: Value, frame: Frame) -> Value:
    """A clock reading kept from inside a chunk loop belongs to one chunk."""
    per_token = frame.loop is not None and frame.loop.per_token
    if frame.per_chunk and not per_token and value.tags & t.CLOCK:
        return retagged(value, value.tags | t.LATER)
    return value


def _bind_name(machine: Machine, name: str, value: Value, frame: Frame) -> None:
    if name not in frame.outer_names:
        frame.env[name] = value
        return
    for env in (*reversed(frame.scope), machine.globals_of(frame.module)):
        if name in env:
            joined = join(env[name], value)
            if joined != env[name]:
                env[name] = joined
                machine.growth += 1
            return
    machine.globals_of(frame.module)[name] = value


def _assign_item(
    machine: Machine, target: ast.Subscript, value: Value, frame: Frame
) -> None:
    base = machine.evaluate(target.value, frame)
    key = machine.evaluate(target.slice, frame)
    if key.texts and not key.tags:
        if key.texts == _STREAM and is_true(value) and not base.things:
            base = _opened(machine, target.value, frame) or base
        for text in key.texts:
            if len(key.texts) == 1:
                machine.label(value.rates, text)
            write_field(machine, base, text, _timed(value, frame))
            machine.publish(target, text, value, frame)
        return
    for thing in base.things:
        machine.grow(thing, value)
        # One entry under a new key per chunk: a dict of arrivals.
        if frame.per_chunk and key.tags & t.COUNT:
            machine.mark_per_chunk(thing, strong=frame.is_strong)


def _unpack(
    machine: Machine, target: ast.Tuple | ast.List, value: Value, frame: Frame
) -> None:
    starred = any(isinstance(item, ast.Starred) for item in target.elts)
    for position, item in enumerate(target.elts):
        part = UNKNOWN
        for thing in value.things:
            exact = thing.fields.get(position) if thing.kind == "tuple" else None
            if exact is not None and not starred:
                part = join(part, exact)
            elif thing.kind == "instance":
                part = join(part, _positional_field(thing, position))
            else:
                part = join(part, join(thing.elem, join_all(thing.fields.values())))
        if not value.things and value.tags & t.CHUNK:
            part = value
        assign(machine, item, part, frame)


def _positional_field(thing: Thing, position: int) -> Value:
    values = thing.fields.values()
    return values[position] if position < len(values) else UNKNOWN


def _assign(machine: Machine, node: ast.Assign, frame: Frame) -> bool:
    if len(node.targets) == 1:
        counted = _spelt_out_increment(machine, node, frame)
        if counted is not None:
            _store(machine, node.targets[0], counted, frame)
            return True
    value = machine.evaluate(node.value, frame)
    elements = _parallel(node)
    if elements is not None:
        values = [machine.evaluate(item, frame) for item in elements[1]]
        for target, item in zip(elements[0], values, strict=True):
            assign(machine, target, item, frame)
        return True
    for target in node.targets:
        assign(machine, target, value, frame)
    return True


def _parallel(node: ast.Assign) -> tuple[list[ast.expr], list[ast.expr]] | None:
    """Targets and values of `a, b = x, y`, which never mix."""
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)
        ):
            mixed = any(isinstance(item, ast.Starred) for item in [*targets, *values])
            return None if mixed or len(targets) != len(values) else (targets, values)
        case _:
            return None


def _spelt_out_increment(
    machine: Machine, node: ast.Assign, frame: Frame
) -> Value | None:
    """The value of `n = n + 1` or `d[k] = d.get(k, 0) + 1`; `None` for others."""
    target, value = node.targets[0], node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    # What a dict that is made elsewhere held before is of the kind that is added.
    is_elsewhere = (
        isinstance(target, ast.Subscript)
        and not machine.evaluate(target.value, frame).things
    )
    for old, step in ((value.left, value.right), (value.right, value.left)):
        if reads_place(old, target):
            added = machine.evaluate(step, frame)
            counted = _incremented(machine, target, added, frame, node)
            return added if counted is None and is_elsewhere else counted
    return None


def _annotated_assign(machine: Machine, node: ast.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        value = machine.evaluate(node.value, frame)
        if not (value.tags or value.things or value.rates or value.texts):
            made = made_of(machine, node.annotation, frame)
            value = made if made is not None and made.things else value
        assign(machine, node.target, value, frame)
    return True


def _augmented_assign(machine: Machine, node: ast.AugAssign, frame: Frame) -> bool:
    if frame.per_chunk and _is_one_more(node):
        machine.evaluate(machine.appending(node), frame)
        return True
    added = machine.evaluate(node.value, frame)
    counted = None
    if isinstance(node.op, ast.Add):
        counted = _incremented(machine, node.target, added, frame, node)
    if counted is None:
        old = machine.evaluate(node.target, frame)
        operation = machine.operation(node)
        counted = combine(machine, operation, old, added, frame)
        if isinstance(node.op, ast.BitOr):
            for thing in old.things:
                for other in added.things:
                    for key, field in other.fields.items():
                        machine.set_field(thing, key, field)
    _store(machine, node.target, counted, frame)
    return True


def _is_one_more(node: ast.AugAssign) -> bool:
    """Whether this is `received += [chunk]`."""
    return (
        isinstance(node.op, ast.Add)
        and isinstance(node.value, ast.List)
        and len(node.value.elts) == 1
        and not isinstance(node.value.elts[0], ast.Starred)
    )


def _incremented(
    machine: Machine, target: ast.expr, added: Value, frame: Frame, node: ast.stmt
) -> Value | None:
    """A counter after `+=`: one per chunk makes it a chunk count."""
    if (
        not frame.per_chunk
        or not added.tags & t.ONE
        or added.tags & t.QUANTITIES & ~t.STRONG
    ):
        return None
    if not _outlives_turn(target, frame):
        return None
    old = machine.evaluate(target, frame)
    strong = t.STRONG if frame.is_strong else 0
    kept = old.tags & (t.TOKENS | t.CHARS)
    if frame.loop is not None and frame.loop.per_token:
        kept |= t.TOKENS
    bucket = t.BUCKET if _is_time_slot(machine, target, frame) else 0
    story = frame.loop.steps if frame.loop else frame.story
    value = Value(t.COUNT | strong | kept | bucket, steps=story)
    return with_step(value, machine.step(node, frame, "one added per chunk"))


def _outlives_turn(target: ast.expr, frame: Frame) -> bool:
    """Whether a counter lives longer than one turn of the chunk loop."""
    if not isinstance(target, ast.Name) or target.id in frame.outer_names:
        return True
    if frame.node is None and frame.loop is None:
        return True
    loop = frame.loop
    if loop is None:
        return False
    while loop.outer is not None and loop.outer.per_chunk:
        loop = loop.outer
    return target.id in loop.carried


def _is_time_slot(machine: Machine, target: ast.expr, frame: Frame) -> bool:
    if not isinstance(target, ast.Subscript):
        return False
    key = machine.evaluate(target.slice, frame)
    return bool(key.tags & (t.SPAN | t.CLOCK))


def _store(machine: Machine, target: ast.expr, value: Value, frame: Frame) -> None:
    """Assign, where an unknown key means any entry."""
    if isinstance(target, ast.Subscript):
        base = machine.evaluate(target.value, frame)
        key = machine.evaluate(target.slice, frame)
        if not key.texts or key.tags:
            if not base.things:
                base = _opened(machine, target.value, frame) or base
            for thing in base.things:
                machine.grow(thing, value)
            return
    assign(machine, target, value, frame)


def _opened(machine: Machine, place: ast.expr, frame: Frame) -> Value | None:
    """A dict of which only what is written here is known; `None` for no variable."""
    if not isinstance(place, ast.Name):
        return None
    thing = machine.thing("dict", (frame.node, place.id), frame)
    thing.open()
    base = Value(things=frozenset({thing}))
    assign(machine, place, base, frame)
    return base


ASSIGNMENTS: dict[type[ast.AST], Callable[..., bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented_assign,
}
"""Handlers by the kind of statement."""
