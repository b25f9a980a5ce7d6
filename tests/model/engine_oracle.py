"""A speculating engine in a dozen lines, written from the definitions alone.

It knows what the model can only bound: how many steps it took, and how many tokens of
the last one were cut off.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from otel_specdecode.model import Acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One request of the oracle.

    Attributes:
        tokens_by_step: what each step delivered, the prefill's first.
        acceptance: what the engine counted, before the last step was cut.
    """

    tokens_by_step: tuple[int, ...]
    acceptance: Acceptance

    @property
    def num_output_tokens(self) -> int:
        return sum(self.tokens_by_step)

    @property
    def num_decode_steps(self) -> int:
        return len(self.tokens_by_step) - 1


def runs(*, most_tokens: int = 60) -> st.SearchStrategy[Run]:
    """Draw a request: drafts and acceptances of each step, and where it stops."""
    return st.builds(
        _run,
        k=st.integers(1, 6),
        num_output_tokens=st.integers(1, most_tokens),
        choices=st.lists(st.integers(0, 48), max_size=20),
    )


def _run(k: int, num_output_tokens: int, choices: list[int]) -> Run:
    delivered = [1]
    histogram = [0] * (k + 1)
    num_drafted = 0
    # Once there is no choice left to draw, steps draft nothing.
    chosen = iter(choices)
    while sum(delivered) < num_output_tokens:
        choice = next(chosen, 0)
        drafted = choice % (k + 1)
        accepted = choice // (k + 1) % (drafted + 1)
        if drafted:
            histogram[accepted] += 1
            num_drafted += drafted
        delivered.append(min(accepted + 1, num_output_tokens - sum(delivered)))
    return Run(
        tokens_by_step=tuple(delivered),
        acceptance=Acceptance(
            num_spec_steps=sum(histogram),
            num_draft_tokens=num_drafted,
            num_accepted_draft_tokens=sum(j * n for j, n in enumerate(histogram)),
            histogram=tuple(histogram),
            num_spec_tokens=k,
        ),
    )
