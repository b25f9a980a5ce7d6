"""The engine: which tokens each step delivers, and when.

One generator a request steps all its choices together, as a batch does. It reads
no clock: time is an offset from the start of the request, and what a step costs is
asked of the request's `Pace` at the moment the step is taken.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from otel_specdecode.simulator._script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_specdecode.simulator.ledger import Tally
    from otel_specdecode.simulator.profile import Speculation, StepTime


class Drafter:
    """Draws how many tokens each step drafts and how many of them are accepted.

    The draws depend on nothing but the seed and their order, so that a shorter
    answer to the same prompt takes the same steps as far as it goes.
    """

    def __init__(self, speculation: Speculation, seed: str) -> None:
        self._random = random.Random(seed).random  # noqa: S311 - not secrets
        self._rates = speculation.acceptance_by_position
        self._coverage = speculation.coverage
        self._least = speculation.min_draft_tokens

    def draw(self) -> tuple[int, int]:
        """Return (drafted, accepted); (0, 0) for a step that drafts nothing."""
        draw = self._random
        if self._coverage < 1 and draw() >= self._coverage:
            return 0, 0
        num_drafted = len(self._rates)
        if self._least is not None:
            num_drafted = self._least + int(draw() * (num_drafted - self._least + 1))
        chance = draw()
        num_accepted = 0
        # The rates are unconditional and fall, so one draw decides all positions.
        for rate in self._rates[:num_drafted]:
            if chance >= rate:
                break
            num_accepted += 1
        return num_drafted, num_accepted


@dataclass(slots=True)
class Choice:
    """One sequence on its way."""

    index: int
    script: Script
    drafter: Drafter | None
    num_tokens: int = 0
    num_sent: int = 0
    num_cut: int = 0
    finished: bool = False
    per_step_accepted: list[int] = field(default_factory=list[int])
    per_step_drafted: list[int] = field(default_factory=list[int])

    def take(self, num_tokens: int) -> int:
        """Add what a step produced; return how many of them were kept."""
        ending = self.script.ending
        before = self.num_tokens
        after = before + num_tokens
        if after >= ending.num_tokens:
            self.finished = True
            if not ending.keeps_whole_step:
                self.num_cut = after - ending.num_tokens
                after = ending.num_tokens
        self.num_tokens = after
        return after - before


@dataclass(slots=True)
class EngineState:
    """What the requests on one engine share: the batch, and how warm it is."""

    num_active: int = 0
    num_steps: float = 0.0


class Pace:
    """What each step of one request costs, given what else is running."""

    def __init__(
        self,
        step_time: StepTime,
        engine: EngineState,
        *,
        time_scale: float,
        jitter_seed: str,
    ) -> None:
        self._time = step_time
        self._engine = engine
        self._scale = time_scale
        # Nothing waits, and nothing but waiting depends on what a step costs.
        self._instant = time_scale == 0
        self._jitter = (
            random.Random(jitter_seed)  # noqa: S311 - not secrets
            if step_time.jitter
            else None
        )

    def prefill_s(self, num_prompt_tokens: int) -> float:
        """Seconds until the first token."""
        time = self._time
        return (
            time.prefill_s + num_prompt_tokens * time.prompt_token_s
        ) * self._factor()

    def step_s(self, num_draft_tokens: int) -> float:
        """Seconds of the next step, which drafts so many tokens a sequence."""
        if self._instant:
            return 0.0
        batch = self._engine.num_active or 1
        # Concurrent requests share their steps: each counts its part of one.
        self._engine.num_steps += 1 / batch
        if num_draft_tokens:
            step_s = self._time.speculative_s(num_draft_tokens, batch)
        else:
            step_s = self._time.plain_s(batch)
        return step_s * self._factor()

    def _factor(self) -> float:
        time = self._time
        factor = self._scale
        if time.warmup_factor != 1.0:
            age = self._engine.num_steps / time.num_warmup_steps
            factor *= 1 + (time.warmup_factor - 1) * math.exp(-age)
        if self._jitter is not None:
            factor *= 1 + time.jitter * (2 * self._jitter.random() - 1)
        return factor


class Step(NamedTuple):
    """What one step did for one choice: `num_tokens` so far, at `at_s`."""

    at_s: float
    choice: Choice


def generate(
    choices: Sequence[Choice],
    num_prompt_tokens: int,
    pace: Pace,
    tally: Tally,
) -> Iterator[Step]:
    """Step all choices to their ends, counting as it goes."""
    at_s = pace.prefill_s(num_prompt_tokens)
    for choice in choices:
        _deliver(choice, 1, tally)
        yield Step(at_s, choice)
    if len(choices) == 1:
        yield from _alone(choices[0], at_s, pace, tally)
    else:
        yield from _together(choices, at_s, pace, tally)


def _alone(choice: Choice, at_s: float, pace: Pace, tally: Tally) -> Iterator[Step]:
    """Step one choice: what nearly every request has, so without detours."""
    draw = choice.drafter.draw if choice.drafter else None
    while not choice.finished:
        num_drafted, num_accepted = draw() if draw else (0, 0)
        at_s += pace.step_s(num_drafted)
        _take_step(choice, num_drafted, num_accepted, tally)
        yield Step(at_s, choice)


def _together(
    choices: Sequence[Choice], at_s: float, pace: Pace, tally: Tally
) -> Iterator[Step]:
    """Step several choices: one engine step for all of them."""
    active = [choice for choice in choices if not choice.finished]
    while active:
        draws = [
            choice.drafter.draw() if choice.drafter else (0, 0) for choice in active
        ]
        at_s += pace.step_s(max(draws)[0])
        for choice, (num_drafted, num_accepted) in zip(active, draws, strict=True):
            _take_step(choice, num_drafted, num_accepted, tally)
            yield Step(at_s, choice)
        active = [choice for choice in active if not choice.finished]


def _take_step(
    choice: Choice, num_drafted: int, num_accepted: int, tally: Tally
) -> None:
    tally.observe_step(num_drafted, num_accepted)
    if num_drafted:
        choice.per_step_accepted.append(num_accepted)
        choice.per_step_drafted.append(num_drafted)
    _deliver(choice, num_accepted + 1, tally)


def _deliver(choice: Choice, num_tokens: int, tally: Tally) -> None:
    tally.num_output_tokens += choice.take(num_tokens)
    if choice.finished:
        tally.finish_reasons.append(choice.script.ending.finish_reason)
