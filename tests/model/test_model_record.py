"""A finished request: what is known of it, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from model_streams import arrivals_at, record

from otel_specdecode.model import (
    Acceptance,
    AcceptanceState,
    Arrivals,
    Bounds,
    Chunking,
    Outcome,
    RequestRecord,
    ServerTiming,
    StreamTally,
    Usage,
    UsageOrigin,
)

ACCEPTANCE = Acceptance(
    num_spec_steps=2,
    num_draft_tokens=4,
    num_accepted_draft_tokens=4,
    histogram=(0, 0, 2),
    num_spec_tokens=2,
)
STREAM = record(
    num_output_tokens=7,
    acceptance=ACCEPTANCE,
    arrivals=arrivals_at([1.0, 1.5, 2.0]),
    engine="vllm",
    server_timing=ServerTiming(queue_s=0.0, prefill_s=0.5, decode_s=0.5),
)
PLAIN = record(num_output_tokens=7, acceptance=ACCEPTANCE, duration_s=2.0)
NOTHING = record()


def test_a_stream_knows_all_of_its_numbers() -> None:
    assert STREAM.num_output_tokens == 7
    assert STREAM.time_to_first_chunk_s == 1.0
    assert STREAM.ttft_s == 1.0
    assert STREAM.tpot_s == 1.0 / 6
    assert STREAM.generation_s == 2.0
    assert STREAM.output_token_rate == 3.5
    assert STREAM.num_content_chunks == 3
    assert STREAM.undercount_factor == 7 / 3
    assert STREAM.chunk_gap_mean_s == 0.5
    assert STREAM.chunk_gap_max_s == 0.5
    assert STREAM.decode_steps == Bounds(low=2, high=4)
    assert STREAM.tokens_per_step == Bounds(low=1.5, high=3.0)
    assert STREAM.step_coverage == Bounds(low=0.5, high=1.0)
    assert STREAM.chunking is Chunking.SPECULATION


def test_each_number_names_its_source() -> None:
    assert STREAM.sources == {
        "num_output_tokens": "usage",
        "acceptance": "vllm response",
        "ttft_s": "client clock",
        "tpot_s": "client clock, usage, first chunk assumed",
        "chunk_gap_mean_s": "client clock",
        "server_timing": "vllm response",
    }
    assert set(NOTHING.sources.values()) == {None}


def test_a_response_that_is_no_stream_has_a_rate_and_no_arrivals() -> None:
    assert PLAIN.output_token_rate == 3.5
    assert PLAIN.tokens_per_step == Bounds(low=1.5, high=3.0)
    unknown = (
        PLAIN.ttft_s,
        PLAIN.time_to_first_chunk_s,
        PLAIN.tpot_s,
        PLAIN.first_chunk,
        PLAIN.num_content_chunks,
        PLAIN.undercount_factor,
        PLAIN.chunk_gap_mean_s,
        PLAIN.chunk_gap_max_s,
        PLAIN.consumer_share,
    )
    assert set(unknown) == {None}
    assert PLAIN.chunking is Chunking.UNKNOWN


def test_without_usage_and_acceptance_nothing_is_invented() -> None:
    unknown = (
        NOTHING.num_output_tokens,
        NOTHING.output_token_rate,
        NOTHING.decode_steps,
        NOTHING.tokens_per_step,
        NOTHING.step_coverage,
        NOTHING.undercount_factor,
    )
    assert set(unknown) == {None}
    without_tokens = replace(STREAM, usage=None, usage_origin=UsageOrigin.ABSENT)
    assert without_tokens.undercount_factor is None
    assert without_tokens.tokens_per_step is None
    assert without_tokens.tpot_s is None


@pytest.mark.parametrize(
    "change",
    [
        {"acceptance": None, "acceptance_state": AcceptanceState.ABSENT},
        {"arrivals": None, "streaming": False},
        {"usage": None},
        {"usage": Usage(input_tokens=3)},
        {"outcome": Outcome.ABANDONED},
        {"swallows_steps": True},
        {"single_choice": False},
    ],
)
def test_chunking_is_unknown_where_steps_may_hide(change: dict[str, Any]) -> None:
    assert replace(STREAM, **change).chunking is Chunking.UNKNOWN


def test_several_choices_have_no_tpot() -> None:
    several = replace(STREAM, single_choice=False)
    assert several.decode_span is None
    assert several.tpot_s is None


def test_where_only_the_answer_was_seen_no_time_since_the_request_is_known() -> None:
    late = replace(STREAM, request_seen=False)
    assert late.ttft_s is None
    assert late.time_to_first_chunk_s is None
    assert late.generation_s is None
    assert late.output_token_rate is None
    assert late.tpot_s == STREAM.tpot_s


def test_a_stream_that_brought_no_chunk_generated_for_no_known_time() -> None:
    empty = record(num_output_tokens=0, arrivals=arrivals_at([]))
    assert empty.generation_s is None
    assert empty.output_token_rate is None
    assert empty.undercount_factor is None
    assert replace(empty, arrivals=None).generation_s is None


def test_a_stream_of_usage_alone_has_no_tpot() -> None:
    assert record(num_output_tokens=1, arrivals=arrivals_at([1.0])).tpot_s is None
    two = record(num_output_tokens=1, arrivals=arrivals_at([1.0, 2.0]))
    assert two.tpot_s is None
    counted = record(
        num_output_tokens=3, arrivals=arrivals_at([1.0, 2.0]), num_first_tokens=3
    )
    assert counted.tpot_s is None


def consumed(consumer_s: float | None, *, num_chunks: int = 3) -> RequestRecord:
    tally = StreamTally()
    for number in range(num_chunks):
        tally.add_content_chunk(float(number))
    arrivals = replace(tally.freeze(0.0), consumer_s=consumer_s)
    return record(arrivals=arrivals, duration_s=4.0, retry_wait_s=2.0)


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        (consumed(0.5), 0.25),
        (consumed(9.0), 1.0),
        (consumed(0.0), 0.0),
        (consumed(None), None),
        (consumed(0.5, num_chunks=1), None),
        (replace(consumed(0.5), retry_wait_s=4.0), None),
    ],
)
def test_the_consumers_share_counts_from_the_attempt_that_worked(
    answer: RequestRecord, share: float | None
) -> None:
    assert answer.consumer_share == share


def test_the_state_of_acceptance_agrees_with_the_counts() -> None:
    with pytest.raises(ValueError, match="acceptance: expected counts with state"):
        replace(STREAM, acceptance=None)
    with pytest.raises(ValueError, match="acceptance: expected none with state"):
        replace(STREAM, acceptance_state=AcceptanceState.MALFORMED)


def test_chunks_of_a_kind_are_never_more_than_all_chunks() -> None:
    gaps = arrivals_at([]).gaps
    with pytest.raises(ValueError, match="content chunks <= choice chunks <= chunks"):
        Arrivals(num_chunks=1, num_choice_chunks=1, num_content_chunks=2, gaps=gaps)


def test_usage_is_never_negative() -> None:
    with pytest.raises(ValueError, match="expected counts of 0 or more, got -1"):
        Usage(output_tokens=-1)


def test_each_kind_of_chunk_is_counted_as_what_it_is() -> None:
    tally = StreamTally()
    tally.add_chunk(1.0)
    tally.add_role_chunk(2.0)
    tally.add_choice_chunk(3.0)
    tally.add_content_chunk(4.0)
    tally.add_content_chunk(5.5)
    tally.add_choice_chunk(6.0)
    tally.add_chunk(7.0)
    seen = tally.freeze(1.0)
    assert (seen.num_chunks, seen.num_choice_chunks, seen.num_content_chunks) == (
        7,
        4,
        2,
    )
    instants = (
        seen.first_choice_s,
        seen.first_content_s,
        seen.last_content_s,
        seen.last_choice_s,
        seen.last_chunk_s,
    )
    assert instants == (1.0, 3.0, 4.5, 5.0, 6.0)
    assert (seen.gaps.num_gaps, seen.gaps.sum_s, seen.gaps.max_s) == (1, 1.5, 1.5)
