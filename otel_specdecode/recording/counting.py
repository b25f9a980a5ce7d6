"""What one finished request adds to the counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.recording import semconv as names
from otel_specdecode.recording._sums import AttributeKey, AttributeValue, Cell, Sums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_specdecode.model import Acceptance, RequestRecord

_OVERFLOW_ATTRIBUTES: Mapping[str, AttributeValue] = {names.OVERFLOW: True}
_OURS_ALONE = frozenset({names.ENGINE, names.STREAMING})
_BEYOND_LIMIT = ((names.REASON, "position_beyond_limit"),)
RowKey = tuple[AttributeKey, str, str, str]


class Row:
    """The cells and attributes of requests that are alike, looked up once.

    Attributes:
        attributes: those of every metric of ours.
        standard: those of the GenAI metrics, without what only we have a name for.
        tokens: the same for input and for output tokens.
    """

    __slots__ = (
        "_ended",
        "_key",
        "_positions",
        "_state",
        "_sums",
        "attributes",
        "standard",
        "tokens",
    )

    def __init__(self, sums: Sums, row_key: RowKey, *, overflow: bool) -> None:
        self._key, outcome, usage, acceptance = row_key
        self._sums = sums
        self._state: dict[str, Cell] = {}
        self._positions: list[Cell] = []
        own = _OVERFLOW_ATTRIBUTES if overflow else dict(self._key)
        self.attributes = own
        self.standard = {k: v for k, v in own.items() if k not in _OURS_ALONE}
        self.tokens = {
            kind: {**self.standard, names.TOKEN_TYPE: kind}
            for kind in (names.INPUT, names.OUTPUT)
        }
        self._ended = (
            (names.OUTCOME, outcome),
            (names.USAGE, usage),
            (names.ACCEPTANCE, acceptance),
        )

    def count(self, record: RequestRecord) -> None:
        """Add one request."""
        with self._sums.lock:
            self._add(names.REQUESTS, 1, self._ended)
            tokens = record.num_output_tokens
            if tokens is not None:
                state = self._ended[2:]
                self._add(names.OUTPUT_TOKEN_COUNT, tokens, state)
                chunks = record.num_content_chunks
                if chunks is not None:
                    self._add(names.CONTENT_CHUNKS, chunks, state)
            if record.acceptance is not None:
                self._count_acceptance(record.acceptance)

    def _count_acceptance(self, acceptance: Acceptance) -> None:
        self._add(names.SPEC_STEPS, acceptance.num_spec_steps)
        self._add(names.DRAFT_TOKENS, acceptance.num_draft_tokens)
        self._add(names.ACCEPTED_TOKENS, acceptance.num_accepted_draft_tokens)
        positions = acceptance.accepted_by_position or ()
        limit = names.MAX_HISTOGRAM_ENTRIES
        for position, steps in enumerate(positions[:limit]):
            self._position(position).value += steps
        if any(positions[limit:]):
            dropped = self._sums.cell(names.TELEMETRY_DROPPED.name, _BEYOND_LIMIT)
            dropped.value += sum(positions[limit:])

    def _add(self, metric: names.Metric, value: int, more: AttributeKey = ()) -> None:
        cell = self._state.get(metric.name)
        if cell is None:
            cell = self._sums.cell(metric.name, self._key + more)
            self._state[metric.name] = cell
        cell.value += value

    def _position(self, position: int) -> Cell:
        while len(self._positions) <= position:
            own = (names.POSITION, len(self._positions))
            name = names.ACCEPTED_BY_POSITION.name
            self._positions.append(self._sums.cell(name, (*self._key, own)))
        return self._positions[position]


class Rows:
    """Every row of one recorder."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._rows: dict[RowKey, Row] = {}
        self._known: set[AttributeKey] = set()

    def of(self, record: RequestRecord, key: AttributeKey) -> Row:
        """Return the row that a request belongs to.

        Args:
            record: what was measured.
            key: the attributes of its metrics.
        """
        row_key = (
            key,
            record.outcome.value,
            record.usage_origin.value,
            record.acceptance_state.value,
        )
        row = self._rows.get(row_key)
        return self._make(row_key) if row is None else row

    def restart(self) -> None:
        """Forget the rows, whose cells are the parent's."""
        self._rows = {}
        self._known = set()

    def _make(self, row_key: RowKey) -> Row:
        key = row_key[0]
        overflow = key not in self._known and (
            len(self._known) >= names.MAX_ATTRIBUTE_SETS - 1
        )
        row = Row(self._sums, row_key, overflow=overflow)
        if not overflow:
            self._known.add(key)
            self._rows[row_key] = row
        return row
