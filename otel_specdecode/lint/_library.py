"""Functions of the standard library and of common packages."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._attributes import read_field
from otel_specdecode.lint._expressions import combine, merge
from otel_specdecode.lint._iteration import turns_of
from otel_specdecode.lint._values import (
    UNKNOWN,
    Definition,
    Value,
    join,
    join_all,
)
from otel_specdecode.lint.facts import RateKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._frames import Call
    from otel_specdecode.lint._machine import Machine
from otel_specdecode.lint._sequences import SEQUENCES

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
_OPERANDS = 2
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
    tags = _by_name(call.path, call.name)
    if tags & t.CLOCK and not call.args:
        return _CLOCK
    if tags & t.IDS and call.args:
        return Value(t.IDS)
    if tags & t.TOKENS and (call.args or call.kwargs):
        return Value(t.TOKENS)
    return None


@lru_cache(maxsize=4096)
def _by_name(path: str, name: str) -> int:
    """What a function elsewhere may return, by what it is called."""
    tags = t.CLOCK if _CLOCK_PATH.search(path) else 0
    tags |= t.IDS if _TOKENIZE.search(path) else 0
    return tags | (t.TOKENS if _COUNT_TOKENS.search(name) else 0)


_CLOCK = Value(t.CLOCK)


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
    thing = machine.thing("dict", call.node, call.frame)
    for value in call.args:
        merge(machine, thing, value)
    for key, value in call.kwargs.items():
        machine.set_field(thing, key, value)
    if call.has_unknown_kwargs:
        thing.open()
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


def _record_class(machine: Machine, call: Call) -> Value | None:
    """`namedtuple("Result", "tokens seconds")`: a class with these fields."""
    names = _listed_names(call.node.args[1]) if len(call.node.args) > 1 else []
    if not names:
        return None
    thing = machine.thing("class", call.node, call.frame)
    if thing.definition is None:
        made = cast("ast.ClassDef", ast.parse("class Record: pass").body[0])
        made.body += [
            ast.AnnAssign(ast.Name(name), ast.Constant(None), simple=1)
            for name in names
        ]
        thing.definition = Definition(made, call.frame.module)
    return Value(things=frozenset({thing}))


def _listed_names(node: ast.expr) -> list[str]:
    """Names of fields: in one text, in a list, or in pairs with their types."""
    match node:
        case ast.Constant(value=str(text)):
            return text.replace(",", " ").split()
        case ast.List(elts=entries) | ast.Tuple(elts=entries):
            firsts = (e.elts[0] if isinstance(e, ast.Tuple) else e for e in entries)
            return [name for first in firsts for name in _listed_names(first)]
        case _:
            return []


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


def _divided(machine: Machine, call: Call) -> Value | None:
    """`operator.truediv(n, seconds)` and `np.divide(n, seconds)`: a division."""
    if len(call.node.args) < _OPERANDS or len(call.args) != len(call.node.args):
        return None
    made = machine.quotient(call.node)
    return combine(machine, made, call.args[0], call.args[1], call.frame)


def _getattr(machine: Machine, call: Call) -> Value | None:
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


FUNCTIONS: dict[str, Callable[[Machine, Call], Value | None]] = {
    **SEQUENCES,
    "gather": _gather,
    **dict.fromkeys("Thread Process Timer".split(), _run_target),
    **dict.fromkeys(
        "submit to_thread run_in_executor run_sync apply apply_async".split(), _submit
    ),
    "partial": _partial,
    "dict": _dict,
    **dict.fromkeys("defaultdict Counter OrderedDict".split(), _counting_dict),
    **dict.fromkeys("namedtuple NamedTuple make_dataclass".split(), _record_class),
    "field": _dataclass_field,
    "Field": _dataclass_field,
    **dict.fromkeys(
        "Gauge Histogram Summary create_counter create_histogram create_gauge "
        "create_up_down_counter tqdm trange".split(),
        _metric,
    ),
    **dict.fromkeys("truediv floordiv divide true_divide".split(), _divided),
    "getattr": _getattr,
    "loads": _parsed,
    "dumps": _parsed,
}
