"""Methods of lists, dicts, queues, texts, arrays and tables."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _sources
from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._attributes import read_field, write_field
from otel_specdecode.lint._expressions import merge
from otel_specdecode.lint._fields import field_name
from otel_specdecode.lint._naming import dotted, names_in
from otel_specdecode.lint._value_methods import VALUE_METHODS, read_one
from otel_specdecode.lint._values import (
    UNKNOWN,
    Thing,
    Value,
    join,
    join_all,
    retagged,
    with_step,
)
from otel_specdecode.lint.facts import RateKind
from otel_specdecode.lint.words import names_a_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._frames import Call, Frame
    from otel_specdecode.lint._machine import Machine


def method(machine: Machine, call: Call) -> Value | None:
    """What a method returns; `None` if we know no such method."""
    if call.receiver is None:
        return None
    handler = METHODS.get(call.name)
    return handler(machine, call, call.receiver) if handler else None


# Containers


def _container(machine: Machine, call: Call, receiver: Value) -> list[Thing]:
    """The containers that a method changes, made up where none is known."""
    known = [
        x for x in receiver.things if x.kind in {"list", "dict", "iter", "instance"}
    ]
    if known or receiver.things or not isinstance(call.node.func, ast.Attribute):
        return known
    place = call.node.func.value
    frame = call.frame
    if isinstance(place, ast.Name):
        key: tuple[object, ...] = (frame.node or frame.module, place.id)
    elif isinstance(place, ast.Attribute):
        key = ("field", place.attr)
    elif isinstance(place, ast.Subscript):
        key = ("item", ast.dump(place.slice)[:80])
    else:
        return []
    made = machine.thing("list", key, frame)
    value = Value(made and receiver.tags, frozenset({made}), path=receiver.path)
    if isinstance(place, ast.Name):
        frame.env.setdefault(place.id, value)
        frame.env[place.id] = join(frame.env[place.id], value)
    elif isinstance(place, ast.Attribute):
        base = machine.evaluate(place.value, frame)
        write_field(machine, base, place.attr, value)
    else:
        for owner in machine.evaluate(place.value, frame).things:
            machine.grow(owner, value)
    return [made]


def _is_kept(thing: Thing, frame: Frame) -> bool:
    """Whether a container is older than this turn of the chunk loop."""
    node: ast.AST | None = frame.loop.node if frame.loop else frame.node
    loop = frame.loop
    while loop is not None and loop.outer is not None and loop.outer.per_chunk:
        loop = loop.outer
        node = loop.node
    if node is None or thing.module is not frame.module or not thing.line:
        return True
    if not isinstance(thing.node, ast.AST) or isinstance(thing.node, ast.ClassDef):
        return True
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    is_inside = first < thing.line <= last
    return not is_inside or thing.line == first


def _append(machine: Machine, call: Call, receiver: Value) -> Value | None:
    value = call.args[-1] if call.args else join_all(call.kwargs.values())
    frame = call.frame
    if value.rates and isinstance(call.node.func, ast.Attribute):
        name = field_name(call.node.func.value)
        if names_a_rate(name):
            machine.label(value.rates, name)
    if frame.per_chunk and value.tags & (t.CLOCK | t.SPAN):
        value = retagged(value, value.tags | t.LATER)
    for thing in _container(machine, call, receiver):
        machine.grow(thing, value)
        if frame.per_chunk and _is_kept(thing, frame):
            if frame.loop is not None:
                thing.begin(frame.loop.steps)
            machine.mark_per_chunk(thing, strong=frame.is_strong)
        elif frame.loop is not None and frame.loop.per_token:
            machine.mark_per_token(thing)
    return UNKNOWN


def _extend(machine: Machine, call: Call, receiver: Value) -> Value | None:
    value = call.arg(0)
    node = call.node.args[0] if call.node.args else None
    one = isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1
    for thing in _container(machine, call, receiver):
        if value.tags & t.IDS:
            machine.mark_per_token(thing)
        for other in value.things:
            machine.grow(thing, join(other.elem, UNKNOWN))
            if other.kind == "tuple":
                machine.grow(thing, join_all(other.fields.values()))
            if other.per_chunk:
                machine.mark_per_chunk(thing, strong=other.strong)
            if other.per_token:
                machine.mark_per_token(thing)
        if one and call.frame.per_chunk and _is_kept(thing, call.frame):
            machine.mark_per_chunk(thing, strong=call.frame.is_strong)
        if value.tags & t.STREAM:
            machine.mark_per_chunk(thing, strong=bool(value.tags & t.STRONG))
    return UNKNOWN


def _take(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`pop`, `popleft`, `get_nowait`: an entry, or a key of a dict."""
    if call.args and call.args[0].texts:
        return _get(machine, call, receiver)
    return _receive(machine, call, receiver)


