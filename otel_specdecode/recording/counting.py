"""What one finished request adds to the counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.recording import semconv as names
from otel_specdecode.recording.attributes import metric_key, shared_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_specdecode.model import Acceptance, RequestRecord
    from otel_specdecode.recording._sums import AttributeKey, AttributeValue, Cell, Sums

_OVERFLOW_ATTRIBUTES: Mapping[str, AttributeValue] = {names.OVERFLOW: True}
_OURS_ALONE = frozenset({names.ENGINE, names.STREAMING})
_BEYOND_LIMIT = ((names.REASON, "position_beyond_limit"),)
RowKey = tuple[object, ...]


class Row:
    """The cells and attributes of requests that are alike, looked up once.

    Attributes:
        attributes: those of every metric of ours.
        standard: those of the GenAI metrics, without what only we have a name for.
        input_tokens: the same, for input tokens.
        output_tokens: the same, for output tokens.
        span: those of the requests' spans that are alike as well.
    """

    __slots__ = (
        "_acceptance",
        "_chunks",
        "_ended",
        "_key",
        "_positions",
        "_requests",
        "_speculated",
        "_sums",
        "_tokens",
        "attributes",
        "input_tokens",
        "output_tokens",
        "span",
        "standard",
    )

    def __init__(
        self, sums: Sums, key: AttributeKey, record: RequestRecord, *, overflow: bool
    ) -> None:
        self._key = key
        self._sums = sums
        # Found when first added to: a sum that is there is exported.
        self._requests: Cell | None = None
        self._tokens: Cell | None = None
        self._chunks: Cell | None = None
        self._speculated: tuple[Cell, Cell, Cell] | None = None
        self._positions: list[Cell] = []
        own = _OVERFLOW_ATTRIBUTES if overflow else dict(self._key)
        self.attributes = own
        self.standard = {k: v for k, v in own.items() if k not in _OURS_ALONE}
        self.input_tokens = {**self.standard, names.TOKEN_TYPE: names.INPUT}
        self.output_tokens = {**self.standard, names.TOKEN_TYPE: names.OUTPUT}
        self.span = shared_attributes(record)
        self._acceptance = ((names.ACCEPTANCE, record.acceptance_state.value),)
        self._ended = (
            (names.OUTCOME, record.outcome.value),
            (names.USAGE, record.usage_origin.value),
            *self._acceptance,
        )

    def count(self, record: RequestRecord) -> None:
        """Add one request."""
        with self._sums.lock:
            if self._requests is None:
                self._requests = self._find(names.REQUESTS, self._ended)
            self._requests.value += 1
            tokens = record.num_output_tokens
            if tokens is not None:
                self._count_tokens(tokens, record.num_content_chunks)
            if record.acceptance is not None:
                self._count_acceptance(record.acceptance)

    def _count_tokens(self, num_tokens: int, num_content_chunks: int | None) -> None:
        if self._tokens is None:
            self._tokens = self._find(names.OUTPUT_TOKEN_COUNT, self._acceptance)
        self._tokens.value += num_tokens
        if num_content_chunks is not None:
            if self._chunks is None:
                self._chunks = self._find(names.CONTENT_CHUNKS, self._acceptance)
            self._chunks.value += num_content_chunks

    def _count_acceptance(self, acceptance: Acceptance) -> None:
        steps, drafts, accepted = self._speculated or self._find_speculated()
        steps.value += acceptance.num_spec_steps
        drafts.value += acceptance.num_draft_tokens
        accepted.value += acceptance.num_accepted_draft_tokens
        positions = acceptance.accepted_by_position
        if not positions:
            return
        if len(positions) > len(self._positions):
            self._find_positions(positions)
        for cell, accepting in zip(self._positions, positions, strict=False):
            cell.value += accepting

    def _find(self, metric: names.Metric, more: AttributeKey = ()) -> Cell:
        return self._sums.cell(metric.name, self._key + more)

    def _find_speculated(self) -> tuple[Cell, Cell, Cell]:
        self._speculated = (
            self._find(names.SPEC_STEPS),
            self._find(names.DRAFT_TOKENS),
            self._find(names.ACCEPTED_TOKENS),
        )
        return self._speculated

    def _find_positions(self, positions: Sequence[int]) -> None:
        """Find what is missing, and count what no position is left for."""
        most = names.MAX_HISTOGRAM_ENTRIES
        for position in range(len(self._positions), min(len(positions), most)):
            key = ((names.POSITION, position),)
            self._positions.append(self._find(names.ACCEPTED_BY_POSITION, key))
        beyond = sum(positions[most:])
        if beyond:
            dropped = self._sums.cell(names.TELEMETRY_DROPPED.name, _BEYOND_LIMIT)
            dropped.value += beyond


class Rows:
    """Every row of one recorder."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._rows: dict[RowKey, Row] = {}
        self._known: set[AttributeKey] = set()

    def of(self, record: RequestRecord) -> Row:
        """Return the row that a request belongs to."""
        row_key = _row_key(record)
        row = self._rows.get(row_key)
        return self._make(row_key, record) if row is None else row

    def restart(self) -> None:
        """Forget the rows, whose cells are the parent's."""
        self._rows = {}
        self._known = set()

    def _make(self, row_key: RowKey, record: RequestRecord) -> Row:
        key = metric_key(record)
        overflow = key not in self._known and (
            len(self._known) >= names.MAX_ATTRIBUTE_SETS - 1
        )
        row = Row(self._sums, key, record, overflow=overflow)
        if not overflow:
            self._known.add(key)
            self._rows[row_key] = row
        return row


def _row_key(record: RequestRecord) -> RowKey:
    """Return what tells rows apart, without making attributes of it."""
    return (
        record.operation,
        record.provider,
        record.request_model,
        record.response_model,
        record.server_address,
        record.server_port,
        record.engine,
        record.streaming,
        record.error_type,
        record.outcome,
        record.usage_origin,
        record.acceptance_state,
        tuple(sorted(record.tags.items())) if record.tags else None,
    )
