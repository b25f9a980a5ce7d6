"""What each kind of expression evaluates to, calls aside."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from otel_specdecode.lint import _arithmetic, _formatting
from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._attributes import read_field, read_item
from otel_specdecode.lint._fields import field_name
from otel_specdecode.lint._iteration import turns_of
from otel_specdecode.lint._tree import walk
from otel_specdecode.lint._values import (
    RETURNED,
    UNKNOWN,
    Definition,
    Thing,
    Value,
    join,
    join_all,
    retagged,
    with_step,
)
from otel_specdecode.lint.facts import RateKind
from otel_specdecode.lint.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._frames import Frame
    from otel_specdecode.lint._machine import Machine

_ADDERS = frozenset(("append", "appendleft", "add", "put", "put_nowait"))
_BOXES = frozenset(("list", "iter"))
"""Methods that add one entry, and what has them."""
_USAGE_NAMES = frozenset(
    "usage response_usage token_usage usage_metadata usage_data raw_usage usage_dict "
    "resp_usage llm_usage completion_usage last_usage final_usage chunk_usage".split()
)
"""Variables that hold what a server reported, where nothing else is known of them."""

MAX_ENTRIES = 200
"""Of a literal: what is longer is data, and more of the same."""


def _constant(machine: Machine, node: ast.Constant, _frame: Frame) -> Value:
    known = machine.constants.get(node)
    if known is None:
        known = machine.constants[node] = _value_of_constant(node)
    return known


def _value_of_constant(node: ast.Constant) -> Value:
    match node.value:
        case True:
            return Value(t.TRUE | t.ONE)
        case False:
            return Value(t.FALSE | t.ONE)
        case None:
            return Value(t.NONE)
        case str(text):
            return Value(texts=frozenset({text[:300]}))
        case bytes(raw):
            return Value(texts=frozenset({raw[:300].decode("latin-1")}))
        case 1:
            return Value(t.ONE)
        case int() | float():
            return Value(t.NUMBER)
        case _:
            return UNKNOWN


def _name(machine: Machine, node: ast.Name, frame: Frame) -> Value:
    value = machine.lookup(node.id, frame)
    is_made_here = value.tags & ~t.NONE or value.things or value.path.endswith("()")
    if node.id in _USAGE_NAMES and not is_made_here:
        return Value(t.USAGE)
    return value


def _attribute(machine: Machine, node: ast.Attribute, frame: Frame) -> Value:
    base = machine.evaluate(node.value, frame)
    if (
        node.attr in _ADDERS
        and base.things
        and all(thing.kind in _BOXES for thing in base.things)
    ):
        return _adder(machine, node, base, frame)
    return read_field(machine, base, node.attr, frame)


def _adder(machine: Machine, node: ast.Attribute, base: Value, frame: Frame) -> Value:
    """`received.append` handed on as a callback: a function that adds to this list."""
    thing = machine.thing("function", node, frame)
    known = thing.definition
    if known is None:
        known = Definition(_adding(node), frame.module)
    thing.definition = replace(known, receiver=base)
    return Value(things=frozenset({thing}))


def _adding(node: ast.Attribute) -> ast.Lambda:
    """The function that a list's bound method is."""
    made = ast.Lambda(
        ast.arguments([], [ast.arg("box"), ast.arg("item")], None, [], [], None, []),
        ast.Call(
            ast.Attribute(ast.Name("box", ast.Load()), node.attr, ast.Load()),
            [ast.Name("item", ast.Load())],
            [],
        ),
    )
    for part in walk(made):
        ast.copy_location(part, node)
    return made


def _subscript(machine: Machine, node: ast.Subscript, frame: Frame) -> Value:
    base = machine.evaluate(node.value, frame)
    entry = read_item(machine, base, node.slice, frame)
    if entry.tags & t.GAP and base.things and not frame.per_chunk:
        return _ranked(machine, node, entry, frame)
    return entry


def _ranked(machine: Machine, node: ast.Subscript, gap: Value, frame: Frame) -> Value:
    """`ordered[int(0.95 * len(ordered))]`: a percentile of gaps, by its place."""
    if isinstance(node.slice, ast.Constant | ast.Slice):
        return gap
    if not machine.evaluate(node.slice, frame).tags & t.COUNT:
        return gap
    kind = RateKind.GAP_STATISTIC
    story = with_step(gap, machine.step(node, frame, kind.value))
    rates = machine.rate(kind, node, frame, story)
    kept = gap.tags & (t.SPAN | t.GAP | t.STRONG)
    return Value(kept, rates=rates | gap.rates, steps=story.steps)


