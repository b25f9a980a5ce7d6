"""What sums, products and quotients of quantities are, and which are rates."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._naming import names_in, same_place
from otel_specdecode.lint._tree import walk
from otel_specdecode.lint._values import (
    UNKNOWN,
    Value,
    either_thing,
    tagged,
    with_step,
)
from otel_specdecode.lint.facts import RateKind
from otel_specdecode.lint.words import (
    says_energy,
    says_price,
    says_time,
    says_tokens,
    says_window,
)

if TYPE_CHECKING:
    from otel_specdecode.lint._frames import Frame
    from otel_specdecode.lint._machine import Machine

_TEXTUAL = t.TEXT | t.PIECE


def add(left: Value, right: Value) -> Value:
    """A sum, or two sequences or texts joined."""
    both = left.tags | right.tags
    strong = both & t.STRONG
    if both & (t.COUNT | t.TOKENS | t.CHARS):
        return tagged(both & (t.COUNT | t.TOKENS | t.CHARS | t.STRONG), left, right)
    if both & t.CLOCK:
        return tagged(both & (t.CLOCK | t.LATER), left, right)
    if both & t.SPAN:
        return tagged(t.SPAN, left, right)
    if both & (_TEXTUAL | t.CHUNK):
        kept = t.TEXT if both & _TEXTUAL else t.CHUNK
        return Value(kept | strong, texts=left.texts | right.texts, path=left.path)
    things = either_thing(left.things, right.things)
    if things or left.texts or right.texts:
        texts = frozenset(list(left.texts | right.texts)[:12])
        return Value(both & (t.IDS | t.ONE), things, left.rates | right.rates, texts)
    return tagged(both & (t.IDS | t.NUMBER), left, right)


def subtract(left: Value, right: Value, *, in_chunk_loop: bool) -> Value:
    """A difference; of two clock readings it is a span, of neighbours a gap."""
    times = t.CLOCK | t.SPAN
    if left.tags & times or right.tags & times:
        if left.tags & (t.COUNT | t.TOKENS):
            return tagged(left.tags & (t.COUNT | t.TOKENS | t.STRONG), left)
        both_later = left.tags & right.tags & t.LATER
        own_gap = in_chunk_loop and right.tags & t.LATER and left.tags & times
        tags = t.SPAN
        if both_later or own_gap:
            tags |= t.GAP | ((left.tags | right.tags) & t.STRONG)
        elif in_chunk_loop:
            tags |= t.LATER
        return tagged(tags, left, right)
    kept = left.tags & (t.COUNT | t.TOKENS | t.CHARS | t.STRONG)
    if not kept & ~t.STRONG:
        return tagged(left.tags & right.tags & t.NUMBER, left, right)
    return tagged(kept | (right.tags & t.TOKENS), left, right)


class _Quotient:
    """A division or a product being judged."""

    def __init__(
        self, machine: Machine, node: ast.BinOp, left: Value, right: Value, frame: Frame
    ) -> None:
        self.machine = machine
        self.node = node
        self.left = left
        self.right = right
        self.frame = frame

    def rate(self, kind: RateKind, source: Value, operand: ast.expr) -> Value:
        other = self.node.right if operand is self.node.left else self.node.left
        story = with_step(source, self.machine.step(self.node, self.frame, kind.value))
        rates = self.machine.rate(
            kind,
            self.node,
            self.frame,
            story,
            operands=names_in(operand),
            divisor=names_in(other),
        )
        own = self.machine.facts.rates[next(iter(rates))]
        earlier = self.left.rates | self.right.rates
        if kind is RateKind.INVERSE_GAP:
            # What names the inverse does not name the gap.
            own.made_from |= earlier
            return Value(rates=rates)
        return Value(rates=rates | earlier)


def multiply(
    machine: Machine, node: ast.BinOp, left: Value, right: Value, frame: Frame
) -> Value:
    """A product: a change of unit, or a rate if one side is one over a time."""
    for a, b, operand in ((left, right, node.left), (right, left, node.right)):
        if a.tags & t.COUNT and b.tags & t.INVERSE:
            kind = RateKind.FALLBACK if a.tags & t.TOKENS else RateKind.PER_SECOND
            return _Quotient(machine, node, left, right, frame).rate(kind, a, operand)
        if a.tags & t.CHARS and not a.tags & t.TOKENS and b.tags & t.INVERSE:
            return _Quotient(machine, node, left, right, frame).rate(
                RateKind.ESTIMATE, a, operand
            )
        if a.things and b.tags & (t.NUMBER | t.COUNT | t.TOKENS):
            # `[start] * usage.completion_tokens` has one entry per token.
            is_tokens = b.tags & t.TOKENS and not b.tags & t.COUNT
            return Value(t.IDS if is_tokens else 0, a.things, steps=a.steps)
    for a, b in ((left, right), (right, left)):
        if a.tags & (t.SPAN | t.INVERSE) and not b.tags & (t.COUNT | t.TOKENS):
            return tagged(a.tags & ~(t.ONE | t.NUMBER), a, b)
        if a.tags & t.COUNT and not a.tags & t.TOKENS:
            price = node.right if a is left else node.left
            for name in sorted(names_in(price)):
                if says_price(name):
                    machine.charge(node, name, a, frame)
        if a.tags & (t.COUNT | t.CHARS | t.TOKENS) and (
            b.tags & t.NUMBER or b.tags & t.ONE
        ):
            return tagged(a.tags & ~(t.ONE | t.NUMBER), a, b)
    if left.tags & right.tags & (t.NUMBER | t.ONE):
        return tagged(t.NUMBER, left, right)
    return tagged(0, left, right)


def divide(
    machine: Machine, node: ast.BinOp, left: Value, right: Value, frame: Frame
) -> Value:
    """A quotient: where rates and times per token are made."""
    if left.texts and not left.tags & t.QUANTITIES:
        return Value(texts=left.texts | right.texts)  # pathlib: base / "v1"
    quotient = _Quotient(machine, node, left, right, frame)
    if right.tags & t.TOKENS:
        return _divide_by_tokens(quotient)
    if left.tags & t.COUNT:
        return _divide_count(quotient)
    if left.tags & t.CHARS and not left.tags & t.TOKENS:
        return _divide_characters(quotient)
    if left.tags & t.SPAN or (not left.tags & t.TOKENS and _is_time(node.left, left)):
        return _divide_time(quotient)
    if left.tags & (t.NUMBER | t.ONE) and right.tags & t.SPAN:
        # A variable that begins at 0 is a number only until it is counted.
        if right.tags & t.GAP and all(map(str.isupper, names_in(node.left))):
            return quotient.rate(RateKind.INVERSE_GAP, right, node.right)
        return tagged(t.INVERSE, left, right)
    if left.tags & (t.NUMBER | t.ONE) and right.tags & (t.NUMBER | t.ONE):
        return tagged(t.NUMBER, left, right)
    return (
        tagged(left.tags & t.TOKENS, left, right)
        if right.tags & (t.NUMBER | t.ONE)
        else tagged(0, left, right)
    )


def _is_time(node: ast.expr, value: Value) -> bool:
    """Whether an operand that we know nothing of is called a length of time."""
    if value.tags & (t.QUANTITIES | t.NUMBER | t.IDS) or value.things:
        return False
    return any(says_time(name) and not says_tokens(name) for name in names_in(node))


def _divide_by_tokens(quotient: _Quotient) -> Value:
    left, right = quotient.left, quotient.right
    if right.tags & t.COUNT and left.tags & t.SPAN:
        return quotient.rate(RateKind.FALLBACK, right, quotient.node.right)
    return tagged(0, left, right)


def _divide_count(quotient: _Quotient) -> Value:
    node, left, right = quotient.node, quotient.left, quotient.right
    if left.tags & t.TOKENS:
        if right.tags & t.SPAN or _is_time(node.right, right):
            return quotient.rate(RateKind.FALLBACK, left, node.left)
        return tagged(left.tags & ~t.ONE, left, right)
    if right.tags & t.SPAN or (
        not right.tags & t.NUMBER and _is_time(node.right, right)
    ):
        return quotient.rate(RateKind.PER_SECOND, left, node.left)
    if right.tags & (t.COUNT | t.CHARS):
        return tagged(0, left, right)
    if _is_percentage(node):
        return tagged(0, left, right)
    windowed = quotient.rate(RateKind.WINDOW, left, node.left)
    if not right.tags & (t.NUMBER | t.ONE):
        return windowed
    if any(says_window(name) for name in names_in(node.right)):
        return windowed
    return Value(left.tags, rates=windowed.rates, steps=left.steps)


def _is_percentage(node: ast.BinOp) -> bool:
    """Whether this is a place in a sorted list: `(len(values) - 1) * q / 100`."""
    match node:
        case ast.BinOp(
            left=ast.BinOp(op=ast.Mult()), right=ast.Constant(value=100 | 100.0)
        ):
            return True
        case _:
            return False


def _divide_characters(quotient: _Quotient) -> Value:
    node, left, right = quotient.node, quotient.left, quotient.right
    if right.tags & t.SPAN or (
        not right.tags & t.NUMBER and _is_time(node.right, right)
    ):
        return quotient.rate(RateKind.ESTIMATE, left, node.left)
    if right.tags & (t.COUNT | t.CHARS):
        return tagged(0, left, right)
    return tagged(left.tags, left, right)


def _is_mean_of_one(node: ast.BinOp) -> bool:
    """Whether this is `sum(x) / len(x)`: it is as large as one entry."""
    match node.left:
        case ast.Call(func=ast.Name(id="sum" | "fsum"), args=[summed, *_]):
            return any(
                same_place(summed, part.args[0])
                for part in walk(node.right)
                if isinstance(part, ast.Call)
                and isinstance(part.func, ast.Name)
                and part.func.id == "len"
                and part.args
            )
        case _:
            return False


def _divide_time(quotient: _Quotient) -> Value:
    node, left, right = quotient.node, quotient.left, quotient.right
    if any(map(says_energy, names_in(node.left))):
        return tagged(0, left, right)
    if right.tags & t.COUNT:
        if not left.tags & t.SUMMED and _is_mean_of_one(node):
            return tagged(t.SPAN, left)
        kind = RateKind.MEAN_GAP if left.tags & t.SUMMED else RateKind.PER_COUNT
        rated = quotient.rate(kind, right, node.right)
        gap = t.SPAN | t.GAP if left.tags & t.SUMMED else 0
        return Value(gap | (right.tags & t.STRONG) if gap else 0, rates=rated.rates)
    if right.tags & (t.NUMBER | t.ONE) or not right.tags:
        if right.tags:
            return tagged(left.tags, left, right)
        return tagged(left.tags & (t.SPAN | t.GAP | t.STRONG), left, right)
    return UNKNOWN if not (left.rates or right.rates) else tagged(0, left, right)
