"""Texts around a number: what a print, a log line or a key calls it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._values import UNKNOWN, Value, join
from otel_specdecode.lint.words import says_other_unit, says_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_specdecode.lint._frames import Frame
    from otel_specdecode.lint._machine import Machine

_BREAK = re.compile(r"[,;|\n()\[\]{}]|\s[-\u2013\u2014\u2022\u00b7]\s")
_QUALIFIED = re.compile(r"[^\s,;|]\s*[(\[][^()\[\]]*[)\]][\s:=~]*$")
"""`tok/s (mean): `, where what stands in brackets is not the whole name."""
_PERCENT = re.compile(r"%(?:\((\w+)\))?[-#0 +]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[a-zA-Z]")
_BRACES = re.compile(r"(?<!\{)\{(\w*)[^{}]*\}(?!\})")


def nearest(before: str, after: str) -> str:
    """The words that belong to a number between two texts.

    The unit that follows wins; otherwise what stands in front of it.
    """
    following = _BREAK.split(after, maxsplit=1)[0]
    if _says_unit(following):
        return following
    parts = [part for part in _BREAK.split(before) if part.strip(" :=~")]
    preceding = parts[-1] if parts else ""
    if len(parts) > 1 and not _says_unit(preceding) and _QUALIFIED.search(before):
        preceding = f"{parts[-2]} {preceding}"
    return f"{preceding} {following}".strip()


def _says_unit(text: str) -> bool:
    return says_tokens(text) or says_other_unit(text)


def joined_string(machine: Machine, node: ast.expr, frame: Frame) -> Value:
    """An f-string: labels the numbers in it."""
    if not isinstance(node, ast.JoinedStr):
        return UNKNOWN
    literals = [
        str(part.value) if isinstance(part, ast.Constant) else "\0"
        for part in node.values
    ]
    out = UNKNOWN
    texts: set[str] = set()
    for position, part in enumerate(node.values):
        if not isinstance(part, ast.FormattedValue):
            texts.add(literals[position])
            continue
        value = machine.evaluate(part.value, frame)
        texts |= value.texts
        if len(value.texts) == 1 and not value.rates:
            literals[position] = next(iter(value.texts))  # `{name}: {rate}`
        before = literals[position - 1] if position else ""
        if position > 1 and not before.strip(" :=~\t|-"):
            before = literals[position - 2] + before
        after = literals[position + 1] if position + 1 < len(literals) else ""
        machine.label(
            value.rates,
            nearest(before.replace("\0", ""), "" if after == "\0" else after),
        )
        piece = value.tags & (t.PIECE | t.TEXT | t.CHUNK | t.STRONG)
        out = join(out, Value(piece, rates=value.rates, steps=value.steps))
    kept = frozenset(list(texts)[:12])
    return Value(out.tags, rates=out.rates, texts=kept, steps=out.steps)


def template(
    machine: Machine,
    text: str,
    args: Sequence[Value],
    named: dict[str, Value],
    *,
    braces: bool = False,
) -> None:
    """Label the arguments of a `%` or `{}` template."""
    pattern = _BRACES if braces else _PERCENT
    text = text if braces else text.replace("%%", "  ")
    holes = list(pattern.finditer(text))
    for position, hole in enumerate(holes):
        start = holes[position - 1].end() if position else 0
        end = holes[position + 1].start() if position + 1 < len(holes) else len(text)
        label = nearest(text[start : hole.start()], text[hole.end() : end])
        key = hole.group(1)
        if key and not key.isdigit():
            if key in named:
                machine.label(named[key].rates, label)
            continue
        index = int(key) if key else position
        if index < len(args):
            machine.label(args[index].rates, label)


def percent(machine: Machine, node: ast.BinOp, left: Value, frame: Frame) -> Value:
    """`"... tok/s" % rate`."""
    text = " ".join(sorted(left.texts))
    out = UNKNOWN
    if isinstance(node.right, ast.Tuple):
        values = [machine.evaluate(item, frame) for item in node.right.elts]
    else:
        values = [machine.evaluate(node.right, frame)]
    named: dict[str, Value] = {}
    for thing in values[0].things if values else ():
        if thing.kind == "dict":
            named = {str(key): value for key, value in thing.fields.items()}
    template(machine, text, values, named)
    for value in values:
        out = join(out, Value(rates=value.rates))
    return Value(rates=out.rates, texts=left.texts)


def neighbours(
    machine: Machine, nodes: Sequence[ast.expr], values: Sequence[Value]
) -> None:
    """Label numbers by the texts beside them in a call, list or tuple."""
    for position, value in enumerate(values):
        if not value.rates:
            continue
        before = _literal(nodes, position - 1)
        after = _literal(nodes, position + 1)
        if after.rstrip().endswith((":", "=")):
            after = ""
        machine.label(value.rates, nearest(before, after))


def _literal(nodes: Sequence[ast.expr], position: int) -> str:
    if not 0 <= position < len(nodes):
        return ""
    node = nodes[position]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""