def _receive(machine: Machine, call: Call, receiver: Value) -> Value | None:
    chunked = [thing for thing in receiver.things if thing.per_chunk]
    if chunked:
        elem = join_all(thing.elem for thing in chunked)
        if call.name not in {"pop", "popleft"}:
            strong = any(thing.strong for thing in chunked)
            machine.pull(call.frame, strong=strong, steps=elem.steps)
        return elem if elem is not UNKNOWN else Value(t.CHUNK)
    if receiver.things:
        return join_all(thing.elem for thing in receiver.things)
    return read_one(machine, call, receiver)


def _get(machine: Machine, call: Call, receiver: Value) -> Value | None:
    key = call.arg(0)
    if key.texts and not key.tags:
        text = next(iter(key.texts))
        value = read_field(machine, receiver, text, call.frame, is_key=True)
        default = call.arg(1, "default")
        if default.tags & (t.NUMBER | t.NONE) and not default.things:
            return value
        return join(value, default)
    if not call.args or call.kwargs:
        return _receive(machine, call, receiver)
    return (
        join_all(thing.elem for thing in receiver.things) if receiver.things else None
    )


def _setdefault(machine: Machine, call: Call, receiver: Value) -> Value | None:
    key, value = call.arg(0), call.arg(1, "default")
    if key.texts and not key.tags:
        for text in key.texts:
            write_field(machine, receiver, text, value)
            return read_field(machine, receiver, text, call.frame, is_key=True)
    for thing in receiver.things:
        machine.grow(thing, value)
    return value


def _update(machine: Machine, call: Call, receiver: Value) -> Value | None:
    dicts = [thing for thing in receiver.things if thing.kind == "dict"]
    for thing in dicts:
        for value in call.args:
            merge(machine, thing, value)
        for key, value in call.kwargs.items():
            machine.set_field(thing, key, value)
    return UNKNOWN if dicts else _advance(machine, call, receiver)


