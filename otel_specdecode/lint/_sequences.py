"""Functions of sequences: lengths, sums, means, gaps, and pairs of neighbours."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._iteration import (
    Turns,
    is_per_token,
    looks_like_chunks,
    turns_of,
)
from otel_specdecode.lint._tables import frame_of_rows, transposed
from otel_specdecode.lint._values import (
    UNKNOWN,
    Value,
    join,
    join_all,
    retagged,
    tagged,
    with_step,
)
from otel_specdecode.lint.facts import RateKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._frames import Call, Frame
    from otel_specdecode.lint._machine import Machine

_READERS = frozenset("readline read read1 recv readchunk readany".split())
_GETTERS = frozenset("get get_nowait popleft pop recv".split())


def _first(_machine: Machine, call: Call) -> Value | None:
    return call.args[0] if call.args else None


def _number(_machine: Machine, call: Call) -> Value | None:
    if not call.args:
        return None
    value = call.args[0]
    return retagged(value, value.tags & (t.QUANTITIES | t.NUMBER | t.ONE | t.LATER))


def _truth(_machine: Machine, _call: Call) -> Value | None:
    return Value(t.ONE)


def _text(_machine: Machine, call: Call) -> Value | None:
    value = call.arg(0)
    kept = value.tags & (t.CHUNK | t.PIECE | t.TEXT | t.STRONG)
    return Value(kept, rates=value.rates, texts=value.texts, path=value.path)


def _sequence(machine: Machine, call: Call) -> Value | None:
    """`list(stream)` and the like: one entry per item."""
    if not call.args:
        return machine.sequence(
            call.node, call.frame, UNKNOWN, per_chunk=False, strong=False
        )
    value = call.args[0]
    if any(thing.kind in {"list", "dict"} for thing in value.things):
        return value
    node = call.node.args[0]
    turns = turns_of(machine, value, node, call.node, call.frame)
    return machine.entries(call.node, call.frame, turns.elem, turns, "list")


def _length(machine: Machine, call: Call) -> Value | None:
    value = call.arg(0)
    if value.tags & t.IDS and not any(thing.per_chunk for thing in value.things):
        return Value(t.TOKENS)
    if value.tags & (t.WORDS | t.TEXT | t.PIECE):
        return Value(t.CHARS, steps=value.steps)
    counted = machine.count_of(value, call.node, call.frame)
    return counted if counted is not None else UNKNOWN


def summed(machine: Machine, value: Value, node: ast.AST, frame: Frame) -> Value:
    """The sum of a sequence."""
    out = UNKNOWN
    for thing in value.things:
        elem = thing.elem
        if thing.kind in {"tuple", "dict"}:
            elem = join(elem, join_all(thing.fields.values()))
        if thing.per_chunk and elem.tags & t.ONE:
            counted = machine.count_of(value, node, frame) or UNKNOWN
            out = join(out, counted)
        elif elem.tags & t.GAP:
            out = join(out, tagged(t.SPAN | t.SUMMED, elem))
        elif elem.tags & (t.COUNT | t.TOKENS | t.CHARS | t.SPAN):
            out = join(out, retagged(elem, elem.tags & t.QUANTITIES & ~t.BUCKET))
        elif elem.rates:
            out = join(out, Value(rates=elem.rates))
        elif elem.tags & t.IDS:
            out = join(out, Value(t.IDS))
    return out


def _sum(machine: Machine, call: Call) -> Value | None:
    return summed(machine, call.arg(0), call.node, call.frame)


def _extreme(machine: Machine, call: Call) -> Value | None:
    if len(call.args) > 1:
        parts = [
            value for value in call.args if value.tags not in {t.NUMBER, t.ONE, t.NONE}
        ]
        return join_all(parts)
    value = call.arg(0)
    elem = join_all(
        join(thing.elem, join_all(thing.fields.values())) for thing in value.things
    )
    if call.name == "max" and elem.tags & t.BUCKET:
        return peak(machine, call, elem)
    if elem.tags & t.GAP:
        return statistic(machine, call, value)
    return retagged(elem, elem.tags & ~t.LATER)


def statistic(machine: Machine, call: Call, value: Value) -> Value:
    """A mean, median or percentile."""
    elem = join_all(thing.elem for thing in value.things)
    if elem.tags & t.GAP:
        story = with_step(
            elem, machine.step(call.node, call.frame, RateKind.GAP_STATISTIC.value)
        )
        rates = machine.rate(RateKind.GAP_STATISTIC, call.node, call.frame, story)
        kept = elem.tags & (t.SPAN | t.GAP | t.STRONG)
        return Value(kept, rates=rates | elem.rates, steps=story.steps)
    return retagged(elem, elem.tags & (t.QUANTITIES & ~t.CLOCK))


def _statistic(machine: Machine, call: Call) -> Value | None:
    return statistic(machine, call, call.arg(0)) if call.args else None


def differences(machine: Machine, value: Value, call: Call) -> Value:
    """Gaps between neighbours: `np.diff(arrivals)`."""
    elem = join_all(thing.elem for thing in value.things)
    chunked = any(thing.per_chunk for thing in value.things)
    strong = any(thing.strong for thing in value.things)
    tags = 0
    if elem.tags & (t.CLOCK | t.SPAN):
        is_gap = chunked and not is_per_token(value)
        tags = t.SPAN | (t.GAP if is_gap else 0) | (t.STRONG if strong else 0)
    return machine.sequence(
        call.node,
        call.frame,
        Value(tags, steps=elem.steps),
        per_chunk=chunked,
        strong=strong,
    )


def _differences(machine: Machine, call: Call) -> Value | None:
    return differences(machine, call.arg(0), call)


def _range_of_values(_machine: Machine, call: Call) -> Value | None:
    elem = join_all(thing.elem for thing in call.arg(0).things)
    return Value(t.SPAN) if elem.tags & (t.CLOCK | t.SPAN) else None


def _enumerate(machine: Machine, call: Call) -> Value | None:
    if not call.args:
        return None
    node = call.node.args[0]
    # The loop around is where the items are read: evidence of their kind.
    loop = call.frame.module.loops_over.get(call.node, call.node)
    turns = turns_of(machine, call.args[0], node, loop, call.frame)
    number = UNKNOWN
    if turns.per_chunk:
        strong = t.STRONG if turns.strong else 0
        counted = t.COUNT | (t.TOKENS if turns.per_token else 0)
        number = with_step(
            Value(counted | strong, steps=turns.elem.steps),
            machine.step(call.node, call.frame, "chunks numbered"),
        )
    pair = machine.tuple_of(call.node, call.frame, [number, turns.elem])
    return machine.entries(call.node, call.frame, pair, turns)


_COUNTERS = frozenset(("itertools.count()", "count()"))


def _zip(machine: Machine, call: Call) -> Value | None:
    if call.unpacked and len(call.node.args) == 1:
        return transposed(machine, call)
    parts: list[Value] = []
    per_chunk = strong = per_token = False
    numbered: list[int] = []
    for position, (value, node) in enumerate(
        zip(call.args, call.node.args, strict=False)
    ):
        if value.path in _COUNTERS:
            numbered.append(position)
            parts.append(UNKNOWN)
            continue
        turns = turns_of(machine, value, node, call.node, call.frame)
        per_chunk, strong = per_chunk or turns.per_chunk, strong or turns.strong
        per_token = per_token or turns.per_token
        parts.append(_neighbour(turns))
    if per_chunk:
        for position in numbered:
            parts[position] = Value(t.COUNT | (t.STRONG if strong else 0))
    pair = machine.tuple_of(call.node, call.frame, parts)
    turns = Turns(pair, per_chunk=per_chunk, strong=strong, per_token=per_token)
    return machine.entries(call.node, call.frame, pair, turns)


def _neighbour(turns: Turns) -> Value:
    """An item taken beside the next one: two clock readings are a gap apart."""
    value = turns.elem
    if turns.per_chunk and not turns.per_token and value.tags & (t.CLOCK | t.SPAN):
        return retagged(value, value.tags | t.LATER)
    return value


def _pairwise(machine: Machine, call: Call) -> Value | None:
    node = call.node.args[0] if call.node.args else call.node
    turns = turns_of(machine, call.arg(0), node, call.node, call.frame)
    elem = _neighbour(turns)
    pair = machine.tuple_of(call.node, call.frame, [elem, elem])
    return machine.entries(call.node, call.frame, pair, turns)


def _range(_machine: Machine, call: Call) -> Value | None:
    """`range(usage.completion_tokens)`: one entry per token."""
    tags = join_all(call.args).tags
    is_tokens = tags & t.TOKENS and not tags & t.COUNT
    return Value(t.IDS if is_tokens else 0, path="range()")


def _map(machine: Machine, call: Call) -> Value | None:
    """`map(f, xs)` and `executor.map(f, xs)`: f of every item."""
    if len(call.args) < 2 or not call.node.args:
        return None
    node = call.node.args[-1]
    turns = turns_of(machine, call.args[1], node, call.node, call.frame)
    function_value = call.args[0]
    counted = None
    if function_value.path == "len":
        counted = machine.count_of(turns.elem, call.node, call.frame)
    if counted is not None:
        elem = counted
    elif function_value.path == "len" and turns.elem.tags & t.PIECE:
        elem = Value(t.CHARS)
    else:
        elem = machine.call_value(
            function_value, call.node, call.frame, [turns.elem, *call.args[2:]]
        )
    return machine.entries(call.node, call.frame, elem, turns)


def _reduce(machine: Machine, call: Call) -> Value | None:
    """`reduce(lambda n, _: n + 1, stream, 0)`: a count by another name."""
    if len(call.args) < 2:
        return None
    node = call.node.args[1]
    turns = turns_of(machine, call.args[1], node, call.node, call.frame)
    match call.node.args[0]:
        case ast.Lambda(body=ast.BinOp(op=ast.Add(), right=ast.expr() as added)):
            step = machine.evaluate(added, call.frame)
        case _:
            step = UNKNOWN
    if not turns.per_chunk or not step.tags & t.ONE:
        return UNKNOWN
    strong = t.STRONG if turns.strong else 0
    note = machine.step(call.node, call.frame, "one added per chunk")
    return with_step(Value(t.COUNT | strong, steps=turns.elem.steps), note)


def _histogram(machine: Machine, call: Call) -> Value | None:
    """`np.histogram(arrivals, ...)`: how many chunks came in each slot of time."""
    value = call.arg(0)
    elem = join_all(thing.elem for thing in value.things)
    chunked = [thing for thing in value.things if thing.per_chunk]
    if not chunked or not elem.tags & (t.CLOCK | t.SPAN):
        return None
    strong = t.STRONG if any(thing.strong for thing in chunked) else 0
    count = Value(t.COUNT | t.BUCKET | strong, steps=elem.steps)
    counts = machine.sequence(
        call.node, call.frame, count, per_chunk=False, strong=False
    )
    if call.name == "bincount":
        return counts
    return machine.tuple_of(call.node, call.frame, [counts, UNKNOWN])


def peak(machine: Machine, call: Call, elem: Value) -> Value:
    """The largest of several counts per slot of time."""
    rates = machine.rate(RateKind.PEAK, call.node, call.frame, elem)
    return Value(elem.tags & ~t.BUCKET, rates=rates, steps=elem.steps)


def _second(_machine: Machine, call: Call) -> Value | None:
    return call.args[1] if len(call.args) > 1 else None


def _chain(machine: Machine, call: Call) -> Value | None:
    elem = UNKNOWN
    per_chunk = strong = False
    for value, node in zip(call.args, call.node.args, strict=False):
        turns = turns_of(machine, value, node, call.node, call.frame)
        elem = join(elem, turns.elem)
        per_chunk, strong = per_chunk or turns.per_chunk, strong or turns.strong
    return machine.sequence(
        call.node, call.frame, elem, per_chunk=per_chunk, strong=strong, note="iter"
    )


def _iterator(machine: Machine, call: Call) -> Value | None:
    """`iter(stream)`, or `iter(function, sentinel)`."""
    if len(call.args) == 2:
        item = machine.call_value(call.args[0], call.node, call.frame)
        if item.tags & t.CHUNK:
            return Value(t.STREAM | (item.tags & t.STRONG))
        return _read_to_the_end(machine, call)
    return call.args[0] if call.args else None


def _read_to_the_end(machine: Machine, call: Call) -> Value:
    """`iter(queue.get, None)` and `iter(response.readline, b"")`."""
    reader = call.node.args[0]
    if not isinstance(reader, ast.Attribute):
        return UNKNOWN
    owner = machine.evaluate(reader.value, call.frame)
    if reader.attr in _READERS and owner.tags & (t.RESPONSE | t.STREAM):
        return Value(t.STREAM | (owner.tags & t.STRONG), steps=owner.steps)
    chunked = [thing for thing in owner.things if thing.per_chunk]
    if reader.attr not in _GETTERS or not chunked:
        return UNKNOWN
    strong = t.STRONG if any(thing.strong for thing in chunked) else 0
    return Value(t.STREAM | strong, steps=join_all(x.elem for x in chunked).steps)


def _next(machine: Machine, call: Call) -> Value | None:
    if not call.args:
        return None
    own = machine.call_method(call.args[0], "__next__", call.frame)
    if own is not None:
        return own
    loop = call.frame.loop
    if loop is not None and loop.per_chunk and call.args[0].path in _COUNTERS:
        strong = t.STRONG if call.frame.is_strong else 0
        return Value(t.COUNT | strong, steps=loop.steps)
    node = call.node.args[0]
    turns = turns_of(machine, call.args[0], node, call.node, call.frame)
    if turns.per_chunk:
        machine.pull(call.frame, strong=turns.strong, steps=turns.elem.steps)
        return turns.elem
    if loop is not None and looks_like_chunks(call.frame.module, loop.node):
        machine.pull(call.frame, strong=False)
        return Value(t.CHUNK)
    return UNKNOWN


_SAME = (
    "iter_ aiter cast copy deepcopy asdict astuple vars run create_task ensure_future "
    "wait_for shield run_until_complete closing aclosing islice "
    "accumulate tee reversed sorted array asarray fromiter Series "
    "as_completed wait timeout enter_context enter_async_context start_soon "
    "run_coroutine_threadsafe call_soon_threadsafe abs track progress st_write wraps "
    "StreamWrapper iterate_in_threadpool BufferedReader TextIOWrapper unique "
    "nan_to_num DataFrameGroupBy"
)

SEQUENCES: dict[str, Callable[[Machine, Call], Value | None]] = {
    **dict.fromkeys(_SAME.split(), _first),
    **dict.fromkeys(
        "int float round Decimal Fraction float64 float32 floor ceil timedelta".split(),
        _number,
    ),
    **dict.fromkeys("bool isinstance any all callable hasattr".split(), _truth),
    **dict.fromkeys("str repr format".split(), _text),
    **dict.fromkeys("list tuple set frozenset deque".split(), _sequence),
    **dict.fromkeys(
        "Queue SimpleQueue LifoQueue JoinableQueue".split(),
        lambda machine, call: machine.sequence(
            call.node, call.frame, UNKNOWN, per_chunk=False, strong=False
        ),
    ),
    **dict.fromkeys("len size".split(), _length),
    **dict.fromkeys("sum fsum nansum".split(), _sum),
    **dict.fromkeys(
        "max min nanmax nanmin amax amin maximum minimum".split(), _extreme
    ),
    **dict.fromkeys(
        "mean fmean median percentile quantile quantiles average nanmean nanmedian "
        "nanpercentile median_low median_high stdev pstdev std harmonic_mean "
        "geometric_mean".split(),
        _statistic,
    ),
    **dict.fromkeys("diff ediff1d".split(), _differences),
    "DataFrame": frame_of_rows,
    "from_records": frame_of_rows,
    "range": _range,
    "ptp": _range_of_values,
    "enumerate": _enumerate,
    "zip": _zip,
    "azip": _zip,
    "pairwise": _pairwise,
    "map": _map,
    "starmap": _map,
    "imap": _map,
    "reduce": _reduce,
    "histogram": _histogram,
    "bincount": _histogram,
    "filter": _second,
    "filterfalse": _second,
    "takewhile": _second,
    "dropwhile": _second,
    "chain": _chain,
    "iter": _iterator,
    "aiter": _iterator,
    "next": _next,
    "anext": _next,
}
"""By the last part of the function's name."""
