"""The same counts from what the client's side recorded: records, metrics and spans."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from server_counters import Counts

from otel_specdecode.model import Totals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otlp_receiver import ReceivedSpan, Receiver

    from otel_specdecode import RequestRecord

# Names as docs/metrics.md promises them, written out: a renamed signal fails here.
_METRIC = "specdecode.client."
_SPAN = "specdecode."


def recorded(records: Iterable[RequestRecord]) -> Counts:
    """Sum records; ``None`` where no record says anything."""
    totals = Totals.of(records)
    acceptance = totals.acceptance
    if acceptance is None:
        return Counts(output_tokens=totals.num_output_tokens)
    return Counts(
        output_tokens=totals.num_output_tokens,
        spec_steps=acceptance.num_spec_steps,
        draft_tokens=acceptance.num_draft_tokens,
        accepted_tokens=acceptance.num_accepted_draft_tokens,
        by_position=acceptance.accepted_by_position,
    )


def in_metrics(receiver: Receiver, service: str) -> Counts:
    """Sum the last value of every series that ``service`` exported."""

    def total(name: str) -> int | None:
        values = [p.value for p in _points(receiver, service, name)]
        return int(sum(value or 0 for value in values)) if values else None

    positions: Counter[int] = Counter()
    for point in _points(receiver, service, "accepted_tokens_by_position"):
        position = int(point.attributes["specdecode.position"])
        positions[position] += int(point.value or 0)
    return Counts(
        output_tokens=total("output_tokens"),
        spec_steps=total("spec_steps"),
        draft_tokens=total("draft_tokens"),
        accepted_tokens=total("accepted_tokens"),
        by_position=tuple(positions[i] for i in sorted(positions)) or None,
    )


def in_spans(spans: list[ReceivedSpan]) -> Counts:
    """Sum the attributes of the client's spans."""

    def total(name: str) -> int | None:
        values = [s.attributes[name] for s in spans if name in s.attributes]
        return sum(values) if values else None

    histograms = [
        s.attributes[_SPAN + "acceptance_histogram"]
        for s in spans
        if _SPAN + "acceptance_histogram" in s.attributes
    ]
    steps = [sum(column) for column in zip_longest(*histograms, fillvalue=0)]
    return Counts(
        output_tokens=total("gen_ai.usage.output_tokens"),
        spec_steps=total(_SPAN + "num_spec_steps"),
        draft_tokens=total(_SPAN + "num_draft_tokens"),
        accepted_tokens=total(_SPAN + "num_accepted_draft_tokens"),
        by_position=tuple(sum(steps[i:]) for i in range(1, len(steps))) or None,
    )


def _points(receiver: Receiver, service: str, name: str) -> list[Any]:
    return [
        point
        for point in receiver.latest(_METRIC + name)
        if point.resource["service.name"] == service
    ]