def _binary(machine: Machine, node: ast.BinOp, frame: Frame) -> Value:
    left = machine.evaluate(node.left, frame)
    if isinstance(node.op, ast.Mod):
        if left.texts and not left.tags & t.QUANTITIES:
            return _formatting.percent(machine, node, left, frame)
        machine.evaluate(node.right, frame)
        return UNKNOWN
    right = machine.evaluate(node.right, frame)
    return combine(machine, node, left, right, frame)


def combine(
    machine: Machine, node: ast.BinOp, left: Value, right: Value, frame: Frame
) -> Value:
    """The result of an operator on two values."""
    if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv):
        by_element = _elementwise(machine, node, left, right, frame)
        if by_element is not None:
            return by_element
    match node.op:
        case ast.Add():
            return _arithmetic.add(left, right)
        case ast.Sub():
            return _arithmetic.subtract(left, right, in_chunk_loop=frame.per_chunk)
        case ast.Mult():
            return _arithmetic.multiply(machine, node, left, right, frame)
        case ast.Div() | ast.FloorDiv():
            return _arithmetic.divide(machine, node, left, right, frame)
        case ast.BitOr():
            # A pipeline, `prompt | model`, is known by its last part.
            both = join(left, right)
            return Value(both.tags, both.things, path=right.path or left.path)
        case ast.Pow():
            if left.tags & t.SPAN and isinstance(node.right, ast.UnaryOp):
                return Value(t.INVERSE)
            return UNKNOWN
        case _:
            return UNKNOWN


def _elementwise(
    machine: Machine, node: ast.BinOp, left: Value, right: Value, frame: Frame
) -> Value | None:
    """Arithmetic of arrays and columns; `None` where neither side is one."""
    parts = [_column(value) for value in (left, right)]
    if parts[0] is None and parts[1] is None:
        return None
    elem = combine(machine, node, parts[0] or left, parts[1] or right, frame)
    chunked = [
        thing for value in (left, right) for thing in value.things if thing.per_chunk
    ]
    return machine.sequence(
        node,
        frame,
        elem,
        per_chunk=bool(chunked),
        strong=any(thing.strong for thing in chunked),
    )


def _column(value: Value) -> Value | None:
    """One entry of an array; `None` for what is not an array of quantities."""
    if value.tags & t.QUANTITIES or not value.things:
        return None
    elem = join_all(thing.elem for thing in value.things if thing.kind == "list")
    if not elem.tags & t.QUANTITIES & ~t.STRONG:
        return None
    if elem.tags & (t.CLOCK | t.SPAN) and any(x.per_chunk for x in value.things):
        return retagged(elem, elem.tags | t.LATER)
    return elem


def _unary(machine: Machine, node: ast.UnaryOp, frame: Frame) -> Value:
    value = machine.evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        return Value(t.ONE)
    return retagged(value, value.tags & (t.QUANTITIES | t.NUMBER | t.ONE))


def _boolean(machine: Machine, node: ast.BoolOp, frame: Frame) -> Value:
    values = [machine.evaluate(value, frame) for value in node.values]
    if isinstance(node.op, ast.And):
        return values[-1]
    if values[-1].tags & t.COUNT:
        # `backend.token_count() or len(chunks)` begins with what the backend counted.
        values = [
            retagged(value, t.TOKENS) if _may_count_tokens(part, value) else value
            for part, value in zip(node.values, values, strict=True)
        ]
    either = join_all(value if value.tags != t.NONE else UNKNOWN for value in values)
    # `x or False` is whatever x is.
    return retagged(either, either.tags & ~t.FALSE) if len(values) > 1 else either


def _may_count_tokens(node: ast.expr, value: Value) -> bool:
    """Whether a call of which nothing is known is named after a count of tokens."""
    words = words_of(field_name(node.func)) if isinstance(node, ast.Call) else ()
    return not value.tags & ~t.NONE and not {"token", "tokens"}.isdisjoint(words)


def _compare(machine: Machine, node: ast.Compare, frame: Frame) -> Value:
    machine.evaluate(node.left, frame)
    for value in node.comparators:
        machine.evaluate(value, frame)
    return Value(t.ONE)


def _conditional(machine: Machine, node: ast.IfExp, frame: Frame) -> Value:
    machine.evaluate(node.test, frame)
    then = machine.evaluate(node.body, frame)
    other = machine.evaluate(node.orelse, frame)
    for a, b in ((then, other), (other, then)):
        # `x if y else 0` and `x if y else None` are x where they are anything.
        if a.tags in {t.NONE, t.NUMBER} and not a.things and b.tags & t.QUANTITIES:
            return b
    return join(then, other)


