"""Calls: evaluated arguments, then whoever knows the callee."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _formatting, _library, _methods, _sources
from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._attributes import read_field
from otel_specdecode.lint._frames import UNKNOWN_KEYWORDS, Call, Frame
from otel_specdecode.lint._naming import dotted
from otel_specdecode.lint._requests import is_true
from otel_specdecode.lint._values import (
    UNKNOWN,
    Definition,
    Thing,
    Value,
    join,
    join_all,
)
from otel_specdecode.lint.words import names_a_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint._machine import Machine

_HANDLERS: tuple[Callable[[Machine, Call], Value | None], ...] = (
    _sources.sdk_stream,
    lambda _machine, call: _sources.client(call),
    _methods.connection_request,
    _sources.http_response,
    lambda _machine, call: _sources.body_stream(call),
    _methods.method,
    _library.function,
)

_CARRIED = t.CHUNK | t.PIECE | t.STREAM | t.RESPONSE | t.STRONG
"""What an unknown function is taken to hand through: it may parse or filter."""


def call(machine: Machine, node: ast.Call, frame: Frame) -> Value:
    """What a call returns."""
    made = _evaluated(machine, node, frame)
    if made.name == "super" and not made.args and frame.owner is not None:
        return _super(machine, frame)
    _label_arguments(machine, made)
    if any(thing.definition is not None for thing in made.callee.things):
        if all(map(_is_abstract, made.callee.things)):
            return Value(path=f"{made.path}()")
        given = made.kwargs
        if made.has_unknown_kwargs:
            given = {**given, UNKNOWN_KEYWORDS: UNKNOWN}
        result = machine.call_value(made.callee, node, frame, made.args, given)
        for thing in made.callee.things:
            definition = thing.definition
            if definition is not None and definition.target is not UNKNOWN:
                result = join(result, _through_partial(machine, made, definition))
        return result
    for handler in _HANDLERS:
        handled = handler(machine, made)
        if handled is not None:
            return handled
    return _unknown(machine, made)


def _is_abstract(thing: Thing) -> bool:
    """Whether a function says nothing: some class that we cannot tell defines it."""
    node = thing.definition.node if thing.definition is not None else None
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and all(
        isinstance(statement, ast.Pass | ast.Raise)
        or (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant | ast.Yield)
        )
        for statement in node.body
    )


def _evaluated(machine: Machine, node: ast.Call, frame: Frame) -> Call:
    receiver: Value | None = None
    if isinstance(node.func, ast.Attribute):
        receiver = machine.evaluate(node.func.value, frame)
        callee = read_field(machine, receiver, node.func.attr, frame)
        name = node.func.attr
    else:
        callee = machine.evaluate(node.func, frame)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
    path = callee.path or dotted(node.func)
    if "." in path and receiver is None:
        name = path.rpartition(".")[2]
    made = Call(node, frame, callee, receiver, name or path, path, [], {}, [])
    for arg in node.args:
        value = machine.evaluate(arg, frame)
        if isinstance(arg, ast.Starred):
            made.unpacked.append(value)
            made.args += _spread(value)
        else:
            made.args.append(value)
    for keyword in node.keywords:
        value = machine.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            made.kwargs[keyword.arg] = value
            machine.label(value.rates, keyword.arg)
            machine.publish(keyword.value, keyword.arg, value, frame)
            continue
        dicts = [thing for thing in value.things if thing.kind == "dict"]
        _unpack_keywords(made, dicts)
        if not dicts or any(thing.is_open for thing in dicts):
            made.has_unknown_kwargs = True
    return made


def _unpack_keywords(made: Call, dicts: list[Thing]) -> None:
    """The keywords that `**value` adds, whichever dict it is.

    None that is written out: what stands beside it was taken out of the dict before.
    """
    written = {keyword.arg for keyword in made.node.keywords}
    added: dict[str, Value] = {}
    for thing in dicts:
        for key, field in thing.fields.items():
            if isinstance(key, str) and key not in written:
                added[key] = join(added[key], field) if key in added else field
    made.kwargs.update(added)


def _spread(value: Value) -> list[Value]:
    """The arguments that `*value` adds, where its length is known."""
    for thing in value.things:
        if thing.kind == "tuple":
            parts = sorted(thing.fields.items(), key=lambda item: str(item[0]))
            return [value for _, value in parts]
    return []


def _super(machine: Machine, frame: Frame) -> Value:
    """`super()`: the bases' members, bound to this object."""
    owner = frame.owner
    if owner is None or owner.definition is None:
        return UNKNOWN
    instance = machine.instance_of(owner, frame)
    proxy = machine.thing("instance", ("super", owner), frame)
    view = machine.thing("class", ("bases", owner), frame)
    view.definition = Definition(
        None, frame.module, bases=owner.definition.bases, members={}
    )
    proxy.definition = Definition(None, frame.module, owner=view)
    proxy.fields = instance.fields
    return Value(things=frozenset({proxy}))


