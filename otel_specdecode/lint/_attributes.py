"""Reading and writing attributes, keys and positions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._values import (
    UNKNOWN,
    Definition,
    Thing,
    Value,
    join,
    join_all,
    retagged,
)
from otel_specdecode.lint.words import words_of

if TYPE_CHECKING:
    from otel_specdecode.lint._frames import Frame
    from otel_specdecode.lint._machine import Machine

PIECE_FIELDS = frozenset(
    "content text reasoning_content reasoning thinking token completion response "
    "arguments refusal generated_text output_text".split()
)
USAGE_FIELDS = frozenset(
    "usage usage_metadata token_usage timings usageMetadata x_groq".split()
)
TOKEN_FIELDS = frozenset(
    "completion_tokens output_tokens prompt_tokens total_tokens input_tokens "
    "eval_count prompt_eval_count predicted_n candidates_token_count "
    "reasoning_tokens generated_tokens_count tokens_predicted".split()
)
ID_FIELDS = frozenset(
    "token_ids output_token_ids output_ids input_ids prompt_token_ids logprobs "
    "generated_ids completion_token_ids".split()
)
_SIZES = frozenset(("size", "height", "shape"))
"""Of an array, or of a table of polars: how many entries it has."""
STREAM_FIELDS = frozenset("response_gen text_stream async_response_gen".split())


def _by_name(key: str, strong: int) -> Value | None:
    """What a field is by its name alone, whoever carries it."""
    if key in USAGE_FIELDS:
        return Value(t.USAGE)
    if key in TOKEN_FIELDS:
        return Value(t.TOKENS)
    if key in ID_FIELDS:
        return Value(t.IDS)
    if key in STREAM_FIELDS:
        return Value(t.STREAM | t.STRONG | strong)
    return None


def _of_known_kind(base: Value, key: str) -> Value | None:
    """A field of a chunk, a response or a usage block."""
    tags = base.tags
    strong = tags & t.STRONG
    if tags & t.USAGE:
        is_time = bool({"time", "ms", "duration", "second"}.intersection(words_of(key)))
        return Value(
            t.SPAN
            if is_time
            else t.TOKENS | (t.USAGE if "detail" in key or "usage" in key else 0)
        )
    if tags & t.IDS:
        return Value(t.IDS)
    if tags & (t.RESPONSE | t.STREAM) and key in {"content", "raw", "stream", "body"}:
        return Value(t.STREAM | t.RESPONSE | strong)
    if tags & t.RESPONSE and key == "text":
        return Value(t.CHUNK | strong, steps=base.steps)
    if tags & t.CHUNK and not tags & t.STREAM:
        named = _by_name(key, strong)
        if named is not None:
            return named
        return Value(t.CHUNK | strong | (t.PIECE if key in PIECE_FIELDS else 0))
    return None


def read_field(
    machine: Machine, base: Value, key: str, frame: Frame, *, is_key: bool = False
) -> Value:
    """The attribute or string key of a value.

    Args:
        machine: the analysis.
        base: the object.
        key: attribute name or key.
        frame: where it is read.
        is_key: read with `[...]`, so that class members do not count.
    """
    known = _of_known_kind(base, key)
    if known is not None:
        return known
    out, is_found = UNKNOWN, False
    for thing in base.things:
        part = _thing_field(machine, thing, key, frame, is_key=is_key)
        if part is not None:
            out, is_found = join(out, part), True
    if key in _SIZES and any(thing.per_chunk for thing in base.things):
        return _size_field(machine, base, key)
    if is_found:
        if out.tags & t.TOKENS and any(
            (thing.general, key) in machine.counted for thing in base.things
        ):
            # Tokens from usage in one object do not mend the chunk count in another.
            out = retagged(out, out.tags & ~t.TOKENS) if out.tags & t.COUNT else out
        loose = machine.loose.get(key)
        return join(out, loose) if loose is not None else out
    pool = machine.named if not base.things else machine.loose
    shared = pool.get(key)
    path = f"{base.path or '?'}.{key}"
    if shared is not None:
        return Value(
            shared.tags, shared.things, shared.rates, shared.texts,
            shared.path or path, shared.steps,
        )  # fmt: skip
    named = _by_name(key, 0)
    is_own = any(thing.kind == "instance" for thing in base.things)
    # A field of an object of these files is what they put there, whatever its name.
    if named is not None and not (is_own and named.tags & t.TOKENS):
        return named
    return Value(path=path if not is_key else "")


def _size_field(machine: Machine, base: Value, key: str) -> Value:
    strong = t.STRONG if any(thing.strong for thing in base.things) else 0
    size = Value(t.COUNT | strong, steps=base.steps)
    if key != "shape":
        return size
    shape = Thing("tuple", None, 0, machine.reads)
    shape.fields.put(0, size)
    return Value(things=frozenset({shape}))


def _thing_field(
    machine: Machine, thing: Thing, key: str, frame: Frame, *, is_key: bool
) -> Value | None:
    found = thing.fields.get(key)
    if found is not None:
        if thing.kind != "instance" or is_key:
            return found
        member = class_member(thing, key)
        return (
            found
            if member is None
            else join(found, _bind(machine, thing, member, frame, key))
        )
    if thing.general is not None:
        found = thing.general.fields.get(key)
        if found is not None:
            return found
    if thing.kind == "instance":
        member = class_member(thing, key)
        return None if member is None else _bind(machine, thing, member, frame, key)
    if thing.kind == "class" and thing.definition is not None:
        return _class_field(machine, thing, key, frame)
    if (is_key or thing.kind in {"list", "iter"}) and thing.rows:
        return _column(machine, thing, key, frame)
    if thing.kind == "dict" and is_key and thing.elem is not UNKNOWN:
        return thing.elem
    return None


def _class_field(machine: Machine, cls: Thing, key: str, frame: Frame) -> Value | None:
    """A member read from the class itself: only its class methods are bound."""
    member = find_member(cls, key)
    definition = machine.definition(member, "function") if member else None
    if member is None or definition is None or definition.node is None:
        return member
    is_bound = "classmethod" in decorators(definition.node)
    return bind_member(machine, cls, member, frame) if is_bound else member


def _column(
    machine: Machine, thing: Thing, key: str | int, frame: Frame
) -> Value | None:
    """A column of a table: the same field of every row."""
    fields = [row.fields.get(key) for row in thing.rows]
    known = [field for field in fields if field is not None]
    if not known:
        return None
    column = machine.thing("list", (thing, key), frame)
    machine.grow(column, join_all(known))
    if thing.per_chunk:
        machine.mark_per_chunk(column, strong=thing.strong)
    if thing.per_token:
        machine.mark_per_token(column)
    return Value(things=frozenset({column}), rates=column.elem.rates)


def find_member(cls: Thing, key: str, depth: int = 0) -> Value | None:
    """A member of a class or of the bases that we know."""
    if cls.definition is None or depth > 8:
        return None
    member = cls.definition.members.get(key) or cls.fields.get(key)
    if member is not None:
        return member
    for base in cls.definition.bases:
        member = find_member(base, key, depth + 1)
        if member is not None:
            return member
    return None


def class_member(instance: Thing, key: str) -> Value | None:
    """A member of an instance's class."""
    if instance.definition is None or instance.definition.owner is None:
        return None
    return find_member(instance.definition.owner, key)


