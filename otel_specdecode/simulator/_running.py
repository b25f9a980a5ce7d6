"""A request's place in the batch and in the books, from its start to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.simulator._latency_histograms import EngineTimes
from otel_specdecode.simulator.ledger import Entry, Ledger

if TYPE_CHECKING:
    from otel_specdecode.simulator._answer import Answer
    from otel_specdecode.simulator._engine import EngineState
    from otel_specdecode.simulator._exposition import Exposition


class Running:
    """A request's place in its engine's batch and in the ledger, until it ends."""

    def __init__(
        self,
        answer: Answer,
        engine: EngineState,
        ledger: Ledger,
        exposition: Exposition,
    ) -> None:
        self._answer = answer
        self._exposition = exposition
        self._engine = engine
        self._ledger = ledger
        self._ended = False
        engine.num_active += len(answer.choices)
        ledger.open(answer.tally)

    def end(self) -> None:
        """Leave both, once: when all is generated, or when the client left."""
        if self._ended:
            return
        self._ended = True
        answer = self._answer
        self._engine.num_active -= len(answer.choices)
        left = [choice for choice in answer.choices if not choice.finished]
        answer.tally.finish_reasons += ["abort"] * len(left)
        finished = not left
        answer.tally.num_finished = int(finished)
        self._ledger.close(answer.tally, _entry(answer, finished=finished))
        if finished:
            times = EngineTimes(
                prefill_s=answer.first_token_at_s,
                decode_s=answer.last_token_at_s - answer.first_token_at_s,
                num_tokens=answer.tally.num_output_tokens // len(answer.choices),
                num_steps=answer.tally.num_decode_steps // len(answer.choices),
            )
            self._exposition.observe(answer.tally.engine, times)


def _entry(answer: Answer, *, finished: bool) -> Entry:
    tally = answer.tally
    return Entry(
        response_id=answer.response_id,
        endpoint=answer.request.endpoint.value,
        engine=tally.engine,
        num_choices=len(answer.choices),
        finished=finished,
        totals=tally.freeze(),
        cut_tokens=sum(choice.num_cut for choice in answer.choices),
        acceptance_histogram=tuple(tally.histogram)
        if answer.num_spec_tokens is not None
        else None,
    )
