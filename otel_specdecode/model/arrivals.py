"""When the chunks of one stream arrived, on the client's clock."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.model.gaps import GAP_BOUNDS_S, ChunkGaps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """What a clock beside the client saw of one stream.

    Instants are seconds since the request was sent; `None` means that it never
    happened.

    Attributes:
        num_chunks: chunks of any kind, hidden ones included.
        num_choice_chunks: chunks with a choice, the role chunk left out. On vLLM
            these are engine steps unless something merged or split them.
        num_content_chunks: chunks that carried what the model generated: text,
            reasoning, a tool call, a refusal, sound or an image.
        first_choice_s: first chunk with a choice, the role chunk included.
        first_content_s: first content chunk.
        last_content_s: last content chunk.
        last_choice_s: last chunk with a choice.
        last_chunk_s: last chunk of any kind.
        gaps: gaps between content chunks.
        consumer_s: time that the application spent between two reads, seconds;
            `None` where it was not measured.

    Raises:
        ValueError: more content chunks than chunks with a choice, or more of these
            than chunks.
    """

    num_chunks: int = 0
    num_choice_chunks: int = 0
    num_content_chunks: int = 0
    first_choice_s: float | None = None
    first_content_s: float | None = None
    last_content_s: float | None = None
    last_choice_s: float | None = None
    last_chunk_s: float | None = None
    gaps: ChunkGaps
    consumer_s: float | None = None

    def __post_init__(self) -> None:
        if not self.num_content_chunks <= self.num_choice_chunks <= self.num_chunks:
            raise ValueError(
                f"num_chunks: expected content chunks <= choice chunks <= chunks, got"
                f" {self.num_content_chunks}, {self.num_choice_chunks} and"
                f" {self.num_chunks}"
            )


class StreamTally:
    """Counts the chunks of one stream while they arrive.

    Readings (`at`) are seconds of any one monotonic clock; `freeze` turns them into
    offsets from the request. Each kind of chunk is
    counted apart, so that a content chunk, the usual kind, touches the fewest fields.

    Attributes:
        num_content_chunks: chunks that carried generated content.
        num_empty_chunks: chunks with a choice that carried none; steps all the same.
        consumer_s: time that the application spent between two reads, seconds.
    """

    __slots__ = (
        "_first_content_at",
        "_first_other_choice_at",
        "_gap_counts",
        "_gap_max",
        "_last_content_at",
        "_last_other_at",
        "_last_other_choice_at",
        "_num_other_chunks",
        "_num_role_chunks",
        "consumer_s",
        "num_content_chunks",
        "num_empty_chunks",
    )

    def __init__(self) -> None:
        self.num_content_chunks = 0
        self.num_empty_chunks = 0
        self.consumer_s = 0.0
        self._num_role_chunks = 0
        self._num_other_chunks = 0
        self._first_content_at: float | None = None
        self._last_content_at: float | None = None
        self._first_other_choice_at: float | None = None
        self._last_other_choice_at: float | None = None
        self._last_other_at: float | None = None
        self._gap_counts = [0] * (len(GAP_BOUNDS_S) + 1)
        self._gap_max = 0.0

    def add_chunk(self, at: float) -> None:
        """Note a chunk without a choice."""
        self._num_other_chunks += 1
        self._last_other_at = at

    def add_role_chunk(self, at: float) -> None:
        """Note a chunk that only says who speaks; it is no engine step."""
        self._num_role_chunks += 1
        self._add_choice(at)

    def add_choice_chunk(self, at: float) -> None:
        """Note a chunk with a choice that carries no content: a step all the same."""
        self.num_empty_chunks += 1
        self._add_choice(at)

    def add_content_chunk(self, at: float) -> None:
        """Note a chunk that carries generated content."""
        self.num_content_chunks += 1
        before = self._last_content_at
        self._last_content_at = at
        if before is None:
            self._first_content_at = at
            return
        gap = at - before
        if gap > self._gap_max:
            self._gap_max = gap
        self._gap_counts[bisect_left(GAP_BOUNDS_S, gap)] += 1

    def freeze(self, requested_at: float) -> Arrivals:
        """Turn the readings into offsets from `requested_at`, a reading as well."""

        def since(
            pick: Callable[[Iterable[float]], float], *at: float | None
        ) -> float | None:
            known = [reading for reading in at if reading is not None]
            return pick(known) - requested_at if known else None

        first, last = self._first_content_at, self._last_content_at
        other_choice = self._last_other_choice_at
        num_choice_chunks = self.num_content_chunks + self.num_empty_chunks
        return Arrivals(
            num_chunks=num_choice_chunks
            + self._num_role_chunks
            + self._num_other_chunks,
            num_choice_chunks=num_choice_chunks,
            num_content_chunks=self.num_content_chunks,
            first_choice_s=since(min, first, self._first_other_choice_at),
            first_content_s=since(min, first),
            last_content_s=since(max, last),
            last_choice_s=since(max, last, other_choice),
            last_chunk_s=since(max, last, other_choice, self._last_other_at),
            gaps=ChunkGaps(
                counts=tuple(self._gap_counts),
                sum_s=0.0 if first is None or last is None else last - first,
                max_s=self._gap_max if self.num_content_chunks > 1 else None,
            ),
            consumer_s=self.consumer_s,
        )

    def _add_choice(self, at: float) -> None:
        self._last_other_choice_at = at
        if self._first_other_choice_at is None:
            self._first_other_choice_at = at
