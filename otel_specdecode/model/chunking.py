"""Why a chunk carries several tokens: speculation, coalescing, or both.

Acceptance is never inferred from chunks; this goes the other way round and uses the
server's own acceptance to explain the chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.model.kinds import Chunking
from otel_specdecode.model.steps import decode_steps

if TYPE_CHECKING:
    from otel_specdecode.model.acceptance import Acceptance


def classify_chunking(
    num_choice_chunks: int,
    num_output_tokens: int,
    acceptance: Acceptance,
) -> Chunking:
    """Say what explains the number of chunks of one single-choice stream.

    Engine steps, the prefill's included, lie in T - C .. T - C + k, and without
    merging each is one choice chunk. Fewer chunks than steps prove merging that is
    not speculation; more prove splitting.

    Args:
        num_choice_chunks: chunks with a choice, the role chunk left out.
        num_output_tokens: T.
        acceptance: counts of the same request.
    """
    steps = decode_steps(num_output_tokens, acceptance)
    if steps is None or num_choice_chunks < 1:
        return Chunking.UNKNOWN
    accepted_any = acceptance.num_accepted_draft_tokens > 0
    if steps.high is not None and num_choice_chunks > steps.high + 1:
        return Chunking.SPLIT
    if num_choice_chunks < steps.low + 1:
        return Chunking.BOTH if accepted_any else Chunking.COALESCING
    return Chunking.SPECULATION if accepted_any else Chunking.ONE_PER_TOKEN
