"""Several requests together: sums first, ratios of the sums afterwards."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from otel_specdecode.model.acceptance import Acceptance
from otel_specdecode.model.gaps import ChunkGaps
from otel_specdecode.model.kinds import AcceptanceState, FirstChunk, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_specdecode.model.record import RequestRecord

_Summand = TypeVar("_Summand", int, float, Acceptance, ChunkGaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over any number of requests. Adding is associative.

    What is missing is counted as missing and never summed as zero.

    Attributes:
        num_requests: requests that ended, whatever the outcome.
        num_completed: those that ended `completed`.
        num_failed: those that ended `error`.
        num_without_usage: those whose T is unknown.
        num_without_acceptance: those whose acceptance is absent or malformed;
            where it does not apply it is not missing.
        num_output_tokens: T, where known.
        num_stream_tokens: T of the streams that were observed, where known.
        num_content_chunks: content chunks of the same streams.
        num_timed_tokens: T of the requests whose time of generation is known too.
        generation_s: seconds of generation of the same requests.
        decode_s: numerator of TPOT, seconds.
        num_decode_tokens: denominator of TPOT, tokens.
        num_first_assumed: requests in it whose first chunk was assumed to carry
            one token.
        acceptance: summed counts; `None` when no request gave any.
        gaps: merged gaps between content chunks; `None` without a stream.
    """

    num_requests: int = 0
    num_completed: int = 0
    num_failed: int = 0
    num_without_usage: int = 0
    num_without_acceptance: int = 0
    num_output_tokens: int = 0
    num_stream_tokens: int = 0
    num_content_chunks: int = 0
    num_timed_tokens: int = 0
    generation_s: float = 0.0
    decode_s: float = 0.0
    num_decode_tokens: int = 0
    num_first_assumed: int = 0
    acceptance: Acceptance | None = None
    gaps: ChunkGaps | None = None

    @classmethod
    def of(cls, records: Iterable[RequestRecord]) -> Totals:
        """Sum finished requests."""
        total = cls()
        for record in records:
            total = total + _of_one(record)
        return total

    @property
    def draft_acceptance_rate(self) -> float | None:
        """Sum of C over sum of D; `None` when nothing was drafted."""
        return (
            None if self.acceptance is None else self.acceptance.draft_acceptance_rate
        )

    @property
    def mean_acceptance_length(self) -> float | None:
        """1 + sum of C over sum of R; `None` when no step speculated."""
        if self.acceptance is None:
            return None
        return self.acceptance.mean_acceptance_length

    @property
    def tpot_s(self) -> float | None:
        """Sum of decode times over sum of decoded tokens, seconds a token."""
        return (
            self.decode_s / self.num_decode_tokens if self.num_decode_tokens else None
        )

    @property
    def first_chunk(self) -> FirstChunk | None:
        """`counted` when TPOT assumes nothing; `None` where there is no TPOT."""
        if not self.num_decode_tokens:
            return None
        return FirstChunk.ASSUMED if self.num_first_assumed else FirstChunk.COUNTED

    @property
    def output_token_rate(self) -> float | None:
        """Tokens over seconds of generation, summed over requests, tokens a second.

        What one request gets on average, not the throughput of the server. `None`
        when no request has both its T and its time.
        """
        return self.num_timed_tokens / self.generation_s if self.generation_s else None

    @property
    def undercount_factor(self) -> float | None:
        """T over content chunks of the streams whose T is known."""
        if not self.num_content_chunks:
            return None
        return self.num_stream_tokens / self.num_content_chunks

    def __add__(self, other: Totals) -> Totals:
        """Add the sums of two sets of requests."""
        sums: dict[str, Any] = {
            field.name: _add(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
        }
        return Totals(**sums)


def _add(left: _Summand | None, right: _Summand | None) -> _Summand | None:
    if left is None:
        return right
    return left if right is None else left + right


def _of_one(record: RequestRecord) -> Totals:
    tokens = record.num_output_tokens
    observed = record.arrivals is not None and tokens is not None
    span = record.decode_span
    timed = tokens is not None and record.generation_s is not None
    missing = record.acceptance_state in {
        AcceptanceState.ABSENT,
        AcceptanceState.MALFORMED,
    }
    return Totals(
        num_requests=1,
        num_completed=int(record.outcome is Outcome.COMPLETED),
        num_failed=int(record.outcome is Outcome.ERROR),
        num_without_usage=int(tokens is None),
        num_without_acceptance=int(missing),
        num_output_tokens=tokens or 0,
        num_stream_tokens=(tokens or 0) if observed else 0,
        num_content_chunks=(record.num_content_chunks or 0) if observed else 0,
        num_timed_tokens=(tokens or 0) if timed else 0,
        generation_s=(record.generation_s or 0.0) if timed else 0.0,
        decode_s=0.0 if span is None else span.elapsed_s,
        num_decode_tokens=0 if span is None else span.num_tokens,
        num_first_assumed=int(record.first_chunk is FirstChunk.ASSUMED),
        acceptance=record.acceptance,
        gaps=None if record.arrivals is None else record.arrivals.gaps,
    )
