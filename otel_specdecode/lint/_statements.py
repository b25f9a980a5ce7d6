"""What each kind of statement does to what is known.

A handler returns whether control can go on after the statement.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._assignment import ASSIGNMENTS
from otel_specdecode.lint._frames import Env, Frame, Loop
from otel_specdecode.lint._iteration import turns_of
from otel_specdecode.lint._tables import Row, each_row, rows_of
from otel_specdecode.lint._values import (
    Definition,
    Value,
    join,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otel_specdecode.lint._machine import Machine


# Control flow

MAX_REPEATED_DEPTH = 4
"""Loops nested deeper run once: twice each would be twice as long at every level."""


def _join_env(env: Env, others: Iterable[Env]) -> None:
    """Let an environment be any of several."""
    for other in others:
        for name, value in other.items():
            old = env.get(name)
            if old is not value:
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


def _has_moved(env: Env, before: Env) -> bool:
    """Whether a turn changed what a name bound before the loop may be."""
    return any(
        env[name] is not old and env[name] != old for name, old in before.items()
    )


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
    growth = machine.growth
    for turn in range(2):
        if turn:
            is_same = machine.growth == growth and not _has_moved(frame.env, before)
            if is_same or frame.loop_depth > MAX_REPEATED_DEPTH:
                break
            if not machine.has_stream:
                machine.is_cut_short = True
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
    rows = rows_of(machine, node.iter, value, frame)
    if rows:
        return _run_rows(machine, node, frame, rows)
    turns = turns_of(machine, value, node.iter, node, frame)
    inside = turns.is_inside_chunk and frame.per_chunk
    loop = Loop(
        node,
        per_chunk=turns.per_chunk or inside,
        strong=turns.strong or (inside and frame.is_strong),
        carried=frozenset(frame.env),
        outer=frame.loop if inside else None,
        can_pull=not turns.per_chunk and not inside,
        per_token=turns.per_token,
        steps=turns.elem.steps,
    )
    return _run_loop(
        machine, node, frame, loop,
        lambda: machine.assign(node.target, turns.elem, frame),
    )  # fmt: skip


def _run_rows(
    machine: Machine, node: ast.For | ast.AsyncFor, frame: Frame, rows: list[Row]
) -> bool:
    """Run the body once for each row of a table, each told apart from the others."""
    outer, before = frame.loop, dict(frame.env)
    loop = Loop(
        node, per_chunk=False, strong=False, carried=frozenset(frame.env), outer=None,
        can_pull=True,
    )  # fmt: skip
    frame.loop = loop
    for _ in each_row(machine, node.target, rows, frame):
        machine.execute(node.body, frame)
        _join_env(frame.env, [*loop.turns, before])
        loop.turns.clear()
    frame.loop = outer
    machine.execute(node.orelse, frame)
    _join_env(frame.env, loop.exits)
    return True


def _while(machine: Machine, node: ast.While, frame: Frame) -> bool:
    inside = frame.per_chunk
    loop = Loop(
        node,
        per_chunk=inside,
        strong=frame.is_strong,
        carried=frozenset(frame.env),
        outer=frame.loop if inside else None,
        can_pull=True,
        per_token=inside and frame.loop is not None and frame.loop.per_token,
    )
    return _run_loop(
        machine, node, frame, loop,
        lambda: _evaluate_test(machine, node, frame),
    )  # fmt: skip


def _evaluate_test(machine: Machine, node: ast.While, frame: Frame) -> None:
    machine.evaluate(node.test, frame)


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
    value = Value(things=frozenset({thing}))
    for decorator in reversed(node.decorator_list):
        value = _decorated(machine, decorator, value, frame)
    frame.env[node.name] = value
    return True


def _decorated(
    machine: Machine, decorator: ast.expr, value: Value, frame: Frame
) -> Value:
    """What a decorator of these files makes of a function; others leave it as it is."""
    maker = machine.evaluate(decorator, frame)
    if not any(thing.kind == "function" for thing in maker.things):
        return value
    made = machine.call_value(maker, decorator, frame, [value])
    return made if any(thing.kind == "function" for thing in made.things) else value


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
    **ASSIGNMENTS,
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
