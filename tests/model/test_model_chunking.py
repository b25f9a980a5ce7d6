"""Why the chunks carry the tokens that they carry."""

from __future__ import annotations

import pytest
from engine_oracle import Run, runs
from hypothesis import given
from hypothesis import strategies as st

from otel_specdecode.model import Acceptance, Chunking, classify_chunking

OFF = Acceptance(num_spec_steps=0, num_draft_tokens=0, num_accepted_draft_tokens=0)
# Of 64 tokens in 15 to 19 steps with k = 4, as n-gram speculation was measured.
ON = Acceptance(
    num_spec_steps=14,
    num_draft_tokens=56,
    num_accepted_draft_tokens=49,
    num_spec_tokens=4,
)


@pytest.mark.parametrize(
    ("acceptance", "num_choice_chunks", "expected"),
    [
        (OFF, 64, Chunking.ONE_PER_TOKEN),
        (OFF, 17, Chunking.COALESCING),  # --stream-interval 4
        (ON, 16, Chunking.SPECULATION),
        (ON, 14, Chunking.BOTH),  # --stream-interval 4
        (ON, 15, Chunking.SPECULATION),
        (ON, 19, Chunking.SPECULATION),
        (ON, 20, Chunking.SPLIT),
        (OFF, 65, Chunking.SPLIT),
    ],
)
def test_four_servers_of_64_tokens_are_told_apart(
    acceptance: Acceptance, num_choice_chunks: int, expected: Chunking
) -> None:
    assert classify_chunking(num_choice_chunks, 64, acceptance) is expected


def test_without_tokens_or_chunks_nothing_is_said() -> None:
    assert classify_chunking(0, 64, ON) is Chunking.UNKNOWN
    assert classify_chunking(3, 0, ON) is Chunking.UNKNOWN


def test_without_k_more_chunks_than_steps_prove_nothing() -> None:
    unknown_k = Acceptance(
        num_spec_steps=14, num_draft_tokens=56, num_accepted_draft_tokens=49
    )
    assert classify_chunking(60, 64, unknown_k) is Chunking.SPECULATION


@given(runs())
def test_one_chunk_a_step_is_never_called_merged_or_split(run: Run) -> None:
    chunking = classify_chunking(
        len(run.tokens_by_step), run.num_output_tokens, run.acceptance
    )
    accepted = run.acceptance.num_accepted_draft_tokens
    expected = Chunking.SPECULATION if accepted else Chunking.ONE_PER_TOKEN
    assert chunking is expected


@given(runs(), st.data())
def test_merged_steps_are_called_so_or_hide_in_the_last_step(
    run: Run, data: st.DataObject
) -> None:
    num_steps = len(run.tokens_by_step)
    num_merged = data.draw(st.integers(1, num_steps), label="steps merged away")
    if num_merged == num_steps:
        return
    chunking = classify_chunking(
        num_steps - num_merged, run.num_output_tokens, run.acceptance
    )
    k = run.acceptance.num_spec_tokens
    assert k is not None
    if run.acceptance.num_accepted_draft_tokens == 0:
        assert chunking is Chunking.COALESCING
    elif num_merged > k:
        assert chunking is Chunking.BOTH
    else:
        assert chunking in {Chunking.BOTH, Chunking.SPECULATION}


@given(runs(), st.integers(1, 20))
def test_split_steps_are_called_so_or_could_have_been_steps(
    run: Run, num_more: int
) -> None:
    chunking = classify_chunking(
        len(run.tokens_by_step) + num_more, run.num_output_tokens, run.acceptance
    )
    k = run.acceptance.num_spec_tokens
    assert k is not None
    allowed = (
        {Chunking.SPLIT} if num_more > k else {Chunking.SPLIT, Chunking.SPECULATION}
    )
    assert chunking in allowed
