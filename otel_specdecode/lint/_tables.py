"""Tables: loops that tell rows apart, rows made columns, columns given names.

`for name, values in {"ttft": ttfts, "tpot": gaps}.items()` computes one thing of
several. Run once for all of them, each number would bear every name.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._iteration import turns_of
from otel_specdecode.lint._values import UNKNOWN, Thing, Value, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_specdecode.lint._frames import Call, Frame
    from otel_specdecode.lint._machine import Machine

MAX_ROWS = 12
"""Longer tables are run as one: each row is one more turn of the loop's body."""

Row = tuple[object, Value]
"""What tells a row from the others, and the row."""


def rows_of(
    machine: Machine, iterated: ast.expr, value: Value, frame: Frame
) -> list[Row]:
    """The rows of a table that holds quantities; none where it is no such table.

    Args:
        machine: the analysis.
        iterated: the expression looped over.
        value: what it evaluated to.
        frame: where the loop stands.
    """
    if frame.per_chunk:
        return []
    rows = [*_items(machine, iterated, frame), *_tuples(machine, value, frame)]
    is_table = 2 <= len(rows) <= MAX_ROWS
    return rows if is_table and any(_has_quantity(row) for _, row in rows) else []


def each_row(
    machine: Machine, target: ast.expr, rows: Iterable[Row], frame: Frame
) -> Iterator[None]:
    """Assign one row after the other; what is run meanwhile is told apart by it."""
    context, outer = frame.context, frame.row
    for row, value in rows:
        frame.context, frame.row = (context, row), row
        machine.assign(target, value, frame)
        yield
    frame.context, frame.row = context, outer


def _items(machine: Machine, iterated: ast.expr, frame: Frame) -> Iterator[Row]:
    match iterated:
        case ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr="items")):
            owners = machine.evaluate(owner, frame).things
        case ast.Call(func=ast.Attribute(value=ast.Dict() as owner, attr="items")):
            owners = machine.evaluate(owner, frame).things
        case _:
            return
    if len(owners) != 1:
        return
    (table,) = owners
    if table.kind != "dict" or table.elem is not UNKNOWN:
        return
    for key, field in table.fields.items():
        name = Value(texts=frozenset({str(key)}))
        yield key, machine.tuple_of((iterated, key), frame, [name, field])


def _tuples(machine: Machine, value: Value, frame: Frame) -> Iterator[Row]:
    if len(value.things) != 1:
        return
    (table,) = value.things
    node = table.node if table.kind in {"list", "tuple"} else None
    if not isinstance(node, ast.List | ast.Tuple):
        return
    for row in node.elts:
        made = machine.known_thing("tuple", row, frame.context)
        if made is None:
            return
        yield row, Value(things=frozenset({made}))


def _has_quantity(row: Value) -> bool:
    return any(
        _is_quantity(field) for thing in row.things for field in thing.fields.values()
    )


def _is_quantity(value: Value) -> bool:
    return _counts(value) or any(_holds(thing) for thing in value.things)


def _holds(thing: Thing) -> bool:
    return thing.per_chunk or _counts(thing.elem)


def _counts(value: Value) -> bool:
    return bool(value.rates or value.tags & t.QUANTITIES & ~t.STRONG)


def transposed(machine: Machine, call: Call) -> Value:
    """`zip(*rows)`: one sequence for each position of a row."""
    columns: dict[int, Value] = {}
    for rows in call.unpacked[0].things:
        for row in rows.elem.things:
            for position, field in row.fields.items():
                if isinstance(position, int):
                    columns[position] = join(columns.get(position, UNKNOWN), field)
    made: list[Value] = []
    for position in range(len(columns)):
        thing = machine.thing("list", (call.node, position), call.frame)
        machine.grow(thing, columns.get(position, UNKNOWN))
        made.append(Value(things=frozenset({thing})))
    return machine.tuple_of(call.node, call.frame, made)


def frame_of_rows(machine: Machine, call: Call) -> Value | None:
    """`DataFrame(rows, columns=[...])`: a row's fields by the columns' names."""
    names = [
        item.value
        for keyword in call.node.keywords
        if keyword.arg in {"columns", "schema"}
        for item in getattr(keyword.value, "elts", ())
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
    rows = call.arg(0)
    if not names or not rows.things:
        return rows if call.args else None
    row = machine.thing("dict", (call.node, "row"), call.frame)
    for table in rows.things:
        for tuple_ in table.elem.things:
            for position, field in tuple_.fields.items():
                if isinstance(position, int) and position < len(names):
                    machine.set_field(row, names[position], field)
    turns = turns_of(machine, rows, call.node, call.node, call.frame)
    elem = Value(things=frozenset({row}))
    return machine.entries(call.node, call.frame, elem, turns, "list")