def decorators(node: ast.AST) -> set[str]:
    """Last names of a definition's decorators."""
    found: set[str] = set()
    for decorator in getattr(node, "decorator_list", ()):
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute):
            found.add(target.attr)
        elif isinstance(target, ast.Name):
            found.add(target.id)
    return found


def bind_member(
    machine: Machine, instance: Thing, member: Value, frame: Frame
) -> Value:
    """A class member seen through an instance: methods are bound to it."""
    definition = machine.definition(member, "function")
    if definition is None or definition.node is None:
        return member
    marks = decorators(definition.node)
    if "staticmethod" in marks:
        return member
    if "classmethod" in marks and instance.kind == "instance":
        cls = instance.definition.owner if instance.definition else None
        instance = cls or instance
    bound = machine.thing("function", (definition.node, instance), frame)
    bound.line = definition.node.lineno
    bound.definition = Definition(
        definition.node,
        definition.module,
        definition.owner,
        Value(things=frozenset({instance})),
        definition.scope,
    )
    return Value(things=frozenset({bound}))


def _bind(
    machine: Machine, instance: Thing, member: Value, frame: Frame, key: str
) -> Value:
    """An instance's class member read as an attribute: properties are called."""
    bound = bind_member(machine, instance, member, frame)
    definition = machine.definition(bound, "function")
    if definition is None or definition.node is None:
        return bound
    if not decorators(definition.node) & {"property", "cached_property"}:
        return bound
    result = machine.call_value(bound, definition.node, frame)
    machine.label(result.rates, key)
    return result


def write_field(machine: Machine, base: Value, key: str, value: Value) -> None:
    """Assign an attribute or a string key."""
    owners = [x for x in base.things if x.kind in {"instance", "dict", "class", "list"}]
    for thing in owners:
        machine.set_field(thing, key, value)
    if not owners and not base.tags & t.CHUNK:
        machine.share(machine.loose, key, value)
        machine.share(machine.named, key, value)


def read_item(machine: Machine, base: Value, index: ast.expr, frame: Frame) -> Value:
    """`base[index]`."""
    if isinstance(index, ast.Slice):
        return base
    if isinstance(index, ast.Tuple):
        column = _column_at(machine, base, index, frame)
        if column is not None:
            return column
    if isinstance(index, ast.Constant) and isinstance(index.value, str):
        return read_field(machine, base, index.value, frame, is_key=True)
    key = machine.evaluate(index, frame)
    if len(key.texts) == 1 and not key.tags and not base.tags & t.QUANTITIES:
        return read_field(machine, base, next(iter(key.texts)), frame, is_key=True)
    position = _position(index)
    out = UNKNOWN
    for thing in base.things:
        out = join(out, _entry(thing, position))
    if out is not UNKNOWN:
        is_moving = position is None or (position == -1 and frame.per_chunk)
        return out if is_moving else retagged(out, out.tags & ~t.LATER)
    if base.tags & (t.CHUNK | t.USAGE):
        return base
    if base.tags & t.IDS:
        return UNKNOWN
    return Value(path=f"{base.path}[]" if base.path else "")


def _column_at(
    machine: Machine, base: Value, index: ast.Tuple, frame: Frame
) -> Value | None:
    """`table[:, 0]`: the same entry of every row."""
    match index.elts:
        case [ast.Slice(), ast.Constant(value=int(position))]:
            columns = [_column(machine, x, position, frame) for x in base.things]
        case _:
            return None
    found = [column for column in columns if column is not None]
    return join_all(found) if found else None


def _position(index: ast.expr) -> int | None:
    match index:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case _:
            return None


def _entry(thing: Thing, position: int | None) -> Value:
    if thing.kind == "tuple":
        length = sum(isinstance(key, int) for key in thing.fields)
        if position is not None and position < 0:
            position += length
        known = None if position is None else thing.fields.get(position)
        if known is not None:
            return known
        return join(join_all(thing.fields.values()), thing.elem)
    if thing.kind == "dict":
        return join(thing.elem, join_all(thing.fields.values()))
    return thing.elem
