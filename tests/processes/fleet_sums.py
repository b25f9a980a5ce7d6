"""What arrived at a collector, and what the simulator knows, as sums that compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otlp_receiver import Receiver

    from otel_specdecode.simulator import Totals

CLIENT = "specdecode.client."


def received(receiver: Receiver) -> dict[str, object]:
    """Sums over all processes, by way of the metrics and by way of the spans."""
    by_position: dict[int, float] = {}
    for point in receiver.latest(f"{CLIENT}accepted_tokens_by_position"):
        at = point.attributes["specdecode.position"]
        by_position[at] = by_position.get(at, 0) + (point.value or 0)
    return {
        "requests": _total(receiver, "requests"),
        "T": _total(receiver, "output_tokens"),
        "R": _total(receiver, "spec_steps"),
        "D": _total(receiver, "draft_tokens"),
        "C": _total(receiver, "accepted_tokens"),
        "by position": tuple(by_position[at] for at in sorted(by_position)),
        "content chunks": _total(receiver, "content_chunks"),
        "durations": _count(receiver, "gen_ai.client.operation.duration"),
        "acceptance rates": _count(receiver, f"{CLIENT}draft_acceptance_rate"),
        "spans": len(receiver.spans),
        "T of spans": _of_spans(receiver, "gen_ai.usage.output_tokens"),
        "D of spans": _of_spans(receiver, "specdecode.num_draft_tokens"),
    }


def known(totals: Totals) -> dict[str, object]:
    """The same sums, as the simulator has them; every request came to its end."""
    return {
        "requests": totals.num_finished,
        "T": totals.num_output_tokens,
        "R": totals.num_spec_steps,
        "D": totals.num_draft_tokens,
        "C": totals.num_accepted_draft_tokens,
        "by position": totals.accepted_by_position,
        "content chunks": totals.num_content_chunks,
        "durations": totals.num_finished,
        "acceptance rates": totals.num_finished,
        "spans": totals.num_finished,
        "T of spans": totals.num_output_tokens,
        "D of spans": totals.num_draft_tokens,
    }


def instances(receiver: Receiver) -> dict[str, set[str]]:
    """`service.instance.id`s by the process id that requests were tagged with."""
    seen: dict[str, set[str]] = {}
    everything: Iterable[object] = (
        *receiver.latest(f"{CLIENT}requests"),
        *receiver.latest("gen_ai.client.operation.duration"),
        *receiver.spans,
    )
    for one in everything:
        pid = one.attributes["specdecode.tag.pid"]
        seen.setdefault(pid, set()).add(one.resource["service.instance.id"])
    return seen


def _total(receiver: Receiver, counter: str) -> float:
    return sum(point.value or 0 for point in receiver.latest(CLIENT + counter))


def _count(receiver: Receiver, histogram: str) -> int:
    return sum(point.count or 0 for point in receiver.latest(histogram))


def _of_spans(receiver: Receiver, attribute: str) -> int:
    return sum(span.attributes.get(attribute, 0) for span in receiver.spans)