def _advance(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`bar.update(1)` once per chunk, on a bar whose unit is tokens."""
    labels = [label for thing in receiver.things for label in thing.labels]
    one = not call.args or call.args[0].tags & t.ONE
    if labels and call.frame.per_chunk and one and not call.arg(0).tags & t.COUNT:
        _note_progress(machine, call, labels)
    return None


def _note_progress(machine: Machine, call: Call, labels: list[str]) -> None:
    strong = t.STRONG if call.frame.is_strong else 0
    steps = call.frame.loop.steps if call.frame.loop else ()
    rates = machine.rate(
        RateKind.PROGRESS, call.node, call.frame, Value(t.COUNT | strong, steps=steps)
    )
    for label in labels:
        machine.label(rates, label)


def _increment(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`counter.inc()` or `counter.add(1)`: a metric gains one per chunk."""
    amount = call.arg(0, "amount")
    labels = {label for thing in receiver.things for label in thing.labels}
    if isinstance(call.node.func, ast.Attribute):
        labels.add(dotted(call.node.func.value))
    one = not call.args or amount.tags & t.ONE
    strong = t.STRONG if call.frame.is_strong else 0
    if call.frame.per_chunk and one and not amount.tags & t.COUNT:
        amount = Value(t.COUNT | strong)
    if amount.tags & t.COUNT:
        for label in sorted(labels):
            machine.publish(call.node, label, amount, call.frame)
    if call.name == "add" and receiver.things:
        _append(machine, call, receiver)
    return UNKNOWN


def _observe(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`histogram.observe(gap)`: the spread of the gaps, under the metric's name."""
    gap = call.arg(0, "amount")
    if not gap.tags & t.GAP or not isinstance(call.node.func, ast.Attribute):
        return None
    labels = {label for thing in receiver.things for label in thing.labels}
    labels |= names_in(call.node.func.value)
    kind = RateKind.GAP_STATISTIC
    story = with_step(gap, machine.step(call.node, call.frame, kind.value))
    rates = machine.rate(kind, call.node, call.frame, story)
    for label in sorted(labels):
        machine.label(rates, label)
    return None


def _with_labels(_machine: Machine, _call: Call, receiver: Value) -> Value | None:
    """`histogram.labels(model=...)`: the same metric."""
    return receiver if any(thing.labels for thing in receiver.things) else None


def _values(machine: Machine, call: Call, receiver: Value) -> Value | None:
    if call.args:
        return None
    elem = UNKNOWN
    per_chunk = strong = False
    for thing in receiver.things:
        elem = join(elem, join(thing.elem, join_all(thing.fields.values())))
        per_chunk, strong = per_chunk or thing.per_chunk, strong or thing.strong
    if call.name == "items":
        elem = machine.tuple_of(call.node, call.frame, [UNKNOWN, elem])
    if not receiver.things:
        return None
    return machine.sequence(
        call.node, call.frame, elem, per_chunk=per_chunk, strong=strong
    )


def connection_request(machine: Machine, call: Call) -> Value | None:
    """`conn.request("POST", ...)`, `sock.sendall(b"POST ...")`: the answer is later."""
    receiver = call.receiver
    if receiver is None or not isinstance(call.node.func, ast.Attribute):
        return None
    if call.name == _sources.SOCKET_CALL:
        response = _sources.written_request(machine, call)
    elif call.name == "request":
        response = _sources.http_response(machine, call)
    else:
        return None
    if response is not None:
        marked = Value(
            receiver.tags | response.tags,
            receiver.things,
            path=receiver.path,
            steps=response.steps,
        )
        machine.assign(call.node.func.value, marked, call.frame)
    return response


def _set_named(machine: Machine, call: Call, _receiver: Value) -> Value | None:
    """`span.set_attribute("...output_tokens", n)`: a number under a name."""
    if len(call.args) > 1:
        for text in sorted(call.args[0].texts):
            machine.publish(call.node, text, call.args[1], call.frame)
            machine.label(call.args[1].rates, text)
    return None


def _assign_columns(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`df.assign(tok_s=lambda d: d.tokens / d.latency)`."""
    if not receiver.things or not call.kwargs:
        return None
    for key, value in call.kwargs.items():
        made = machine.call_value(value, call.node, call.frame, [receiver])
        column = made if made is not UNKNOWN else value
        machine.label(column.rates, key)
        write_field(machine, receiver, key, column)
    return receiver


def _column_named(machine: Machine, call: Call, _receiver: Value) -> Value | None:
    """`pl.col("tokens")`: the column of whatever table has one."""
    names = [text for value in call.args for text in value.texts]
    return join_all(machine.named.get(name) or UNKNOWN for name in names)


def _alias(machine: Machine, call: Call, receiver: Value) -> Value | None:
    for value in call.args:
        for text in value.texts:
            machine.label(receiver.rates, text)
    return receiver


METHODS: dict[str, Callable[[Machine, Call, Value], Value | None]] = {
    **VALUE_METHODS,
    **dict.fromkeys(
        "set_attribute set_tag set_data log_metric add_scalar increment incr "
        "gauge".split(),
        _set_named,
    ),
    **dict.fromkeys("observe record".split(), _observe),
    "labels": _with_labels,
    "assign": _assign_columns,
    "col": _column_named,
    "alias": _alias,
    "append": _append,
    "appendleft": _append,
    "put": _append,
    "put_nowait": _append,
    "push": _append,
    "insert": _append,
    "send": _append,
    "send_nowait": _append,
    "extend": _extend,
    "add": _increment,
    "inc": _increment,
    "pop": _take,
    "popleft": _take,
    "get": _get,
    "get_nowait": _take,
    "setdefault": _setdefault,
    "update": _update,
    "values": _values,
    "items": _values,
}
