"""Methods of texts, arrays, table columns, times and iterators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_specdecode.lint import _formatting
from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._iteration import looks_like_chunks, turns_of
from otel_specdecode.lint._sequences import differences, peak, statistic, summed
from otel_specdecode.lint._values import (
    UNKNOWN,
    Value,
    join_all,
    retagged,
    with_step,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._frames import Call
    from otel_specdecode.lint._machine import Machine

_MARK = re.compile(r"^\s*data:|\"(?:content|delta|text)\"")
"""What stands once in every event."""
_COUNTS = frozenset(("count", "size"))
_ENCODINGS = frozenset(("utf-8", "utf8", "ascii", "latin-1", "ignore", "replace"))


def _split(_machine: Machine, call: Call, receiver: Value) -> Value | None:
    if receiver.tags & t.CHUNK and not receiver.tags & (t.PIECE | t.TEXT):
        return Value(receiver.tags & (t.CHUNK | t.STRONG))
    separator = call.arg(0, "sep")
    if (
        call.args
        and not separator.tags & t.NONE
        and separator.texts != frozenset({" "})
    ):
        return Value(receiver.tags & (t.CHUNK | t.STRONG))
    return Value(t.WORDS)


def _truth(_machine: Machine, _call: Call, _receiver: Value) -> Value | None:
    return Value(t.ONE)


def _encode(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """Of a text: bytes. Of anything else that is given a text: a tokenizer."""
    is_text = receiver.tags & (t.TEXT | t.PIECE | t.CHUNK) or receiver.texts
    if is_text or (receiver.things and not call.args):
        return receiver
    if not call.args or call.args[0].texts & _ENCODINGS:
        return receiver
    return Value(t.IDS)


def _join_text(machine: Machine, call: Call, _receiver: Value) -> Value | None:
    if not call.args:
        return None
    node = call.node.args[0]
    turns = turns_of(machine, call.args[0], node, call.node, call.frame)
    texts = call.args[0].texts
    return Value(t.TEXT | (t.STRONG if turns.strong else 0), texts=texts)


def _format(machine: Machine, call: Call, receiver: Value) -> Value | None:
    text = " ".join(sorted(receiver.texts))
    if text:
        _formatting.template(machine, text, call.args, call.kwargs, braces=True)
    rates = frozenset(
        number
        for value in [*call.args, *call.kwargs.values()]
        for number in value.rates
    )
    texts = frozenset(
        text for v in [*call.args, *call.kwargs.values()] for text in v.texts
    )
    return Value(rates=rates, texts=receiver.texts | texts)


# Arrays, tables, times


def _statistic(machine: Machine, call: Call, receiver: Value) -> Value | None:
    if not receiver.things:
        return None
    return statistic(machine, call, receiver)


def _sum(machine: Machine, call: Call, receiver: Value) -> Value | None:
    return summed(machine, receiver, call.node, call.frame) if receiver.things else None


def _extreme(machine: Machine, call: Call, receiver: Value) -> Value | None:
    if not receiver.things:
        return None
    elem = join_all(thing.elem for thing in receiver.things)
    if call.name == "max" and elem.tags & t.BUCKET:
        return peak(machine, call, elem)
    if elem.tags & t.GAP:
        return statistic(machine, call, receiver)
    return retagged(elem, elem.tags & ~t.LATER)


def _count(machine: Machine, call: Call, receiver: Value) -> Value | None:
    if call.args:
        return _events(machine, call, receiver)
    return machine.count_of(receiver, call.node, call.frame)


def _events(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`raw.count(b"data: {")`: the events in a piece of the body, or in all of it."""
    marks = call.args[0].texts
    if not receiver.tags & (t.CHUNK | t.TEXT) or not any(map(_MARK.search, marks)):
        return None
    count = Value(t.COUNT | (receiver.tags & t.STRONG), steps=receiver.steps)
    return with_step(count, machine.step(call.node, call.frame, "events, counted"))


