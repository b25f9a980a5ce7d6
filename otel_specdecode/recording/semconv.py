"""Every name, unit and bucket that goes out, in one place.

Our own names stand under `specdecode.*`. The GenAI names are the published ones of
semantic conventions 1.41, or those of the unreleased repository that renames them:
https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SCOPE: Final = "otel_specdecode"
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"

OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"
INPUT: Final = "input"
OUTPUT: Final = "output"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
ERROR_TYPE: Final = "error.type"
CODE_FILE_PATH: Final = "code.file.path"
CODE_LINE_NUMBER: Final = "code.line.number"
CODE_FUNCTION_NAME: Final = "code.function.name"
OVERFLOW: Final = "otel.metric.overflow"

REQUEST_PARAMETERS: Final = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "n": "gen_ai.request.choice.count",
    "top_k": "gen_ai.request.top_k",
}
"""Sampling parameter of the request body -> span attribute. Numbers only."""

OUTCOME: Final = "specdecode.outcome"
USAGE: Final = "specdecode.usage"
ACCEPTANCE: Final = "specdecode.acceptance"
ACCEPTANCE_REASON: Final = "specdecode.acceptance_reason"
ENGINE: Final = "specdecode.engine"
STREAMING: Final = "specdecode.streaming"
TAG_PREFIX: Final = "specdecode.tag."
FIRST_CHUNK: Final = "specdecode.first_chunk"
POSITION: Final = "specdecode.position"
RULE: Final = "specdecode.rule"
REASON: Final = "specdecode.reason"

NUM_SPEC_TOKENS: Final = "specdecode.num_spec_tokens"
NUM_SPEC_STEPS: Final = "specdecode.num_spec_steps"
NUM_DRAFT_TOKENS: Final = "specdecode.num_draft_tokens"
NUM_ACCEPTED_DRAFT_TOKENS: Final = "specdecode.num_accepted_draft_tokens"
ACCEPTANCE_HISTOGRAM: Final = "specdecode.acceptance_histogram"
DRAFT_ACCEPTANCE_RATE: Final = "specdecode.draft_acceptance_rate"
MEAN_ACCEPTANCE_LENGTH: Final = "specdecode.mean_acceptance_length"
DECODE_STEPS_MIN: Final = "specdecode.decode_steps_min"
DECODE_STEPS_MAX: Final = "specdecode.decode_steps_max"
TOKENS_PER_STEP_MIN: Final = "specdecode.tokens_per_step_min"
TOKENS_PER_STEP_MAX: Final = "specdecode.tokens_per_step_max"
NUM_CHUNKS: Final = "specdecode.num_chunks"
NUM_CONTENT_CHUNKS: Final = "specdecode.num_content_chunks"
UNDERCOUNT_FACTOR: Final = "specdecode.undercount_factor"
CHUNKING: Final = "specdecode.chunking"
TIME_TO_FIRST_CHUNK: Final = "specdecode.time_to_first_chunk"
TIME_TO_FIRST_TOKEN: Final = "specdecode.time_to_first_token"
TIME_PER_OUTPUT_TOKEN: Final = "specdecode.time_per_output_token"
CHUNK_GAP_MEAN: Final = "specdecode.chunk_gap_mean"
CHUNK_GAP_MAX: Final = "specdecode.chunk_gap_max"
CONSUMER_SHARE: Final = "specdecode.consumer_share"
SERVER_QUEUE_TIME: Final = "specdecode.server_queue_time"
SERVER_PREFILL_TIME: Final = "specdecode.server_prefill_time"
SERVER_DECODE_TIME: Final = "specdecode.server_decode_time"
RETRIES: Final = "specdecode.retries"
CHUNK_COUNT_RULE: Final = "specdecode.chunk_count_rule"
CHUNK_COUNT_EVENT: Final = "specdecode.chunk_count"
"""Span event at a call site that takes chunks for tokens."""

MAX_HISTOGRAM_ENTRIES: Final = 64
"""Entries of the acceptance histogram on a span, and positions counted apart."""
MAX_ATTRIBUTE_SETS: Final = 2000
"""Attribute sets an instrument, the SDK's own default limit."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Name, unit and meaning of an instrument.

    Attributes:
        name: as in OpenTelemetry.
        unit: UCUM.
        description: one line for those who read dashboards.
        buckets: upper bounds; `None` for a counter.
    """

    name: str
    unit: str
    description: str
    buckets: tuple[float, ...] | None = None


# A share needs even steps; a twentieth is what people compare.
_SHARE = tuple(round(i * 0.05, 2) for i in range(21))
# One token a step is no gain, so the fine steps are just above 1.
_LENGTH = (1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 12, 16, 24, 32)
_RATE = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000)
# Tokens leave fast servers every few milliseconds: half a bucket below 10 ms.
_PER_TOKEN = (
    *(0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02),
    *(0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0),
)
_GAP = (*_PER_TOKEN, 2.0, 5.0, 10.0)
_FIRST_TOKEN = (
    *(0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75),
    *(1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
_SERVER_TIME = (0.0001, 0.0005, 0.001, 0.0025, 0.005, *_FIRST_TOKEN)
# Published with the GenAI conventions: powers of two, and of four for tokens.
_GENAI_DURATION = tuple(0.01 * 2**i for i in range(14))
_GENAI_TOKENS = tuple(float(4**i) for i in range(14))

REQUESTS = Metric(
    "specdecode.client.requests", "{request}", "Requests that ended, however they did."
)
OUTPUT_TOKEN_COUNT = Metric(
    "specdecode.client.output_tokens", "{token}", "Output tokens, from usage."
)
CONTENT_CHUNKS = Metric(
    "specdecode.client.content_chunks",
    "{chunk}",
    "Chunks with content of streams whose output tokens are known.",
)
SPEC_STEPS = Metric(
    "specdecode.client.spec_steps", "{step}", "Steps that verified draft tokens."
)
DRAFT_TOKENS = Metric(
    "specdecode.client.draft_tokens", "{token}", "Draft tokens proposed."
)
ACCEPTED_TOKENS = Metric(
    "specdecode.client.accepted_tokens",
    "{token}",
    "Draft tokens accepted, without the bonus tokens.",
)
ACCEPTED_BY_POSITION = Metric(
    "specdecode.client.accepted_tokens_by_position",
    "{token}",
    "Steps that accepted at least position + 1 draft tokens.",
)
CHUNK_COUNT_SITES = Metric(
    "specdecode.client.chunk_count_sites",
    "{site}",
    "Call sites found to derive a rate from chunks.",
)
TELEMETRY_DROPPED = Metric(
    "specdecode.client.telemetry_dropped", "{event}", "What could not be recorded."
)

ACCEPTANCE_RATE_HISTOGRAM = Metric(
    "specdecode.client.draft_acceptance_rate",
    "1",
    "Accepted over proposed draft tokens of a request.",
    _SHARE,
)
ACCEPTANCE_LENGTH_HISTOGRAM = Metric(
    "specdecode.client.mean_acceptance_length",
    "{token}",
    "Tokens a speculative step of a request, bonus token included.",
    _LENGTH,
)
OUTPUT_TOKEN_RATE = Metric(
    "specdecode.client.output_token_rate",
    "{token}/s",
    "Output tokens of a request over its whole time.",
    _RATE,
)
TPOT = Metric(
    "specdecode.client.time_per_output_token",
    "s",
    "Time per output token after the first content chunk.",
    _PER_TOKEN,
)
TTFT = Metric(
    "specdecode.client.time_to_first_token",
    "s",
    "Time to the first chunk with content.",
    _FIRST_TOKEN,
)
CHUNK_GAP_MEAN_HISTOGRAM = Metric(
    "specdecode.client.chunk_gap_mean",
    "s",
    "Mean time between chunks with content; a delivery measure.",
    _GAP,
)
CHUNK_GAP_MAX_HISTOGRAM = Metric(
    "specdecode.client.chunk_gap_max",
    "s",
    "Longest time between chunks with content; a delivery measure.",
    _GAP,
)
TOKENS_PER_CHUNK = Metric(
    "specdecode.client.tokens_per_chunk",
    "{token}",
    "Output tokens over chunks with content: what a chunk counter misses.",
    _LENGTH,
)
CONSUMER_SHARE_HISTOGRAM = Metric(
    "specdecode.client.consumer_share",
    "1",
    "Share of a stream's time that the application spent between reads.",
    _SHARE,
)
SERVER_QUEUE = Metric(
    "specdecode.client.server_queue_time",
    "s",
    "Time in the engine's queue, on the engine's clock.",
    _SERVER_TIME,
)
SERVER_PREFILL = Metric(
    "specdecode.client.server_prefill_time",
    "s",
    "From scheduling to the first token, on the engine's clock.",
    _SERVER_TIME,
)
SERVER_DECODE = Metric(
    "specdecode.client.server_decode_time",
    "s",
    "From the first token to the last, on the engine's clock.",
    _SERVER_TIME,
)

COUNTERS = (
    REQUESTS,
    OUTPUT_TOKEN_COUNT,
    CONTENT_CHUNKS,
    SPEC_STEPS,
    DRAFT_TOKENS,
    ACCEPTED_TOKENS,
    ACCEPTED_BY_POSITION,
    CHUNK_COUNT_SITES,
    TELEMETRY_DROPPED,
)
HISTOGRAMS = (
    ACCEPTANCE_RATE_HISTOGRAM,
    ACCEPTANCE_LENGTH_HISTOGRAM,
    OUTPUT_TOKEN_RATE,
    TPOT,
    TTFT,
    CHUNK_GAP_MEAN_HISTOGRAM,
    CHUNK_GAP_MAX_HISTOGRAM,
    TOKENS_PER_CHUNK,
    CONSUMER_SHARE_HISTOGRAM,
    SERVER_QUEUE,
    SERVER_PREFILL,
    SERVER_DECODE,
)


class GenAINames(StrEnum):
    """Which names the standard GenAI metrics go out under."""

    PUBLISHED = "published"
    """Semantic conventions 1.41, what every instrumentation emits in 2026."""
    NEXT = "next"
    """The unreleased repository: `gen_ai.client.inference.*`."""


@dataclass(frozen=True, slots=True)
class GenAIMetrics:
    """The standard client metrics under one set of names.

    Attributes:
        duration: of the whole request.
        time_to_first_chunk: streams only.
        time_per_output_chunk: one record a chunk, so off unless asked for.
        input_tokens: of usage.
        output_tokens: of usage.
        token_type: whether both go to one instrument, told apart by an attribute.
    """

    duration: Metric
    time_to_first_chunk: Metric
    time_per_output_chunk: Metric
    input_tokens: Metric
    output_tokens: Metric
    token_type: bool


def genai_metrics(names: GenAINames) -> GenAIMetrics:
    """Return the standard metrics under the names asked for."""
    published = names is GenAINames.PUBLISHED
    stem = "gen_ai.client.operation" if published else "gen_ai.client.inference"
    token_usage = "gen_ai.client.token.usage"
    input_tokens = token_usage if published else f"{stem}.operation.input_tokens"
    output_tokens = token_usage if published else f"{stem}.operation.output_tokens"

    def timed(name: str, description: str) -> Metric:
        return Metric(f"{stem}.{name}", "s", description, _GENAI_DURATION)

    def tokens(name: str) -> Metric:
        return Metric(
            name, "{token}", "Tokens of a request, from usage.", _GENAI_TOKENS
        )

    return GenAIMetrics(
        duration=timed("duration", "GenAI operation duration."),
        time_to_first_chunk=timed("time_to_first_chunk", "Time to the first chunk."),
        time_per_output_chunk=timed("time_per_output_chunk", "Time between chunks."),
        input_tokens=tokens(input_tokens),
        output_tokens=tokens(output_tokens),
        token_type=published,
    )
