"""The same tokens at the same instants, cut into more or fewer chunks.

However a server cuts what it has into chunks, what a token metric says must not move;
what a chunk metric says may.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st
from model_streams import record

from otel_specdecode.model import RequestRecord, StreamTally, Totals


@dataclass(frozen=True, slots=True)
class Burst:
    """Tokens of one instant.

    Attributes:
        at: when they came, seconds.
        texts: for each token, whether it made text; special tokens make none.
    """

    at: float
    texts: tuple[bool, ...]


@st.composite
def bursts(draw: st.DrawFn) -> list[Burst]:
    gaps = draw(st.lists(st.integers(1, 500), min_size=1, max_size=8))
    at = 0.0
    made: list[Burst] = []
    for gap in gaps:
        at += gap / 1024
        texts = draw(st.lists(st.booleans(), min_size=1, max_size=5))
        made.append(Burst(at, tuple(texts)))
    return made


@st.composite
def cuts_of(draw: st.DrawFn, stream: list[Burst]) -> list[tuple[float, bool]]:
    """Chunks as (instant, has content): each burst whole, or in pieces."""
    chunks: list[tuple[float, bool]] = []
    for burst in stream:
        rest = list(burst.texts)
        while rest:
            size = draw(st.integers(1, len(rest)))
            chunks.append((burst.at, any(rest[:size])))
            del rest[:size]
    return chunks


@st.composite
def stream_cut_twice(
    draw: st.DrawFn,
) -> tuple[list[Burst], list[tuple[float, bool]], list[tuple[float, bool]]]:
    stream = draw(bursts())
    return stream, draw(cuts_of(stream)), draw(cuts_of(stream))


def observed(
    stream: list[Burst], chunks: list[tuple[float, bool]], *, counted: bool
) -> RequestRecord:
    tally = StreamTally()
    tally.add_role_chunk(stream[0].at)
    for at, has_content in chunks:
        if has_content:
            tally.add_content_chunk(at)
        else:
            tally.add_choice_chunk(at)
    return record(
        num_output_tokens=sum(len(burst.texts) for burst in stream),
        arrivals=tally.freeze(0.0),
        num_first_tokens=_num_first_tokens(stream) if counted else None,
    )


def _num_first_tokens(stream: list[Burst]) -> int | None:
    """Tokens that had come when the first text came."""
    tokens = 0
    for burst in stream:
        tokens += len(burst.texts)
        if any(burst.texts):
            return tokens
    return None


def token_metrics(answer: RequestRecord) -> dict[str, object]:
    totals = Totals.of([answer, answer])
    return {
        "T": answer.num_output_tokens,
        "TTFT": answer.ttft_s,
        "TTFC": answer.time_to_first_chunk_s,
        "TPOT": answer.tpot_s,
        "first chunk": answer.first_chunk,
        "output token rate": answer.output_token_rate,
        "steps": answer.decode_steps,
        "summed TPOT": totals.tpot_s,
        "summed rate": totals.output_token_rate,
    }


ONE_BURST = [Burst(0.5, (True, True, True))]
FINISH_LATER = [Burst(0.5, (True, True)), Burst(0.75, (False,))]


@given(stream_cut_twice(), st.booleans())
@example((ONE_BURST, [(0.5, True)], [(0.5, True)] * 3), False)
@example(
    (
        FINISH_LATER,
        [(0.5, True), (0.75, False)],
        [(0.5, True), (0.5, True), (0.75, False)],
    ),
    False,
)
def test_cutting_moves_no_token_metric(
    case: tuple[list[Burst], list[tuple[float, bool]], list[tuple[float, bool]]],
    counted: bool,
) -> None:
    stream, once, again = case
    first = observed(stream, once, counted=counted)
    second = observed(stream, again, counted=counted)
    assert token_metrics(first) == token_metrics(second)


def test_cutting_moves_the_chunk_metrics() -> None:
    stream = [Burst(0.25, (True, True)), Burst(0.5, (True, True))]
    whole = observed(stream, [(0.25, True), (0.5, True)], counted=False)
    pieces = observed(stream, [(0.25, True)] * 2 + [(0.5, True)] * 2, counted=False)
    assert (whole.undercount_factor, pieces.undercount_factor) == (2, 1)
    assert (whole.chunk_gap_mean_s, pieces.chunk_gap_mean_s) == (0.25, 0.25 / 3)
