"""Calls of the functions and classes that the files read define."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint._annotations import annotated
from otel_specdecode.lint._attributes import decorators
from otel_specdecode.lint._frames import UNKNOWN_KEYWORDS, Env, Frame
from otel_specdecode.lint._reach import is_of_a_stream
from otel_specdecode.lint._values import (
    RETURNED,
    UNKNOWN,
    Definition,
    Thing,
    Value,
    join,
    join_all,
)
from otel_specdecode.lint.words import names_a_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from otel_specdecode.lint._machine import Machine

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

MAX_STATEMENTS_PER_ENTRY = 10_000
"""What one function that nothing calls may use up, so that the others get a turn."""
MAX_WITHOUT_STREAM = 500
"""The same while no stream was met: long enough to meet one, if it is there."""
PER_CHUNK_CALLBACKS = frozenset(
    "on_llm_new_token on_new_token on_token on_chunk on_stream_chunk on_delta "
    "on_text_delta handle_chunk".split()
)
"""Methods that frameworks call once per chunk."""
CERTAIN_CALLBACKS = frozenset(("on_llm_new_token", "on_text_delta"))


def invoke(
    machine: Machine,
    thing: Thing,
    node: ast.AST,
    frame: Frame,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value:
    """What calling a thing returns; `UNKNOWN` for what cannot be called."""
    definition = thing.definition
    if definition is None:
        return UNKNOWN
    if thing.kind == "partial":
        out = UNKNOWN
        for target, given, named in _unwrapped(thing, args, kwargs):
            out = join(out, invoke(machine, target, node, frame, given, named))
        return out
    if thing.kind == "class":
        return instantiate(machine, thing, node, frame, args, kwargs)
    if thing.kind == "instance":
        method = machine.bound_method(
            Value(things=frozenset({thing})), "__call__", frame
        )
        return invoke(machine, method, node, frame, args, kwargs) if method else UNKNOWN
    if thing.kind == "function":
        return _run(machine, definition, node, frame, args, kwargs)
    return UNKNOWN


def _unwrapped(
    partial: Thing, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Iterator[tuple[Thing, Sequence[Value], Mapping[str, Value]]]:
    """What a partial calls in the end, with which arguments.

    Not itself, as in `f = partial(f, x)` where all that `f` was is one set.
    """
    seen, waiting = {partial}, [(partial, args, kwargs)]
    while waiting:
        outer, outer_args, outer_kwargs = waiting.pop()
        if outer.definition is None:
            continue
        given = [*outer.definition.args, *outer_args]
        named = {**outer.definition.kwargs, **outer_kwargs}
        for target in outer.definition.target.things:
            if target.kind != "partial":
                yield target, given, named
            elif target not in seen:
                seen.add(target)
                waiting.append((target, given, named))


def field_names(cls: Thing, depth: int = 0) -> list[str]:
    """Fields that a dataclass or named tuple takes, in order."""
    definition = cls.definition
    if definition is None or not isinstance(definition.node, ast.ClassDef) or depth > 8:
        return []
    names: list[str] = []
    for base in definition.bases:
        names += field_names(base, depth + 1)
    for statement in definition.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(
            statement.target, ast.Name
        ):
            names.append(statement.target.id)
    return names


def instantiate(
    machine: Machine,
    cls: Thing,
    node: ast.AST,
    frame: Frame,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value:
    """An object of a class of these files, its `__init__` run."""
    instance = machine.instance_of(cls, frame)
    value = Value(things=frozenset({instance}))
    init = machine.bound_method(value, "__init__", frame)
    if init is not None:
        invoke(machine, init, node, frame, args, kwargs)
        return value
    instance = machine.record_of(cls, node, frame)
    value = Value(things=frozenset({instance}))
    given = [(k, v) for k, v in kwargs.items() if k != UNKNOWN_KEYWORDS]
    for name, argument in [*zip(field_names(cls), args, strict=False), *given]:
        machine.fill_field(instance, name, argument)
        machine.label(argument.rates, name)
    post = machine.bound_method(value, "__post_init__", frame)
    if post is not None:
        invoke(machine, post, node, frame, [], {})
    return value


def _run(
    machine: Machine,
    definition: Definition,
    call: ast.AST,
    frame: Frame,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value:
    node = definition.node
    if not isinstance(node, FunctionNode):
        return UNKNOWN
    per_chunk, strong = frame.per_chunk, frame.is_strong
    key = (
        node,
        definition.receiver,
        tuple(args),
        tuple(sorted(kwargs.items(), key=lambda item: item[0])),
        per_chunk,
        strong,
    )
    known = machine.memo.get(key)
    if known is not None:
        machine.reads.entries.append((machine.memo, key, known))
        return known
    if not machine.may_call():
        return UNKNOWN
    machine.memo[key] = machine.earlier.get(key, UNKNOWN)
    machine.depth += 1
    machine.budget -= 1
    machine.called.add(node)
    inner = Frame(
        definition.module,
        {},
        definition.scope,
        node,
        getattr(node, "name", ""),
        definition.owner,
        inherited=per_chunk,
        strong=strong,
        story=frame.loop.steps if frame.loop else frame.story,
        context=call if frame.row is None else (call, frame.row),
    )
    _bind_parameters(machine, definition, node, inner, args, kwargs)
    result = run_body(machine, node, inner, key)
    machine.depth -= 1
    machine.memo[key] = machine.earlier[key] = result
    if inner.pulled and not inner.yields:
        machine.pull(frame, strong=inner.pulled_strong)
    return result


def run_body(
    machine: Machine, node: FunctionNode, inner: Frame, key: tuple[object, ...]
) -> Value:
    """Run a function whose parameters are bound; its result, or its generator."""
    if isinstance(node, ast.Lambda):
        return machine.evaluate(node.body, inner)
    machine.execute(node.body, inner)
    machine.run_uncalled(node.body, inner)
    if names_a_rate(node.name):
        machine.label(inner.returned.rates, node.name)
    if inner.yields or is_of_a_stream(inner.returned):
        machine.carriers.add(node.name)
    if not inner.yields:
        return inner.returned
    if decorators(node) & {"contextmanager", "asynccontextmanager"}:
        return inner.yielded
    generator = machine.thing("iter", key, inner)
    generator.line = node.lineno
    machine.grow(generator, inner.yielded)
    if inner.returned is not UNKNOWN:
        machine.set_field(generator, RETURNED, inner.returned, shared=False)
    if inner.yields_per_chunk:
        machine.mark_per_chunk(generator, strong=inner.yields_strong)
    return Value(things=frozenset({generator}), steps=inner.yielded.steps)


def _bind_parameters(
    machine: Machine,
    definition: Definition,
    node: FunctionNode,
    inner: Frame,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> None:
    parameters = [*node.args.posonlyargs, *node.args.args]
    defaults = defaults_of(machine, definition, node, inner)
    env = inner.env
    queue = list(args)
    is_static = not isinstance(node, ast.Lambda) and "staticmethod" in decorators(node)
    if definition.receiver is not None and not is_static:
        queue.insert(0, definition.receiver)
    extra = queue[len(parameters) :]
    for position, parameter in enumerate(parameters):
        if position < len(queue):
            env[parameter.arg] = queue[position]
        else:
            env[parameter.arg] = kwargs.get(
                parameter.arg, defaults.get(parameter.arg, UNKNOWN)
            )
    for parameter in node.args.kwonlyargs:
        env[parameter.arg] = kwargs.get(
            parameter.arg, defaults.get(parameter.arg, UNKNOWN)
        )
    for parameter in [*parameters, *node.args.kwonlyargs]:
        if env[parameter.arg] == UNKNOWN:
            env[parameter.arg] = annotated(machine, parameter, inner)
    if node.args.vararg is not None:
        rest = machine.sequence(
            node.args, inner, join_all(extra), per_chunk=False, strong=False
        )
        env[node.args.vararg.arg] = rest
    if node.args.kwarg is not None:
        named = {parameter.arg for parameter in [*parameters, *node.args.kwonlyargs]}
        bag = machine.thing("dict", (node.args, "kwargs"), inner)
        if not kwargs or UNKNOWN_KEYWORDS in kwargs:
            bag.open()
        for name, value in kwargs.items():
            if name not in named and name != UNKNOWN_KEYWORDS:
                machine.set_field(bag, name, value, shared=False)
        env[node.args.kwarg.arg] = Value(things=frozenset({bag}))


def defaults_of(
    machine: Machine, definition: Definition, node: FunctionNode, inner: Frame
) -> Env:
    """Default values of a function's parameters."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    found: Env = {}
    outside = Frame(definition.module, machine.globals_of(definition.module))
    given = node.args.defaults
    for parameter, default in zip(parameters[-len(given) :], given, strict=False):
        found[parameter.arg] = machine.evaluate(default, outside)
    for parameter, default in zip(
        node.args.kwonlyargs, node.args.kw_defaults, strict=True
    ):
        if default is not None:
            found[parameter.arg] = machine.evaluate(default, outside)
    return found