def _aggregate(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`column.agg(["count", "max"])` or `.agg(n=("t", "count"))`: a table of them."""
    if not receiver.things:
        return None
    columns = {text: text for value in call.args for text in _texts_of(value)}
    for name, value in call.kwargs.items():
        columns[name] = next(iter(_texts_of(value) & _COUNTS), "")
    table = machine.thing("dict", call.node, call.frame)
    elem = join_all(thing.elem for thing in receiver.things)
    counted = machine.count_of(receiver, call.node, call.frame)
    for name, function in columns.items():
        value = counted if function in _COUNTS and counted is not None else elem
        machine.set_field(table, name, value, shared=False)
    return Value(things=frozenset({table}))


def _texts_of(value: Value) -> frozenset[str]:
    inner = (
        part for thing in value.things for part in (thing.elem, *thing.fields.values())
    )
    return value.texts.union(*(part.texts for part in inner))


def _diff(machine: Machine, call: Call, receiver: Value) -> Value | None:
    return differences(machine, receiver, call) if receiver.things else None


def _seconds(_machine: Machine, _call: Call, receiver: Value) -> Value | None:
    return receiver if receiver.tags & (t.SPAN | t.CLOCK) else None


def _next_item(machine: Machine, call: Call, receiver: Value) -> Value | None:
    own = machine.call_method(receiver, call.name, call.frame)
    if own is not None:
        return own
    turns = turns_of(machine, receiver, call.node, call.node, call.frame)
    if turns.per_chunk:
        machine.pull(call.frame, strong=turns.strong, steps=turns.elem.steps)
        return turns.elem
    return read_one(machine, call, receiver)


def _wait(machine: Machine, call: Call, receiver: Value) -> Value | None:
    """`future.result()`: what was submitted."""
    return receiver if receiver is not UNKNOWN else None


def _copy(_machine: Machine, call: Call, receiver: Value) -> Value | None:
    return receiver if receiver.things else None


def _same(_machine: Machine, _call: Call, receiver: Value) -> Value | None:
    return receiver


def read_one(machine: Machine, call: Call, receiver: Value) -> Value | None:
    if receiver.tags & (t.RESPONSE | t.STREAM):
        strong = receiver.tags & t.STRONG
        is_whole = call.name == "read" and not call.args and call.frame.loop is None
        if not is_whole:  # the body of a refusal, say
            machine.pull(call.frame, strong=bool(strong), steps=receiver.steps)
        return Value(t.CHUNK | strong, steps=receiver.steps)
    loop = call.frame.loop
    if loop is not None and looks_like_chunks(call.frame.module, loop.node):
        machine.pull(call.frame, strong=False)
        return Value(t.CHUNK)
    return None


def _found(_machine: Machine, call: Call, _receiver: Value) -> Value | None:
    """`re.findall(pattern, text)`: the words of a text."""
    is_text = any(value.tags & (t.PIECE | t.TEXT) for value in call.args)
    return Value(t.WORDS) if is_text else None


VALUE_METHODS: dict[str, Callable[[Machine, Call, Value], Value | None]] = {
    "copy": _copy,
    "split": _split,
    "rsplit": _split,
    "findall": _found,
    "startswith": _truth,
    "endswith": _truth,
    "encode": _encode,
    "join": _join_text,
    "format": _format,
    "mean": _statistic,
    "median": _statistic,
    "quantile": _statistic,
    "percentile": _statistic,
    "std": _statistic,
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "item": _same,
    "count": _count,
    "size": _count,
    "groupby": _copy,
    "agg": _aggregate,
    "aggregate": _aggregate,
    "diff": _diff,
    "total_seconds": _seconds,
    "timestamp": _seconds,
    "__next__": _next_item,
    "__anext__": _next_item,
    "__aiter__": _same,
    "__iter__": _same,
    "__enter__": _same,
    "__aenter__": _same,
    "result": _wait,
    "to_dict": _copy,
    "model_dump": _copy,
    "_asdict": _copy,
    "tolist": _copy,
    "to_numpy": _copy,
    "astype": _copy,
    "dropna": _copy,
    "sort_values": _copy,
    "reset_index": _copy,
    "readline": read_one,
    "read": read_one,
    "recv": read_one,
    "receive": read_one,
    "readchunk": read_one,
    "readuntil": read_one,
    "readany": read_one,
    "read1": read_one,
    "getresponse": _same,
    "makefile": _same,
}
"""By name."""
