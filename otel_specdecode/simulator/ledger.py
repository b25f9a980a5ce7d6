"""The simulator's own exact account of what it generated.

Sums only, one row an engine, kept while the engine steps: so a request that was
cut off counts what was generated for it, as a real server's counters do. Tests
compare these sums with what a client recorded.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over requests; they add, and subtract for windows.

    Attributes:
        num_requests: requests that were started.
        num_finished: those that reached their end.
        num_prompt_tokens: prompt tokens.
        num_output_tokens: T, tokens delivered, summed.
        num_decode_steps: decode steps, the prefill's not among them.
        num_spec_steps: R.
        num_draft_tokens: D.
        num_accepted_draft_tokens: C, those of a cut-off last step included.
        accepted_by_position: steps that accepted at least `i + 1` drafts.
        num_choice_chunks: stream chunks with a choice, the role chunk included.
        num_content_chunks: those of them that carry text, reasoning or a call.
    """

    num_requests: int = 0
    num_finished: int = 0
    num_prompt_tokens: int = 0
    num_output_tokens: int = 0
    num_decode_steps: int = 0
    num_spec_steps: int = 0
    num_draft_tokens: int = 0
    num_accepted_draft_tokens: int = 0
    accepted_by_position: tuple[int, ...] = ()
    num_choice_chunks: int = 0
    num_content_chunks: int = 0

    def __add__(self, other: Totals) -> Totals:
        return self._combined(other, sign=1)

    def __sub__(self, other: Totals) -> Totals:
        return self._combined(other, sign=-1)

    def _combined(self, other: Totals, *, sign: int) -> Totals:
        length = max(len(self.accepted_by_position), len(other.accepted_by_position))
        sums = {
            name: getattr(self, name) + sign * getattr(other, name) for name in _SCALARS
        }
        mine, theirs = (
            row.accepted_by_position + (0,) * (length - len(row.accepted_by_position))
            for row in (self, other)
        )
        positions = tuple(a + sign * b for a, b in zip(mine, theirs, strict=True))
        return Totals(**sums, accepted_by_position=positions)


_SCALARS = tuple(
    each.name for each in fields(Totals) if each.name != "accepted_by_position"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The truth about one request, of which a client has seen some part.

    Attributes:
        response_id: the `id` on the wire.
        endpoint: path that was called.
        engine: index of the engine.
        num_choices: sequences that it generated (n times prompts).
        finished: whether it reached its end.
        totals: its sums; `num_requests` is 1.
        cut_tokens: W, tokens of last steps that were generated and cut off.
        acceptance_histogram: steps by number of accepted drafts, all choices
            together; `None` on a server that does not speculate.
    """

    response_id: str
    endpoint: str
    engine: int
    num_choices: int
    finished: bool
    totals: Totals
    cut_tokens: int
    acceptance_histogram: tuple[int, ...] | None


@dataclass(slots=True, eq=False, kw_only=True)
class Tally:
    """The running sums of one request. Only the simulator writes."""

    engine: int
    histogram: list[int]
    num_requests: int = 1
    num_finished: int = 0
    num_prompt_tokens: int = 0
    num_output_tokens: int = 0
    num_decode_steps: int = 0
    num_spec_steps: int = 0
    num_draft_tokens: int = 0
    num_accepted_draft_tokens: int = 0
    num_choice_chunks: int = 0
    num_content_chunks: int = 0
    finish_reasons: list[str] = field(default_factory=list[str])

    def observe_step(self, num_drafted: int, num_accepted: int) -> None:
        """Count one decode step; one that drafted nothing is no spec step."""
        self.num_decode_steps += 1
        if num_drafted:
            self.num_spec_steps += 1
            self.num_draft_tokens += num_drafted
            self.num_accepted_draft_tokens += num_accepted
            self.histogram[num_accepted] += 1

    def freeze(self) -> Totals:
        """The sums as a value."""
        return Totals(
            **{name: getattr(self, name) for name in _SCALARS},
            accepted_by_position=_by_position(self.histogram),
        )


def _by_position(histogram: Sequence[int]) -> tuple[int, ...]:
    """Turn steps by accepted drafts into steps that accepted at least i + 1."""
    return tuple(sum(histogram[at:]) for at in range(1, len(histogram)))


class Ledger:
    """The account of one simulated server.

    Attributes:
        model: the served model name.
        num_engines: engines, each with a row of its own.
    """

    def __init__(self, model: str, num_engines: int) -> None:
        self.model = model
        self.num_engines = num_engines
        self._ended = [Totals()] * num_engines
        self._reasons: list[Counter[str]] = [Counter() for _ in range(num_engines)]
        self._running: set[Tally] = set()
        self._entries: deque[Entry] = deque(maxlen=10_000)
        # A request moves from the running to the ended ones in one thread while
        # another reads: it must be seen in exactly one of them.
        self._lock = threading.Lock()

    @property
    def engines(self) -> tuple[Totals, ...]:
        """Sums by engine, since the server was made; a reset does not clear them."""
        with self._lock:
            rows = list(self._ended)
            for tally in tuple(self._running):
                rows[tally.engine] += tally.freeze()
        return tuple(rows)

    @property
    def finish_reasons(self) -> tuple[Mapping[str, int], ...]:
        """Sequences that ended, by engine and reason."""
        with self._lock:
            return tuple(Counter(reasons) for reasons in self._reasons)

    @property
    def totals(self) -> Totals:
        """Sums over all engines."""
        return sum(self.engines, Totals())

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The last 10,000 requests that ended, in the order in which they did."""
        return tuple(self._entries)

    def entry(self, response_id: str) -> Entry:
        """Return the truth about the response with this `id`.

        Raises:
            KeyError: no ended request has it.
        """
        for entry in reversed(self._entries):
            if entry.response_id == response_id:
                return entry
        raise KeyError(response_id)

    def open(self, tally: Tally) -> None:
        """Add a request that begins. Only the simulator calls this."""
        with self._lock:
            self._running.add(tally)

    def close(self, tally: Tally, entry: Entry) -> None:
        """Move a request to those that ended. Only the simulator calls this."""
        with self._lock:
            self._running.discard(tally)
            self._ended[tally.engine] += entry.totals
            self._reasons[tally.engine].update(tally.finish_reasons)
            self._entries.append(entry)
