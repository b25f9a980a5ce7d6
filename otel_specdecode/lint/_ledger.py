"""What an analysis writes down: rates, what they are called, what is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._heap import Heap
from otel_specdecode.lint._values import Step, Value
from otel_specdecode.lint.facts import Facts, Publication, Rate, RateKind
from otel_specdecode.lint.words import claims_a_count

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from otel_specdecode.lint._frames import Frame

MAX_LABELS = 24


class Ledger(Heap):
    """The facts found so far.

    Attributes:
        facts: what was found.
        rate_numbers: each rate's number, by place, kind and the call that it served.
        seen_rates: those that this round found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts()
        self.rate_numbers: dict[tuple[object, ...], int] = {}
        self.seen_rates: set[int] = set()

    def step(self, node: ast.AST, frame: Frame, note: str) -> Step:
        """A stop at this node."""
        return Step(frame.module.path, getattr(node, "lineno", 1), note)

    def rate(
        self,
        kind: RateKind,
        node: ast.expr,
        frame: Frame,
        source: Value,
        operands: Iterable[str] = (),
        divisor: Iterable[str] = (),
    ) -> frozenset[int]:
        """Note a rate found at this expression."""
        key = (node, kind, frame.context)
        number = self.rate_numbers.setdefault(key, len(self.rate_numbers))
        rate = self.facts.rates.get(number)
        strong = bool(source.tags & t.STRONG)
        if rate is None:
            rate = Rate(kind, frame.module, node, strong)
            self.facts.rates[number] = rate
            self.growth += 1
        elif strong and not rate.strong:
            rate.strong = True
            self.growth += 1
        self.seen_rates.add(number)
        rate.operands.update(operands)
        rate.divisor.update(divisor)
        rate.steps = rate.steps or source.steps
        return frozenset({number})

    def label(self, rates: frozenset[int], text: str) -> None:
        """Note what the program calls a rate."""
        for number in rates:
            labels = self.facts.rates[number].labels
            if text and len(labels) < MAX_LABELS and text not in labels:
                labels.add(text[:200])
                self.growth += 1

    def publish(self, node: ast.AST, name: str, value: Value, frame: Frame) -> None:
        """Note a chunk count that is stored or sent under the name of tokens."""
        if not value.tags & t.COUNT or value.tags & t.TOKENS:
            return
        if claims_a_count(name):
            self._publish(node, name, value, frame)

    def charge(self, node: ast.AST, price: str, value: Value, frame: Frame) -> None:
        """Note a chunk count that a price per token is multiplied by."""
        self._publish(node, price, value, frame)

    def _publish(self, node: ast.AST, name: str, value: Value, frame: Frame) -> None:
        if node in self.facts.publications:
            return
        self.facts.publications[node] = Publication(
            frame.module, node, name, bool(value.tags & t.STRONG), value.steps
        )