def run_unknown(
    machine: Machine,
    value: Value,
    frame: Frame,
    *,
    per_chunk: bool = False,
    strong: bool = False,
) -> None:
    """Run a function that no code read calls: nothing is known of its arguments."""
    for thing in value.things:
        definition = thing.definition
        if thing.kind != "function" or definition is None:
            continue
        node = definition.node
        if not isinstance(node, FunctionNode) or node in machine.called:
            continue
        if not machine.may_call():
            return
        allowed = MAX_STATEMENTS_PER_ENTRY if machine.has_stream else MAX_WITHOUT_STREAM
        spare = max(0, machine.budget - allowed)
        machine.budget -= spare
        machine.depth += 1
        machine.called.add(node)
        name = getattr(node, "name", "")
        inner = Frame(
            definition.module, {}, definition.scope, node, name, definition.owner,
            inherited=per_chunk or name in PER_CHUNK_CALLBACKS,
            strong=strong or name in CERTAIN_CALLBACKS,
        )  # fmt: skip
        _bind_unknown(machine, definition, node, inner)
        run_body(machine, node, inner, (node, "unknown"))
        machine.depth -= 1
        machine.budget += spare


def _bind_unknown(
    machine: Machine, definition: Definition, node: FunctionNode, inner: Frame
) -> None:
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for parameter in parameters:
        inner.env[parameter.arg] = annotated(machine, parameter, inner)
    for rest in (node.args.vararg, node.args.kwarg):
        if rest is not None:
            inner.env[rest.arg] = UNKNOWN
    if definition.receiver is not None and node.args.args:
        inner.env[node.args.args[0].arg] = definition.receiver
    defaults = defaults_of(machine, definition, node, inner)
    for name, default in defaults.items():
        # A default clock is the clock; a default flag says nothing of the caller.
        if inner.env[name].path == name and default.path and not default.tags:
            inner.env[name] = default
