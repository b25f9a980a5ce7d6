"""Comprehensions: loops whose entries are kept."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint._expressions import merge
from otel_specdecode.lint._frames import Frame, Loop
from otel_specdecode.lint._iteration import Turns, turns_of
from otel_specdecode.lint._tables import Row, each_row, rows_of
from otel_specdecode.lint._values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._machine import Machine


def comprehend(
    machine: Machine,
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    frame: Frame,
    body: Callable[[], Value],
) -> Turns:
    """Run a comprehension: its entry, and how many there are."""
    outer, saved = frame.loop, dict(frame.env)
    per_chunk, strong, per_token = True, False, False
    for generator in node.generators:
        value = machine.evaluate(generator.iter, frame)
        turns = turns_of(machine, value, generator.iter, node, frame)
        here = turns.per_chunk or (turns.is_inside_chunk and frame.per_chunk)
        per_chunk = per_chunk and (turns.per_chunk or turns.is_inside_chunk)
        strong = strong or turns.strong
        per_token = per_token or turns.per_token
        frame.loop = Loop(
            node, here, turns.strong, frozenset(saved), frame.loop,
            per_token=turns.per_token,
        )  # fmt: skip
        machine.assign(generator.target, turns.elem, frame)
        for test in generator.ifs:
            machine.evaluate(test, frame)
    elem = body()
    frame.loop = outer
    names = {
        part.id
        for generator in node.generators
        for part in ast.walk(generator.target)
        if isinstance(part, ast.Name)
    }
    for name in names:
        if name in saved:
            frame.env[name] = saved[name]
        else:
            frame.env.pop(name, None)
    return Turns(elem, per_chunk=per_chunk, strong=strong, per_token=per_token)


def _comprehension(
    machine: Machine, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, frame: Frame
) -> Value:
    turns = comprehend(machine, node, frame, lambda: machine.evaluate(node.elt, frame))
    kind = "iter" if isinstance(node, ast.GeneratorExp) else "list"
    return machine.entries(node, frame, turns.elem, turns, kind)


def _dict_comprehension(machine: Machine, node: ast.DictComp, frame: Frame) -> Value:
    first = node.generators[0]
    if len(node.generators) == 1 and not first.ifs:
        value = machine.evaluate(first.iter, frame)
        rows = rows_of(machine, first.iter, value, frame)
        if rows:
            return _dict_of_rows(machine, node, frame, rows)

    def body() -> Value:
        machine.evaluate(node.key, frame)
        return machine.evaluate(node.value, frame)

    elem = comprehend(machine, node, frame, body).elem
    thing = machine.thing("dict", node, frame)
    machine.grow(thing, elem)
    for generator in node.generators:
        copied = _items_source(machine, generator.iter, frame)
        if copied is not None:
            merge(machine, thing, copied)
            is_known = any(each.kind == "dict" for each in copied.things)
            if not is_known:
                thing.open()
    return Value(things=frozenset({thing}))


def _dict_of_rows(
    machine: Machine, node: ast.DictComp, frame: Frame, rows: list[Row]
) -> Value:
    """`{name: statistics(values) for name, values in table.items()}`."""
    saved = dict(frame.env)
    thing = machine.thing("dict", node, frame)
    for _ in each_row(machine, node.generators[0].target, rows, frame):
        key = machine.evaluate(node.key, frame)
        field = machine.evaluate(node.value, frame)
        if len(key.texts) == 1:
            text = next(iter(key.texts))
            machine.set_field(thing, text, field)
            machine.label(field.rates, text)
        else:
            machine.grow(thing, field)
    frame.env.clear()
    frame.env.update(saved)
    return Value(things=frozenset({thing}))


def _items_source(machine: Machine, node: ast.expr, frame: Frame) -> Value | None:
    """`d` of `d.items()`, `None` for others: a filtered copy keeps the fields."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="items")):
            return machine.evaluate(owner, frame)
        case _:
            return None


COMPREHENSIONS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
}
