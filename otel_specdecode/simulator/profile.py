"""What a simulated server is: its speculation, pace, wire habits and faults.

A `Profile` is a plain value. The same profile, seed and request give the same
bytes, apart from ids and timestamps, whatever the load on the server is.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from enum import StrEnum

from otel_specdecode.errors import SimulatorError


class PayloadLevel(StrEnum):
    """How much `metrics.speculative_decoding` says (vLLM's own three levels)."""

    NONE = "none"
    SUMMARY = "summary"
    DETAILED = "detailed"


class UsagePlacement(StrEnum):
    """Where a stream carries `usage`; named for what a client meets."""

    ON_REQUEST = "on-request"
    """vLLM: trailing `choices: []` chunk when asked, continuous when asked."""
    FORCED = "forced"
    """vLLM's `--enable-force-include-usage`: on every chunk, asked or not."""
    UNASKED = "unasked"
    """A trailing chunk whether asked or not (early llama.cpp, OpenRouter)."""
    ABSENT = "absent"
    """Never, although asked."""
    NULL_ELSEWHERE = "null-elsewhere"
    """OpenAI: `usage: null` on every other chunk when asked."""
    WITH_CHOICE = "with-choice"
    """LiteLLM's proxy: a bare `choices: []` chunk, then usage beside a choice."""
    ON_FINISH = "on-finish"
    """On the chunk that carries the finish reason, asked or not."""
    ZEROS = "zeros"
    """ollama's completions: all-zero usage on every chunk, the real one last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """How a server drafts, and how often its drafts are accepted.

    Attributes:
        method: vLLM's name of the method, such as `mtp` or `ngram`.
        acceptance_by_position: share of drafted steps that accept at least
            `i + 1` drafts, one entry a draft position; never increasing. Its
            length is the number of draft tokens k.
        coverage: share of decode steps that draft at all. n-gram and suffix
            lookups miss; a draft model never does.
        min_draft_tokens: a drafted step proposes this many to k tokens. `None`
            means always k.
        open_text_ratio: factor on acceptance and coverage for prompts that hold
            no code, since copying methods live on repetition.
    """

    method: str
    acceptance_by_position: tuple[float, ...]
    coverage: float = 1.0
    min_draft_tokens: int | None = None
    open_text_ratio: float = 1.0

    def __post_init__(self) -> None:
        rates = self.acceptance_by_position
        if not rates:
            raise SimulatorError("acceptance_by_position: expected 1 rate or more")
        if any(not 0 <= rate <= 1 for rate in rates):
            raise SimulatorError(
                f"acceptance_by_position: expected rates in 0..1, got {rates}"
            )
        if any(later > rate for rate, later in itertools.pairwise(rates)):
            raise SimulatorError(
                f"acceptance_by_position: a later position cannot be accepted more "
                f"often than an earlier one, got {rates}"
            )
        for name in ("coverage", "open_text_ratio"):
            share: float = getattr(self, name)
            if not 0 <= share <= 1:
                raise SimulatorError(f"{name}: expected 0..1, got {share}")
        if self.min_draft_tokens is not None and not (
            1 <= self.min_draft_tokens <= len(rates)
        ):
            raise SimulatorError(
                f"min_draft_tokens: expected 1..{len(rates)}, "
                f"got {self.min_draft_tokens}"
            )

    @property
    def num_spec_tokens(self) -> int:
        """k: the most draft tokens a step proposes."""
        return len(self.acceptance_by_position)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """What an engine step costs, in seconds.

    A plain step of a batch of b sequences takes `memory_s + b * token_s`: the
    weights are read once, and each sequence adds its own work. A speculative step
    checks `k + 1` tokens a sequence and pays for k drafts:
    `memory_s * (1 + k * draft_ratio) + b * (k + 1) * token_s`. Their quotient is
    kappa: near 1 when the server is quiet, towards `k + 1` when it is full, so
    that speculation breaks even where kappa equals the tokens per step.

    Attributes:
        prefill_s: fixed part of the time to the first token.
        prompt_token_s: added to it for each prompt token.
        memory_s: the part of a step that the batch shares.
        token_s: added for each token of each sequence that the step checks.
        draft_ratio: cost of drafting one token, as a share of `memory_s`.
        warmup_factor: how many times slower an engine's very first step is.
        num_warmup_steps: steps after which that excess has fallen to 1/e.
        jitter: largest relative deviation of a step, from a seeded draw.
    """

    prefill_s: float = 0.030
    prompt_token_s: float = 0.0001
    memory_s: float = 0.020
    token_s: float = 0.0004
    draft_ratio: float = 0.03
    warmup_factor: float = 1.0
    num_warmup_steps: int = 50
    jitter: float = 0.0

    def plain_s(self, batch: int) -> float:
        """Seconds of a step that drafts nothing, for `batch` sequences."""
        return self.memory_s + batch * self.token_s

    def speculative_s(self, num_draft_tokens: int, batch: int) -> float:
        """Seconds of a step that drafts and checks `num_draft_tokens` each."""
        drafting_s = self.memory_s * self.draft_ratio * num_draft_tokens
        checking_s = batch * (num_draft_tokens + 1) * self.token_s
        return self.memory_s + drafting_s + checking_s

    def kappa(self, num_draft_tokens: int, batch: int) -> float:
        """Cost of a speculative step over a plain one, at the same batch."""
        return self.speculative_s(num_draft_tokens, batch) / self.plain_s(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One simulated server.

    Attributes:
        name: what `--profile` calls it.
        model: the served model name, also the `model_name` label.
        speculation: `None` for a server that does not speculate: then the
            payload and the `vllm:spec_decode_*` families are absent, not zero.
        step_time: the cost model of a step.
        time_scale: factor on every time offset. 0 puts a whole answer at one
            instant, which is what a load generator wants.
        num_engines: data-parallel engines, each with its own counters. Requests
            take turns, unless `X-data-parallel-rank` says which.
        stream_interval: tokens that a chunk waits for (`--stream-interval`); a
            request may ask for more, not for fewer.
        payload: level of the per-request acceptance object.
        timing_fields: the five timing fields (`--enable-per-request-metrics`).
        usage: where streams carry usage.
        reasoning_parser: whether the server has one; it adds `reasoning_tokens` to
            usage and swallows steps that add no text.
        num_reasoning_tokens: tokens at the start that go to `delta.reasoning`; more
            than 0 implies the parser.
        tool_calls: answer with a tool call when the request offers tools and
            leaves the choice to the model.
        buffering_tool_parser: hold a tool call back until it is whole, as some
            parsers do; its steps then send no chunk.
        default_max_tokens: the limit of a request that names none.
        end_after_tokens: the model says its end token as token number this.
            `None`: it never ends by itself, so that an answer has exactly
            `max_tokens` tokens.
        max_model_len: prompt and output tokens together never exceed this.
        seed: start of every random draw.
        simulate: directives (see `directives.py`) that hold for every request; a
            request's own `x-simulate` header adds to them and wins.
    """

    name: str = "custom"
    model: str = "spec-demo"
    speculation: Speculation | None = None
    step_time: StepTime = field(default_factory=StepTime)
    time_scale: float = 1.0
    num_engines: int = 1
    stream_interval: int = 1
    payload: PayloadLevel = PayloadLevel.SUMMARY
    timing_fields: bool = False
    usage: UsagePlacement = UsagePlacement.ON_REQUEST
    reasoning_parser: bool = False
    num_reasoning_tokens: int = 0
    tool_calls: bool = False
    buffering_tool_parser: bool = False
    default_max_tokens: int = 128
    end_after_tokens: int | None = None
    max_model_len: int = 32_768
    seed: int = 0
    simulate: str = ""

    def __post_init__(self) -> None:
        minima = {
            "time_scale": (self.time_scale, 0),
            "num_engines": (self.num_engines, 1),
            "stream_interval": (self.stream_interval, 1),
            "num_reasoning_tokens": (self.num_reasoning_tokens, 0),
            "default_max_tokens": (self.default_max_tokens, 1),
            "end_after_tokens": (self.end_after_tokens or 1, 1),
            "max_model_len": (self.max_model_len, 2),
        }
        for field_name, (value, least) in minima.items():
            if value < least:
                raise SimulatorError(
                    f"{field_name}: expected {least} or more, got {value}"
                )
