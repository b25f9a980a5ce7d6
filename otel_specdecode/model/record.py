"""One finished request: what was measured, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from otel_specdecode.model.acceptance import Acceptance
from otel_specdecode.model.arrivals import Arrivals
from otel_specdecode.model.call_site import ChunkCountSite
from otel_specdecode.model.chunking import classify_chunking
from otel_specdecode.model.kinds import (
    AcceptanceState,
    Chunking,
    FirstChunk,
    Outcome,
    UsageOrigin,
)
from otel_specdecode.model.latency import DecodeSpan, decode_span
from otel_specdecode.model.steps import (
    Bounds,
    decode_steps,
    step_coverage,
    tokens_per_step,
)
from otel_specdecode.model.usage import ServerTiming, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request that ended, as it was measured.

    Attributes:
        operation: `chat` or `text_completion`; `chat` for the Responses API.
        provider: `gen_ai.provider.name`, such as `openai`.
        request_model: the model that was asked for; `None` when none was named.
        response_model: the model that answered; `None` when no answer came.
        response_id: the server's id of the response.
        finish_reasons: one for each choice that finished, by choice.
        server_address: host of the base URL.
        server_port: port of the base URL; `None` where the scheme implies it.
        engine: the adapter that recognised the response, such as `vllm`; `None`
            when none did.
        streaming: whether the caller asked for a stream.
        single_choice: False for n > 1 and for several prompts, whose tokens no
            clock can tell apart.
        swallows_steps: a parser for tools or reasoning may hold back chunks.
        outcome: how it ended.
        error_type: qualified name of the exception, or `error_response` or
            `stream_error` where the answer says that it failed; `None` unless the
            outcome is `error`.
        duration_s: from the request to the end, seconds, retries included.
        request_seen: False where only the answer was observed, so that times
            count from there and none since the request is known.
        num_retries: attempts that the client repeated; `None` when unknown.
        retry_wait_s: time spent on attempts that failed, and between them,
            seconds; 0 when the first attempt was the last.
        usage: token counts; `None` when none arrived.
        usage_origin: why there is usage, or why not.
        acceptance: counts of speculative decoding; `None` unless present.
        acceptance_state: whether there is acceptance.
        acceptance_reason: why there is none, in words; `None` when there is.
        arrivals: the client's clock; `None` unless chunks were observed.
        num_first_tokens: tokens up to and including the first content chunk as
            the server counted them; `None` when it did not.
        server_timing: the engine's clock; `None` where the server does not say.
        chunk_count_site: where the consumer takes chunks for tokens; `None` unless
            it was found before the request ended.
        tags: what `tag()` had set when the call was made.
    """

    operation: str
    provider: str
    request_model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    finish_reasons: tuple[str, ...] = ()
    server_address: str | None = None
    server_port: int | None = None
    engine: str | None = None
    streaming: bool
    single_choice: bool = True
    swallows_steps: bool = False
    outcome: Outcome
    error_type: str | None = None
    duration_s: float
    request_seen: bool = True
    num_retries: int | None = None
    retry_wait_s: float = 0.0
    usage: Usage | None = None
    usage_origin: UsageOrigin
    acceptance: Acceptance | None = None
    acceptance_state: AcceptanceState
    acceptance_reason: str | None = None
    arrivals: Arrivals | None = None
    num_first_tokens: int | None = None
    server_timing: ServerTiming | None = None
    chunk_count_site: ChunkCountSite | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        present = self.acceptance_state is AcceptanceState.PRESENT
        if present != (self.acceptance is not None):
            raise ValueError(
                f"acceptance: expected {'counts' if present else 'none'} with state"
                f" {self.acceptance_state.value}, got {self.acceptance}"
            )

    @property
    def num_output_tokens(self) -> int | None:
        """T, from usage and nothing else; `None` when unknown."""
        return None if self.usage is None else self.usage.output_tokens

    @property
    def time_to_first_chunk_s(self) -> float | None:
        """TTFC: to the first chunk with a choice, the role chunk included, seconds.

        `None` when there was none, and where only the answer was observed.
        """
        if self.arrivals is None or not self.request_seen:
            return None
        return self.arrivals.first_choice_s

    @property
    def ttft_s(self) -> float | None:
        """TTFT: to the first content chunk, seconds.

        `None` when there was none, and where only the answer was observed.
        """
        if self.arrivals is None or not self.request_seen:
            return None
        return self.arrivals.first_content_s

    @property
    def decode_span(self) -> DecodeSpan | None:
        """What TPOT is taken over; `None` for several choices, or too few chunks."""
        if self.arrivals is None or not self.single_choice:
            return None
        return decode_span(self.arrivals, self.num_output_tokens, self.num_first_tokens)

    @property
    def tpot_s(self) -> float | None:
        """TPOT: (t_last - t_first) / (T - n_first), seconds a token.

        `None` where `decode_span` is.
        """
        span = self.decode_span
        return None if span is None else span.time_per_output_token_s

    @property
    def first_chunk(self) -> FirstChunk | None:
        """Whether TPOT counted the first chunk's tokens or assumed one.

        `None` where there is no TPOT.
        """
        span = self.decode_span
        return None if span is None else span.first_chunk

    @property
    def generation_s(self) -> float | None:
        """From the request to its last chunk, or to the whole response, seconds.

        `None` for a stream that brought no chunk, and where only the answer was
        observed.
        """
        if not self.request_seen:
            return None
        if not self.streaming:
            return self.duration_s
        return None if self.arrivals is None else self.arrivals.last_chunk_s

    @property
    def output_token_rate(self) -> float | None:
        """T / (t_end - t_request), tokens a second; what "tok/s" should mean.

        `None` when T or the time is unknown.
        """
        elapsed, tokens = self.generation_s, self.num_output_tokens
        return tokens / elapsed if tokens is not None and elapsed else None

    @property
    def num_content_chunks(self) -> int | None:
        """Content chunks of a stream; `None` for anything else."""
        return None if self.arrivals is None else self.arrivals.num_content_chunks

    @property
    def undercount_factor(self) -> float | None:
        """T / content chunks: by how much a chunk counter is wrong.

        `None` when T is unknown, and without a content chunk.
        """
        chunks, tokens = self.num_content_chunks, self.num_output_tokens
        return tokens / chunks if chunks and tokens is not None else None

    @property
    def chunk_gap_mean_s(self) -> float | None:
        """Mean time between content chunks, seconds; `None` without a gap.

        A delivery measure, no token latency.
        """
        return None if self.arrivals is None else self.arrivals.gaps.mean_s

    @property
    def chunk_gap_max_s(self) -> float | None:
        """Longest time between content chunks, seconds; `None` without a gap."""
        return None if self.arrivals is None else self.arrivals.gaps.max_s

    @property
    def consumer_share(self) -> float | None:
        """Share of the stream that the application spent between reads, 0 to 1.

        Near 1 the consumer was the bottleneck, and the arrival times are its own.
        `None` for a stream of fewer than two chunks, and where it was not measured.
        """
        arrivals = self.arrivals
        if arrivals is None or arrivals.num_chunks < 2 or arrivals.consumer_s is None:
            return None
        open_s = self.duration_s - self.retry_wait_s
        return min(arrivals.consumer_s / open_s, 1.0) if open_s > 0 else None

    @property
    def decode_steps(self) -> Bounds | None:
        """S, engine steps after the prefill's; `None` without acceptance or T."""
        if self.acceptance is None or self.num_output_tokens is None:
            return None
        return decode_steps(self.num_output_tokens, self.acceptance)

    @property
    def tokens_per_step(self) -> Bounds | None:
        """(T - 1) / S, which is what buys speed; `None` without a decode step."""
        if self.num_output_tokens is None:
            return None
        return tokens_per_step(self.num_output_tokens, self.decode_steps)

    @property
    def step_coverage(self) -> Bounds | None:
        """R / S, the share of decode steps that speculated, 0 to 1.

        `None` without a decode step.
        """
        if self.acceptance is None:
            return None
        return step_coverage(self.acceptance, self.decode_steps)

    @property
    def chunking(self) -> Chunking:
        """Why the chunks carry the tokens that they carry."""
        if (
            self.acceptance is None
            or self.arrivals is None
            or self.num_output_tokens is None
            or self.outcome is not Outcome.COMPLETED
            or self.swallows_steps
            or not self.single_choice
        ):
            return Chunking.UNKNOWN
        return classify_chunking(
            self.arrivals.num_choice_chunks, self.num_output_tokens, self.acceptance
        )

    @property
    def sources(self) -> Mapping[str, str | None]:
        """Where each number came from; `None` where there is no number."""
        span = self.decode_span
        return {
            "num_output_tokens": _source(self.num_output_tokens, "usage"),
            "acceptance": _source(self.acceptance, f"{self.engine} response"),
            "ttft_s": _source(self.ttft_s, "client clock"),
            "tpot_s": None
            if span is None
            else f"client clock, usage, first chunk {span.first_chunk.value}",
            "chunk_gap_mean_s": _source(self.chunk_gap_mean_s, "client clock"),
            "server_timing": _source(self.server_timing, f"{self.engine} response"),
        }


def _source(value: object, name: str) -> str | None:
    return None if value is None else name
