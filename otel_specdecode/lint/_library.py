"""Functions of the standard library and of common packages."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._iteration import looks_like_chunks, turns_of
from otel_specdecode.lint._values import (
    UNKNOWN,
    Definition,
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

    from otel_specdecode.lint._machine import Call, Frame, Machine

METRIC_CALLS = frozenset("set observe record add inc labels gauge histogram".split())
LOG_CALLS = frozenset(
    "debug info warning warn error critical log exception print".split()
)
TEXT_CALLS = frozenset(
    "str repr format round float int markdown bold escape colored style clamp".split()
)

_CLOCK_PATH = re.compile(
    r"(?:^|\.)(?:perf_counter|monotonic|process_time|time_ns|perf_counter_ns"
    r"|monotonic_ns|default_timer|current_time|current_time_millis|now_ms|now|utcnow"
    r"|time\.time|get_event_loop\(\)\.time|get_running_loop\(\)\.time|loop\.time"
    r"|Timestamp\.now|clock|_clock|timer|_now|_time|time)$"
)
_TOKENIZE = re.compile(
    r"(?:^|\.)_?(?:tokenize|tokenise|encode_ordinary|encode_batch|encode_plus"
    r"|tokenizer|_tokenizer|tok|batch_encode_plus)$"
)
_COUNT_TOKENS = re.compile(
    r"(?:count|num|number|n|get_num|len|calc|estimate)_?(?:of_)?_?\w*tok(?:en)?s?"
    r"|tok(?:en)?s?_?(?:count|counter|len|length)|token_counter|num_tokens",
    re.IGNORECASE,
)


def function(machine: Machine, call: Call) -> Value | None:
    """What a function returns; `None` if we do not know it."""
    handler = FUNCTIONS.get(call.name)
    if handler is not None:
        result = handler(machine, call)
        if result is not None:
            return result
    if not call.args and _CLOCK_PATH.search(call.path):
        return Value(t.CLOCK)
    if _TOKENIZE.search(call.path) and call.args:
        return Value(t.IDS)
    if _COUNT_TOKENS.search(call.name) and (call.args or call.kwargs):
        return Value(t.TOKENS)
    return None


# Sequences


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
    return machine.sequence(
        call.node,
        call.frame,
        turns.elem,
        per_chunk=turns.per_chunk,
        strong=turns.strong,
    )


def _length(machine: Machine, call: Call) -> Value | None:
    value = call.arg(0)
    if value.tags & t.IDS:
        return Value(t.TOKENS)
    if value.tags & (t.WORDS | t.TEXT | t.PIECE):
        return Value(t.CHARS, steps=value.steps)
    if any(
        thing.elem.tags & t.TOKENS and not thing.per_chunk for thing in value.things
    ):
        return Value(t.TOKENS)
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
        rates = machine.rate(RateKind.PEAK, call.node, call.frame, elem)
        return Value(elem.tags & ~t.BUCKET, rates=rates)
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
        tags = t.SPAN | (t.GAP if chunked else 0) | (t.STRONG if strong else 0)
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
    turns = turns_of(machine, call.args[0], node, _loop_around(call), call.frame)
    number = UNKNOWN
    if turns.per_chunk:
        number = Value(
            t.COUNT | (t.STRONG if turns.strong else 0), steps=turns.elem.steps
        )
        number = with_step(
            number, machine.step(call.node, call.frame, "chunks numbered")
        )
    pair = machine.tuple_of(call.node, call.frame, [number, turns.elem])
    return machine.sequence(
        call.node, call.frame, pair,
        per_chunk=turns.per_chunk, strong=turns.strong, note="iter",
    )  # fmt: skip


def _loop_around(call: Call) -> ast.AST:
    """The loop whose iterable this call is, for evidence of its kind."""
    node = call.frame.node or call.frame.module.tree
    for part in ast.walk(node):
        if isinstance(part, ast.For | ast.AsyncFor) and any(
            inner is call.node for inner in ast.walk(part.iter)
        ):
            return part
    return call.node


def _zip(machine: Machine, call: Call) -> Value | None:
    parts: list[Value] = []
    per_chunk = strong = False
    numbered: list[int] = []
    for position, (value, node) in enumerate(
        zip(call.args, call.node.args, strict=False)
    ):
        if value.path in {"itertools.count()", "count()"}:
            numbered.append(position)
            parts.append(UNKNOWN)
            continue
        turns = turns_of(machine, value, node, call.node, call.frame)
        per_chunk, strong = per_chunk or turns.per_chunk, strong or turns.strong
        parts.append(_later(turns.elem) if turns.per_chunk else turns.elem)
    if per_chunk:
        for position in numbered:
            parts[position] = Value(t.COUNT | (t.STRONG if strong else 0))
    pair = machine.tuple_of(call.node, call.frame, parts)
    return machine.sequence(
        call.node, call.frame, pair, per_chunk=per_chunk, strong=strong, note="iter"
    )


def _later(value: Value) -> Value:
    if value.tags & (t.CLOCK | t.SPAN):
        return retagged(value, value.tags | t.LATER)
    return value


def _pairwise(machine: Machine, call: Call) -> Value | None:
    node = call.node.args[0] if call.node.args else call.node
    turns = turns_of(machine, call.arg(0), node, call.node, call.frame)
    elem = _later(turns.elem)
    pair = machine.tuple_of(call.node, call.frame, [elem, elem])
    return machine.sequence(
        call.node, call.frame, pair,
        per_chunk=turns.per_chunk, strong=turns.strong, note="iter",
    )  # fmt: skip


def _map(machine: Machine, call: Call) -> Value | None:
    """`map(f, xs)` and `executor.map(f, xs)`: f of every item."""
    if len(call.args) < 2 or not call.node.args:
        return None
    node = call.node.args[-1]
    turns = turns_of(machine, call.args[1], node, call.node, call.frame)
    function_value = call.args[0]
    if function_value.path == "len" and turns.elem.tags & (t.IDS | t.PIECE):
        elem = Value(t.TOKENS if turns.elem.tags & t.IDS else t.CHARS)
    else:
        elem = machine.call_value(
            function_value, call.node, call.frame, [turns.elem, *call.args[2:]]
        )
    return machine.sequence(
        call.node, call.frame, elem,
        per_chunk=turns.per_chunk, strong=turns.strong, note="iter",
    )  # fmt: skip


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
        return UNKNOWN
    return call.args[0] if call.args else None


def _next(machine: Machine, call: Call) -> Value | None:
    if not call.args:
        return None
    own = machine.call_method(call.args[0], "__next__", call.frame)
    if own is not None:
        return own
    node = call.node.args[0]
    turns = turns_of(machine, call.args[0], node, call.node, call.frame)
    if turns.per_chunk:
        machine.pull(call.frame, strong=turns.strong)
        return turns.elem
    loop = call.frame.loop
    if loop is not None and looks_like_chunks(call.frame.module, loop.node):
        machine.pull(call.frame, strong=False)
        return Value(t.CHUNK)
    return UNKNOWN


# Running things


def _gather(machine: Machine, call: Call) -> Value | None:
    elem = join_all(call.args)
    for value in call.unpacked:
        elem = join(elem, join_all(thing.elem for thing in value.things))
    return machine.sequence(call.node, call.frame, elem, per_chunk=False, strong=False)


def _run_target(machine: Machine, call: Call) -> Value | None:
    """`Thread(target=f, args=(...))`."""
    target = call.kwargs.get("target")
    if target is None:
        return None
    args = [
        part
        for thing in call.kwargs.get("args", UNKNOWN).things
        for _, part in sorted(thing.fields.items(), key=lambda item: str(item[0]))
    ]
    named = call.kwargs.get("kwargs", UNKNOWN)
    kwargs = {
        str(key): value for thing in named.things for key, value in thing.fields.items()
    }
    machine.call_value(target, call.node, call.frame, args, kwargs)
    return UNKNOWN


def _submit(machine: Machine, call: Call) -> Value | None:
    """`executor.submit(f, *args)` and `asyncio.to_thread(f, *args)`."""
    if not call.args:
        return None
    first = 1 if call.name == "run_in_executor" else 0
    return machine.call_value(
        call.args[first] if first < len(call.args) else UNKNOWN,
        call.node, call.frame, call.args[first + 1 :], call.kwargs,
    )  # fmt: skip


def _partial(machine: Machine, call: Call) -> Value | None:
    if not call.args:
        return None
    thing = machine.thing("partial", call.node, call.frame)
    thing.definition = Definition(
        None, call.frame.module, target=call.args[0], args=tuple(call.args[1:]),
        kwargs=dict(call.kwargs),
    )  # fmt: skip
    return Value(things=frozenset({thing}))


# Values


def _dict(machine: Machine, call: Call) -> Value | None:
    from otel_specdecode.lint._expressions import merge

    thing = machine.thing("dict", call.node, call.frame)
    for value in call.args:
        merge(machine, thing, value)
    for key, value in call.kwargs.items():
        machine.set_field(thing, key, value)
    thing.is_open = thing.is_open or call.has_unknown_kwargs
    return Value(things=frozenset({thing}))


def _counting_dict(machine: Machine, call: Call) -> Value | None:
    if call.name == "Counter" and any(value.texts for value in call.args):
        return _metric(machine, call)  # prometheus_client's, not collections'
    thing = machine.thing("dict", call.node, call.frame)
    if call.args:
        factory = machine.call_value(call.args[0], call.node, call.frame)
        if call.args[0].path in {"list", "deque", "collections.deque"}:
            factory = machine.sequence(
                call.node, call.frame, UNKNOWN, per_chunk=False, strong=False
            )
        machine.grow(thing, factory)
    return Value(things=frozenset({thing}))


def _dataclass_field(machine: Machine, call: Call) -> Value | None:
    """`field(default_factory=list)`."""
    factory = call.kwargs.get("default_factory")
    if factory is None:
        return call.kwargs.get("default", UNKNOWN)
    if factory.path in {"dict", "collections.defaultdict", "collections.Counter"}:
        thing = machine.thing("dict", call.node, call.frame)
        return Value(things=frozenset({thing}))
    made = machine.call_value(factory, call.node, call.frame)
    if made is not UNKNOWN:
        return made
    if _CLOCK_PATH.search(factory.path):
        return Value(t.CLOCK)
    return machine.sequence(
        call.node, call.frame, UNKNOWN, per_chunk=False, strong=False
    )


def _metric(machine: Machine, call: Call) -> Value | None:
    """A metric or a progress bar: its name says what it counts."""
    texts = [text for value in call.args for text in value.texts]
    texts += [text for value in call.kwargs.values() for text in value.texts]
    if call.name in {"tqdm", "trange"}:
        return _progress_bar(machine, call)
    if not texts:
        return None
    thing = machine.thing("metric", call.node, call.frame)
    thing.labels = frozenset(texts)
    return Value(things=frozenset({thing}))


def _progress_bar(machine: Machine, call: Call) -> Value | None:
    unit = call.kwargs.get("unit", UNKNOWN)
    if not call.args:
        thing = machine.thing("metric", call.node, call.frame)
        thing.labels = unit.texts
        return Value(things=frozenset({thing}))
    node = call.node.args[0]
    turns = turns_of(machine, call.args[0], node, call.node, call.frame)
    if turns.per_chunk and unit.texts:
        source = Value(
            t.COUNT | (t.STRONG if turns.strong else 0), steps=turns.elem.steps
        )
        rates = machine.rate(RateKind.PROGRESS, call.node, call.frame, source)
        for text in unit.texts:
            machine.label(rates, text)
    return call.args[0]


def _getattr(machine: Machine, call: Call) -> Value | None:
    from otel_specdecode.lint._attributes import read_field

    if len(call.args) < 2 or not call.args[1].texts:
        return None
    key = next(iter(call.args[1].texts))
    value = read_field(machine, call.args[0], key, call.frame)
    default = call.arg(2)
    if default.tags & (t.NUMBER | t.NONE) and not default.things:
        return value
    return join(value, default)


def _parsed(_machine: Machine, call: Call) -> Value | None:
    """`json.loads(x)` and `json.dumps(x)`: the same data in another form."""
    return call.args[0] if call.args else None


_SAME = (
    "iter_ aiter cast copy deepcopy asdict astuple vars run create_task ensure_future "
    "wait_for shield run_until_complete closing aclosing islice takewhile dropwhile tee "
    "reversed sorted array asarray fromiter Series DataFrame from_records "
    "as_completed wait timeout enter_context enter_async_context start_soon "
    "run_coroutine_threadsafe call_soon_threadsafe abs track progress st_write wraps "
    "StreamWrapper iterate_in_threadpool BufferedReader TextIOWrapper unique "
    "nan_to_num DataFrameGroupBy"
)

FUNCTIONS: dict[str, Callable[[Machine, Call], Value | None]] = {
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
    "ptp": _range_of_values,
    "enumerate": _enumerate,
    "zip": _zip,
    "azip": _zip,
    "pairwise": _pairwise,
    "map": _map,
    "starmap": _map,
    "imap": _map,
    "filter": _second,
    "chain": _chain,
    "iter": _iterator,
    "aiter": _iterator,
    "next": _next,
    "anext": _next,
    "gather": _gather,
    **dict.fromkeys("Thread Process Timer".split(), _run_target),
    **dict.fromkeys(
        "submit to_thread run_in_executor run_sync apply apply_async".split(), _submit
    ),
    "partial": _partial,
    "dict": _dict,
    **dict.fromkeys("defaultdict Counter OrderedDict".split(), _counting_dict),
    "field": _dataclass_field,
    "Field": _dataclass_field,
    **dict.fromkeys(
        "Gauge Histogram Summary create_counter create_histogram create_gauge "
        "create_up_down_counter tqdm trange".split(),
        _metric,
    ),
    "getattr": _getattr,
    "loads": _parsed,
    "dumps": _parsed,
}
