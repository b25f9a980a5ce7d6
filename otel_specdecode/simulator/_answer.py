"""One answer under way, and which of its chunks carry usage and acceptance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, cast

from otel_specdecode.simulator import _usage
from otel_specdecode.simulator._engine import Choice
from otel_specdecode.simulator._request import Endpoint, GenerationRequest
from otel_specdecode.simulator.directives import Directives, WireShape
from otel_specdecode.simulator.ledger import Tally
from otel_specdecode.simulator.profile import (
    PayloadLevel,
    Profile,
    UsagePlacement,
)

FINGERPRINT = "vllm-0.32.0-51ac7a1e"
DONE = b"data: [DONE]\n\n"


class Each(Enum):
    """What every chunk before the last says about usage."""

    NOTHING = auto()
    RUNNING = auto()
    NULL = auto()
    ZEROS = auto()


class Last(Enum):
    """Where the final usage stands."""

    NOWHERE = auto()
    TRAILING = auto()
    BESIDE_A_CHOICE = auto()
    ON_FINISH = auto()


def usage_plan(
    placement: UsagePlacement, request: GenerationRequest
) -> tuple[Each, Last]:
    """Decide what a stream says about usage, before its first chunk."""
    asked, running = request.include_usage, request.continuous_usage
    if_asked = Last.TRAILING if asked else Last.NOWHERE
    plans = {
        UsagePlacement.ON_REQUEST: (
            Each.RUNNING if running else Each.NOTHING,
            if_asked,
        ),
        UsagePlacement.FORCED: (Each.RUNNING, Last.TRAILING),
        UsagePlacement.UNASKED: (Each.NOTHING, Last.TRAILING),
        UsagePlacement.ABSENT: (Each.NOTHING, Last.NOWHERE),
        UsagePlacement.NULL_ELSEWHERE: (Each.NULL if asked else Each.NOTHING, if_asked),
        UsagePlacement.WITH_CHOICE: (Each.NOTHING, Last.BESIDE_A_CHOICE),
        UsagePlacement.ON_FINISH: (Each.NOTHING, Last.ON_FINISH),
        UsagePlacement.ZEROS: (Each.ZEROS if asked else Each.NOTHING, if_asked),
    }
    return plans[placement]


@dataclass(slots=True, kw_only=True)
class Answer:
    """Everything that an encoder needs to know about one answer.

    Attributes:
        profile: the server.
        directives: the request's, over the profile's.
        request: what was asked.
        key: seed of the answer's random draws.
        response_id: `id` on the wire.
        created: `created` on the wire, in whole seconds.
        choices: the sequences, in the order of their index.
        num_spec_tokens: k; `None` on a server that does not speculate.
        each: usage on the chunks before the last.
        last: place of the final usage.
        tally: the request's own sums.
        first_token_at_s: engine time of the first token; set as it runs.
        last_token_at_s: engine time of the latest step; set as it runs.
        num_prompt_tokens: of all its prompts.
    """

    profile: Profile
    directives: Directives
    request: GenerationRequest
    key: str
    response_id: str
    created: int
    choices: Sequence[Choice]
    num_spec_tokens: int | None
    each: Each
    last: Last
    tally: Tally
    first_token_at_s: float = 0.0
    last_token_at_s: float = 0.0
    num_prompt_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self.num_prompt_tokens = sum(self.request.num_prompt_tokens)

    def count_chunk(self, *, has_content: bool) -> None:
        """Count a chunk with a choice that goes out."""
        self.tally.num_choice_chunks += 1
        self.tally.num_content_chunks += has_content

    @property
    def usage(self) -> dict[str, Any]:
        """The final usage; reasoning tokens only from servers that parse them."""
        counts = _usage.usage(self.num_prompt_tokens, self.tally.num_output_tokens)
        if self.parses_reasoning:
            details = {"reasoning_tokens": self.num_reasoning_tokens}
            return counts | {"completion_tokens_details": details}
        return counts

    def running_usage(self, num_tokens: int) -> dict[str, Any]:
        """Usage of a chunk that is not the last."""
        counts = _usage.usage(self.num_prompt_tokens, num_tokens)
        if self.parses_reasoning:
            details = {"reasoning_tokens": min(num_tokens, self._most_reasoning)}
            return counts | {"completion_tokens_details": details}
        if self.request.endpoint is Endpoint.CHAT:
            # Set, though to nothing, and so on the wire (`exclude_unset`).
            return counts | {"completion_tokens_details": None}
        return counts

    @property
    def _most_reasoning(self) -> int:
        asked = self.directives.num_reasoning_tokens
        return self.profile.num_reasoning_tokens if asked is None else asked

    @property
    def parses_reasoning(self) -> bool:
        """Whether a reasoning parser is at work, so that usage tells of it."""
        if self.request.endpoint is not Endpoint.CHAT:
            return False
        return self.profile.reasoning_parser or self._most_reasoning > 0

    @property
    def num_reasoning_tokens(self) -> int:
        """Reasoning tokens so far, of all choices."""
        most = self._most_reasoning
        return sum(min(most, choice.num_tokens) for choice in self.choices)

    @property
    def acceptance(self) -> Any:
        """The acceptance object; `None` where the server would not give one."""
        level = self.directives.payload or self.profile.payload
        if (
            self.num_spec_tokens is None
            or not self.request.one_sequence
            or level == PayloadLevel.NONE
            # A stop string is found outside the engine, whose last output, which
            # carries the statistics, then never comes (seen on 0.32.0).
            or self.choices[0].script.ending.stop_reason is not None
        ):
            return None
        return _usage.acceptance(
            self.choices[0],
            num_spec_tokens=self.num_spec_tokens,
            level=level,
        )

    @property
    def timing(self) -> dict[str, Any]:
        """The timing fields; empty unless the server gives them."""
        if not self.profile.timing_fields or not self.request.one_sequence:
            return {}
        return _usage.timing(
            self.first_token_at_s,
            self.last_token_at_s,
            self.tally.num_output_tokens,
        )

    def streamed_metrics(self) -> dict[str, Any] | None:
        """`metrics` of the usage chunk: absent keys, never nulls."""
        if self.directives.shape is not WireShape.CURRENT:
            return None
        metrics = {k: v for k, v in self.timing.items() if v is not None}
        if (payload := self.acceptance) is not None:
            metrics["speculative_decoding"] = payload
        return metrics or None

    def whole_metrics(self) -> dict[str, Any]:
        """`metrics` of an answer in one piece: nulls, never absent keys."""
        if self.directives.shape is not WireShape.CURRENT:
            return {}
        payload = self.acceptance
        timing = self.timing
        if payload is None and not timing:
            return {"metrics": None}
        if isinstance(payload, dict):
            known = cast("dict[str, Any]", payload)
            arrays = ("per_step_accepted", "per_step_drafted")
            payload = known | {name: known.get(name) for name in arrays}
        metrics = dict.fromkeys(_usage.TIMING_FIELDS) | timing
        return {"metrics": metrics | {"speculative_decoding": payload}}

    def early_acceptance(self, choice: Choice) -> dict[str, Any]:
        """The July 2026 development shape, which stood in the choice."""
        if self.directives.shape is not WireShape.JULY_2026 or not choice.finished:
            return {}
        payload = self.acceptance
        if not isinstance(payload, dict):
            return {}
        stats = cast("dict[str, Any]", payload)
        counts: list[int] = stats["acceptance_histogram"]
        histogram = {str(accepted): count for accepted, count in enumerate(counts)}
        return {
            "speculative_decoding_stats": stats | {"acceptance_histogram": histogram}
        }


def to_json(value: object) -> bytes:
    """Compact JSON in UTF-8, as pydantic and Starlette write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(value: object) -> bytes:
    """One server-sent event with a JSON payload."""
    return b"data: " + to_json(value) + b"\n\n"