def _through_partial(machine: Machine, made: Call, definition: Definition) -> Value:
    """A partial of a function that these files do not define."""
    target = definition.target
    if any(thing.definition is not None for thing in target.things):
        return UNKNOWN
    merged = Call(
        made.node,
        made.frame,
        target,
        UNKNOWN,
        target.path.rpartition(".")[2],
        target.path,
        [*definition.args, *made.args],
        {**definition.kwargs, **made.kwargs},
        [],
    )
    for handler in _HANDLERS:
        handled = handler(machine, merged)
        if handled is not None:
            return handled
    return UNKNOWN


def _label_arguments(machine: Machine, made: Call) -> None:
    """Let what a call says about its arguments name the rates among them."""
    rated = [value.rates for value in made.args if value.rates]
    rated += [value.rates for value in made.kwargs.values() if value.rates]
    if not rated:
        return  # nearly every call
    rates = frozenset[int]().union(*rated)
    _formatting.neighbours(machine, made.node.args, made.args)
    labels: set[str] = set()
    if names_a_rate(made.name):
        labels.add(made.name)
    if made.receiver is not None:
        for thing in made.receiver.things:
            labels |= thing.labels
        if made.name in _library.METRIC_CALLS:
            owner = dotted(made.node.func).rpartition(".")[0]
            labels.add(owner.rpartition(".")[2])
    for label in labels:
        machine.label(rates, label)
    if made.args and made.args[0].texts and made.name in _library.LOG_CALLS:
        match made.node.args:
            case [ast.BinOp(op=ast.Mod()), *_]:
                pass  # filled in already
            case _:
                text = " ".join(sorted(made.args[0].texts))
                _formatting.template(machine, text, made.args[1:], {})


def _unknown(machine: Machine, made: Call) -> Value:
    """A function we do not know: functions handed to it are run."""
    values = [*made.args, *made.kwargs.values()]
    tags = 0
    for value in values:
        tags |= value.tags
        if any(thing.kind == "function" for thing in value.things):
            machine.run_unknown(machine, value, made.frame)
    if made.name[:1].isupper():
        # A class from elsewhere: its keywords are most likely its fields.
        for key, value in made.kwargs.items():
            machine.share(machine.loose, key, value)
            machine.share(machine.named, key, value)
    if made.receiver is not None and made.receiver.tags & t.CHUNK:
        tags |= made.receiver.tags
    tags &= _CARRIED
    path = f"{made.path}()" if made.path else ""
    if "." in path and is_true(made.kwargs.get("stream")):
        path = f"{made.path}.stream()"
    is_text = made.name in _library.TEXT_CALLS
    if not tags & ~t.STRONG and not is_text:
        return Value(path=path)
    everything = join_all(values)
    streams = frozenset(x for x in everything.things if x.kind == "stream")
    return Value(
        tags if tags & ~t.STRONG else 0,
        streams if tags & t.STREAM else frozenset(),
        rates=everything.rates if is_text else frozenset(),
        path=path,
        steps=everything.steps,
    )
