"""What a streamed request says about usage, in SDK calls and in raw payloads."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._attributes import class_member
from otel_specdecode.lint._fields import field_name
from otel_specdecode.lint._naming import same_place
from otel_specdecode.lint._tree import walk
from otel_specdecode.lint._values import UNKNOWN, Value, join
from otel_specdecode.lint.facts import Request, Usage

if TYPE_CHECKING:
    from otel_specdecode.lint._frames import Call
    from otel_specdecode.lint._machine import Machine
    from otel_specdecode.lint._modules import Module

_COUNTS = re.compile(r"usage|^timings_per_token$|^return_token_ids$")
_INPUTS = ("messages", "prompt")
_ASKS_FOR_USAGE = re.compile(r"include_usage|stream_options")


def is_true(value: Value | None) -> bool:
    """Whether a value is `True` and nothing else."""
    return value is not None and bool(value.tags & t.TRUE) and not value.tags & t.FALSE


def field_of(value: Value, key: str) -> Value | None:
    """A key of whatever dict a value may be; `None` if none of them has it.

    Or a field of an object that becomes one (`body.model_dump()`), by its default too.
    """
    out: Value | None = None
    for thing in value.things:
        found = thing.fields.get(key)
        if found is None and thing.kind == "instance":
            found = class_member(thing, key)
        if found is not None:
            out = found if out is None else join(out, found)
    return out


def _is_absent(value: Value) -> bool:
    last = value.path.rpartition(".")[2]
    is_none = value.tags == t.NONE and not value.things
    return is_none or last in {"NOT_GIVEN", "NotGiven", "omit", "Omit()"}


def _usage_of(options: Value | None) -> Usage:
    """What a value given for `stream_options` asks for."""
    if options is None or _is_absent(options):
        return Usage.ABSENT
    asked = field_of(options, "include_usage")
    if asked is not None:
        if asked.tags & t.FALSE and not asked.tags & t.TRUE:
            return Usage.REFUSED
        return Usage.ASKED
    dicts = [thing for thing in options.things if thing.kind == "dict"]
    if dicts and not any(thing.is_open or thing.elem != UNKNOWN for thing in dicts):
        return Usage.REFUSED
    return Usage.UNKNOWN


def _asks_otherwise(body: Value | None) -> bool:
    """Whether a body asks for counts in another way: `"usage": {"include": True}`."""
    return body is not None and any(
        isinstance(key, str) and _COUNTS.search(key)
        for thing in body.things
        for key in thing.fields
    )


def _mentions_usage(module: Module) -> bool:
    return module.mentions(_ASKS_FOR_USAGE)


def note_sdk_request(machine: Machine, call: Call) -> Request:
    """Record a streamed request that an SDK sends."""
    options = call.kwargs.get("stream_options")
    body = call.kwargs.get("extra_body")
    if options is None and body is not None:
        options = field_of(body, "stream_options")
    usage = _usage_of(options)
    if usage is Usage.ABSENT and _asks_otherwise(body):
        usage = Usage.ASKED
    if usage is Usage.ABSENT and (
        _is_callers(call, "stream_options")
        or (_is_callers(call, "extra_body") and _may_have_more(body))
    ):
        usage = Usage.UNKNOWN
    if usage is Usage.ABSENT and call.has_unknown_kwargs:
        # Where the caller says that it is to be streamed, or what is asked, the caller
        # says the rest.
        is_handed_on = _is_told_to_stream(call) or (
            _hands_through(call) and not any(key in call.kwargs for key in _INPUTS)
        )
        is_told = is_handed_on or _mentions_usage(call.frame.module)
        usage = Usage.UNKNOWN if is_told else usage
    given = next(
        (kw.value for kw in call.node.keywords if kw.arg == "stream_options"), None
    )
    wrapped = call.path.startswith("otel_specdecode.")
    return _note(machine, call, usage, options=given, is_instrumented=wrapped)


def _is_told_to_stream(call: Call) -> bool:
    """Whether it is the caller's keywords that ask for a stream.

    They hold it, or it was taken out of them: `options.pop("stream", False)`.
    """
    if all(keyword.arg != "stream" for keyword in call.node.keywords):
        return True
    given = [keyword.value for keyword in call.node.keywords if keyword.arg is None]
    return call.frame.node is not None and any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and field_name(part) == "stream"
        and any(same_place(part.func.value, options) for options in given)
        for part in walk(call.frame.node)
    )


def _hands_through(call: Call) -> bool:
    """Whether the function that sends a request leaves reading the answer to others."""
    return call.frame.node is not None and any(
        isinstance(part, ast.Yield | ast.YieldFrom)
        or (isinstance(part, ast.Return) and part.value is call.node)
        for part in walk(call.frame.node)
    )


def _is_callers(call: Call, keyword: str) -> bool:
    """Whether a keyword is handed on from the caller of the function it stands in."""
    arguments = getattr(call.frame.node, "args", None)
    given = next((kw.value for kw in call.node.keywords if kw.arg == keyword), None)
    if not isinstance(given, ast.Name) or not isinstance(arguments, ast.arguments):
        return False
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.kwarg is not None:
        named.append(arguments.kwarg)
    return any(argument.arg == given.id for argument in named)


def _may_have_more(body: Value | None) -> bool:
    return body is None or all(thing.is_open for thing in body.things)


def note_raw_request(
    machine: Machine, call: Call, payload: Value, address: str
) -> Request:
    """Record a streamed request that an HTTP library sends with this payload."""
    options = field_of(payload, "stream_options")
    usage = _usage_of(options)
    if usage is Usage.ABSENT and _asks_otherwise(payload):
        usage = Usage.ASKED
    is_object = any(thing.kind == "instance" for thing in payload.things)
    if usage is Usage.ABSENT and options is not None and is_object:
        usage = Usage.UNKNOWN  # a field for it that whoever makes the object may fill
    body = _literal_body(payload, call.frame.module)
    is_open = any(thing.is_open for thing in payload.things)
    if usage is Usage.ABSENT and is_open:
        is_handed_on = _is_handed_on(body) or (
            _hands_through(call)
            and not any(field_of(payload, key) is not None for key in _INPUTS)
        )
        is_told = is_handed_on or _mentions_usage(call.frame.module)
        usage = Usage.UNKNOWN if is_told else usage
    return _note(machine, call, usage, body=body, is_raw=True, address=address)


def _is_handed_on(body: ast.expr | None) -> bool:
    """Whether a body takes its options, streaming among them, from the caller."""
    return (
        isinstance(body, ast.Dict)
        and None in body.keys
        and not any(
            isinstance(k, ast.Constant) and k.value == "stream" for k in body.keys
        )
    )


def _literal_body(payload: Value, module: Module) -> ast.Dict | ast.Call | None:
    """The one literal that the payload is, if it stands in the caller's file."""
    nodes = [thing.node for thing in payload.things if thing.module is module]
    node = nodes[0] if len(nodes) == 1 else None
    return node if isinstance(node, ast.Dict | ast.Call) else None


def _note(
    machine: Machine,
    call: Call,
    usage: Usage,
    *,
    options: ast.expr | None = None,
    body: ast.Dict | ast.Call | None = None,
    is_raw: bool = False,
    is_instrumented: bool = False,
    address: str = "",
) -> Request:
    """Record a streamed request; of several runs, the worst stands."""
    known = machine.facts.requests.get(call.node)
    if known is None:
        known = Request(
            call.frame.module, call.node, usage, options, body, is_raw, is_instrumented,
            client=call.path, address=address,
        )  # fmt: skip
        machine.facts.requests[call.node] = known
    elif usage in {Usage.ABSENT, Usage.REFUSED}:
        known.usage = usage
    return known