def _display(machine: Machine, node: ast.List | ast.Set, frame: Frame) -> Value:
    items = node.elts[:MAX_ENTRIES]
    values = [machine.evaluate(item, frame) for item in items]
    _formatting.neighbours(machine, items, values)
    entries = [
        turns_of(machine, value, item.value, item, frame).elem
        if isinstance(item, ast.Starred)
        else value
        for item, value in zip(items, values, strict=True)
    ]
    copied = [
        value
        for item, value in zip(items, values, strict=True)
        if isinstance(item, ast.Starred)
    ]
    per_chunk = any(
        value.tags & t.STREAM or any(thing.per_chunk for thing in value.things)
        for value in copied
    )
    strong = any(value.tags & t.STRONG for value in copied)
    return machine.sequence(
        node, frame, join_all(entries), per_chunk=per_chunk, strong=strong
    )


def _tuple(machine: Machine, node: ast.Tuple, frame: Frame) -> Value:
    items = node.elts[:MAX_ENTRIES]
    values = [machine.evaluate(item, frame) for item in items]
    _formatting.neighbours(machine, items, values)
    return machine.tuple_of(node, frame, values)


def _dict(machine: Machine, node: ast.Dict, frame: Frame) -> Value:
    thing = machine.thing("dict", node, frame)
    for key, item in islice(zip(node.keys, node.values, strict=True), MAX_ENTRIES):
        value = machine.evaluate(item, frame)
        if key is None:
            merge(machine, thing, value)
            continue
        name = machine.evaluate(key, frame)
        if len(name.texts) == 1 and not name.tags:
            text = next(iter(name.texts))
            machine.set_field(thing, text, value)
            machine.label(value.rates, text)
            machine.publish(item, text, value, frame)
        else:
            machine.grow(thing, value)
    return Value(things=frozenset({thing}))


def merge(machine: Machine, thing: Thing, value: Value) -> None:
    """Copy the fields of a dict value into a thing, as `**` and `update` do."""
    sources = [other for other in value.things if other.kind in {"dict", "instance"}]
    for other in sources:
        for key, field in other.fields.items():
            machine.set_field(thing, key, field)
        machine.grow(thing, other.elem)
        if other.is_open:
            thing.open()
    if not sources:
        thing.open()


def _lambda(machine: Machine, node: ast.Lambda, frame: Frame) -> Value:
    thing = machine.thing("function", node, frame)
    thing.definition = Definition(
        node, frame.module, frame.owner, scope=machine.inner_scope(frame)
    )
    return Value(things=frozenset({thing}))


def _named(machine: Machine, node: ast.NamedExpr, frame: Frame) -> Value:
    value = machine.evaluate(node.value, frame)
    machine.assign(node.target, value, frame)
    return machine.lookup(node.target.id, frame)


def _await(machine: Machine, node: ast.Await, frame: Frame) -> Value:
    return machine.evaluate(node.value, frame)


def _starred(machine: Machine, node: ast.Starred, frame: Frame) -> Value:
    return machine.evaluate(node.value, frame)


def _yield(machine: Machine, node: ast.Yield, frame: Frame) -> Value:
    frame.yields = True
    if node.value is not None:
        frame.yielded = join(frame.yielded, machine.evaluate(node.value, frame))
    if frame.loop is not None and frame.loop.per_chunk:
        frame.yields_per_chunk = True
        frame.yields_strong = frame.yields_strong or frame.loop.strong
        if frame.yielded is UNKNOWN:
            frame.yielded = Value(t.CHUNK)
    return UNKNOWN


def _yield_from(machine: Machine, node: ast.YieldFrom, frame: Frame) -> Value:
    frame.yields = True
    value = machine.evaluate(node.value, frame)
    turns = turns_of(machine, value, node.value, node, frame)
    frame.yielded = join(frame.yielded, turns.elem)
    if turns.per_chunk:
        frame.yields_per_chunk = True
        frame.yields_strong = frame.yields_strong or turns.strong
    return join_all(thing.fields.get(RETURNED) or UNKNOWN for thing in value.things)


EXPRESSIONS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.List: _display,
    ast.Set: _display,
    ast.Tuple: _tuple,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
    ast.Await: _await,
    ast.Starred: _starred,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.JoinedStr: _formatting.joined_string,
}
