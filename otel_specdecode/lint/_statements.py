"""What each kind of statement does to what is known.

A handler returns whether control can go on after the statement.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._attributes import write_field
from otel_specdecode.lint._expressions import combine
from otel_specdecode.lint._iteration import turns_of
from otel_specdecode.lint._machine import Env, Frame, Loop, Machine
from otel_specdecode.lint._naming import reads_place, same_place
from otel_specdecode.lint._values import (
    UNKNOWN,
    Definition,
    Value,
    join,
    join_all,
    retagged,
    with_step,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


# Assignment


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
    if frame.per_chunk and value.tags & t.CLOCK:
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
                machine.changed = True
            return
    machine.globals_of(frame.module)[name] = value


def _assign_item(
    machine: Machine, target: ast.Subscript, value: Value, frame: Frame
) -> None:
    base = machine.evaluate(target.value, frame)
    key = machine.evaluate(target.slice, frame)
    if key.texts and not key.tags:
        for text in key.texts:
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
            if thing.kind == "tuple" and not starred and position in thing.fields:
                part = join(part, thing.fields[position])
            elif thing.kind == "instance":
                part = join(part, _positional_field(thing, position))
            else:
                part = join(part, join(thing.elem, join_all(thing.fields.values())))
        if not value.things and value.tags & t.CHUNK:
            part = value
        assign(machine, item, part, frame)


def _positional_field(thing: object, position: int) -> Value:
    from otel_specdecode.lint._values import Thing

    if not isinstance(thing, Thing):
        return UNKNOWN
    values = list(thing.fields.values())
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
    for old, step in ((value.left, value.right), (value.right, value.left)):
        if reads_place(old, target):
            added = machine.evaluate(step, frame)
            return _incremented(machine, target, added, frame, node)
    return None


def _annotated_assign(machine: Machine, node: ast.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        assign(machine, node.target, machine.evaluate(node.value, frame), frame)
    return True


def _augmented_assign(machine: Machine, node: ast.AugAssign, frame: Frame) -> bool:
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
                    for key, field in list(other.fields.items()):
                        machine.set_field(thing, key, field)
    _store(machine, node.target, counted, frame)
    return True


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
    bucket = t.BUCKET if _is_time_slot(machine, target, frame) else 0
    story = frame.loop.steps if frame.loop else ()
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
            if not base.things and isinstance(target.value, ast.Name):
                thing = machine.thing("dict", (frame.node, target.value.id), frame)
                thing.is_open = True
                base = Value(things=frozenset({thing}))
                assign(machine, target.value, base, frame)
            for thing in base.things:
                machine.grow(thing, value)
            return
    assign(machine, target, value, frame)


# Control flow

MAX_REPEATED_DEPTH = 4
"""Loops nested deeper run once: twice each would be twice as long at every level."""


def _join_env(env: Env, others: Iterable[Env]) -> None:
    """Let an environment be any of several."""
    for other in others:
        for name, value in other.items():
            old = env.get(name)
            env[name] = value if old is None else join(old, value)


def _replace(env: Env, by: Env) -> None:
    env.clear()
    env.update(by)


def _if(machine: Machine, node: ast.If, frame: Frame) -> bool:
    machine.evaluate(node.test, frame)
    before = dict(frame.env)
    goes_on = machine.execute(node.body, frame)
    after_body = dict(frame.env)
    _replace(frame.env, before)
    other_goes_on = machine.execute(node.orelse, frame)
    if goes_on and other_goes_on:
        _join_env(frame.env, [after_body])
    elif goes_on:
        _replace(frame.env, after_body)
    return goes_on or other_goes_on


def _run_loop(
    machine: Machine,
    node: ast.For | ast.AsyncFor | ast.While,
    frame: Frame,
    loop: Loop,
    start: Callable[[], None],
) -> bool:
    """Run a body twice, so that what one turn leaves reaches the next.

    While no stream has been met there is nothing to carry over, and once will do.
    """
    outer = frame.loop
    frame.loop = loop
    frame.loop_depth += 1
    before = dict(frame.env)
    for turn in range(2):
        if turn and (not machine.has_stream or frame.loop_depth > MAX_REPEATED_DEPTH):
            break
        was_per_chunk = loop.per_chunk
        start()
        machine.execute(node.body, frame)
        _join_env(frame.env, [*loop.turns, before])
        loop.turns.clear()
        if was_per_chunk != loop.per_chunk:
            start()
            machine.execute(node.body, frame)
            _join_env(frame.env, [*loop.turns, before])
            loop.turns.clear()
    frame.loop = outer
    frame.loop_depth -= 1
    machine.execute(node.orelse, frame)
    _join_env(frame.env, loop.exits)
    return True


def _for(machine: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> bool:
    value = machine.evaluate(node.iter, frame)
    turns = turns_of(machine, value, node.iter, node, frame)
    inside = turns.is_inside_chunk and frame.per_chunk
    loop = Loop(
        node,
        per_chunk=turns.per_chunk or inside,
        strong=turns.strong or (inside and frame.is_strong),
        carried=frozenset(frame.env),
        outer=frame.loop if inside else None,
        can_pull=not turns.per_chunk and not inside,
        steps=turns.elem.steps,
    )
    return _run_loop(
        machine, node, frame, loop,
        lambda: machine.assign(node.target, turns.elem, frame),
    )  # fmt: skip


def _while(machine: Machine, node: ast.While, frame: Frame) -> bool:
    inside = frame.per_chunk
    loop = Loop(
        node,
        per_chunk=inside,
        strong=frame.is_strong,
        carried=frozenset(frame.env),
        outer=frame.loop if inside else None,
        can_pull=True,
    )
    return _run_loop(
        machine, node, frame, loop,
        lambda: machine.discard(machine.evaluate(node.test, frame)),
    )  # fmt: skip


def _break(_machine: Machine, _node: ast.Break, frame: Frame) -> bool:
    if frame.loop is not None:
        frame.loop.exits.append(dict(frame.env))
    return False


def _continue(_machine: Machine, _node: ast.Continue, frame: Frame) -> bool:
    if frame.loop is not None:
        frame.loop.turns.append(dict(frame.env))
    return False


def _with(machine: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
    managers: list[Value] = []
    for item in node.items:
        value = machine.evaluate(item.context_expr, frame)
        managers.append(value)
        entered = value
        for name in ("__enter__", "__aenter__"):
            result = machine.call_method(value, name, frame)
            if result is not None:
                entered = result
        if item.optional_vars is not None:
            machine.assign(item.optional_vars, entered, frame)
    goes_on = machine.execute(node.body, frame)
    for value in managers:
        for name in ("__exit__", "__aexit__"):
            machine.call_method(value, name, frame)
    return goes_on


def _try(machine: Machine, node: ast.Try, frame: Frame) -> bool:
    before = dict(frame.env)
    goes_on = machine.execute(node.body, frame)
    after_body = dict(frame.env)
    if goes_on:
        goes_on = machine.execute(node.orelse, frame)
    ends = [dict(frame.env)] if goes_on else []
    for handler in node.handlers:
        _replace(frame.env, before)
        _join_env(frame.env, [after_body])
        if machine.execute(handler.body, frame):
            ends.append(dict(frame.env))
    if ends:
        _replace(frame.env, ends[0])
        _join_env(frame.env, ends[1:])
    else:
        _replace(frame.env, before)
        _join_env(frame.env, [after_body])
    return machine.execute(node.finalbody, frame) and bool(ends)


def _match(machine: Machine, node: ast.Match, frame: Frame) -> bool:
    subject = machine.evaluate(node.subject, frame)
    before = dict(frame.env)
    ends: list[Env] = [before]
    for case in node.cases:
        _replace(frame.env, before)
        for pattern in ast.walk(case.pattern):
            name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
            if isinstance(name, str):
                frame.env[name] = subject
        if case.guard is not None:
            machine.evaluate(case.guard, frame)
        if machine.execute(case.body, frame):
            ends.append(dict(frame.env))
    _replace(frame.env, ends[0])
    _join_env(frame.env, ends[1:])
    return True


def _return(machine: Machine, node: ast.Return, frame: Frame) -> bool:
    if node.value is not None:
        value = machine.evaluate(node.value, frame)
        # `return None` on the way out says nothing about the value.
        if value.tags != t.NONE:
            frame.returned = join(frame.returned, value)
    return False


def _raise(machine: Machine, node: ast.Raise, frame: Frame) -> bool:
    if node.exc is not None:
        machine.evaluate(node.exc, frame)
    return False


def _expression(machine: Machine, node: ast.Expr, frame: Frame) -> bool:
    machine.evaluate(node.value, frame)
    return True


def _assert(machine: Machine, node: ast.Assert, frame: Frame) -> bool:
    machine.evaluate(node.test, frame)
    return True


# Definitions


def _function(
    machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame
) -> bool:
    thing = machine.thing("function", node, frame)
    thing.definition = Definition(
        node, frame.module, frame.owner, scope=machine.inner_scope(frame)
    )
    frame.env[node.name] = Value(things=frozenset({thing}))
    return True


def _class(machine: Machine, node: ast.ClassDef, frame: Frame) -> bool:
    thing = machine.thing("class", node, frame)
    bases = tuple(
        base
        for expression in node.bases
        for base in machine.evaluate(expression, frame).things
        if base.kind == "class" and base is not thing
    )
    members: Env = {}
    thing.definition = Definition(
        node,
        frame.module,
        scope=machine.inner_scope(frame),
        bases=bases,
        members=members,
    )
    frame.env[node.name] = Value(things=frozenset({thing}))
    body = Frame(
        frame.module, members, machine.inner_scope(frame), node, node.name, owner=thing
    )
    machine.execute(node.body, body)
    return True


def _import(machine: Machine, node: ast.Import, frame: Frame) -> bool:
    for alias in node.names:
        bound = alias.asname or alias.name.partition(".")[0]
        full = alias.name if alias.asname else bound
        module = machine.find_module(frame.module, full, 0)
        if module is None:
            frame.env[bound] = Value(path=full)
        else:
            frame.env[bound] = machine.module_value(module, frame)
    return True


def _import_from(machine: Machine, node: ast.ImportFrom, frame: Frame) -> bool:
    base = node.module or ""
    for alias in node.names:
        bound = alias.asname or alias.name
        frame.env[bound] = machine.imported(frame, base, alias.name, node.level)
    return True


def _outer_names(
    _machine: Machine, node: ast.Global | ast.Nonlocal, frame: Frame
) -> bool:
    frame.outer_names.update(node.names)
    return True


def _delete(_machine: Machine, _node: ast.Delete, _frame: Frame) -> bool:
    return True


STATEMENTS: dict[type[ast.AST], Callable[..., bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented_assign,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Expr: _expression,
    ast.Assert: _assert,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _outer_names,
    ast.Nonlocal: _outer_names,
    ast.Delete: _delete,
}

__all__ = ["STATEMENTS", "assign", "same_place"]
