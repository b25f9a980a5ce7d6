"""Latency kept apart by name: TTFT, chunk gap and TPOT are three quantities.

With speculation a chunk carries several tokens: the gap between chunks grows while the
time per token falls. A panel never mixes the two.
"""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Panel, Row
from generator.panels import BY_CLIENTS_MODEL, BY_MODEL, line, panel, share


def _quantiles(title: str, name: str, description: str, unit: str = "s") -> Panel:
    lines = (
        line(
            q.client_quantile(quantile, name),
            f"p{quantile * 100:.0f} {{{{gen_ai_response_model}}}}",
        )
        for quantile in (0.5, 0.95, 0.99)
    )
    return panel(title, unit, description, *lines, width=8)


_TOKENS = (
    _quantiles(
        "Time to first token",
        "time_to_first_token_seconds",
        "Request to the first chunk with content (TTFT). Streams alone.",
    ),
    _quantiles(
        "Time per output token",
        "time_per_output_token_seconds",
        "Time after the first content chunk over the tokens after it (TPOT).",
    ),
    _quantiles(
        "Output token rate",
        "output_token_rate_per_second",
        "Tokens over the whole request: what tok/s should mean. p95 is a fast request.",
        "short",
    ),
)

_CHUNKS = (
    _quantiles(
        "Chunk gap, mean of a stream",
        "chunk_gap_mean_seconds",
        "Mean time between content chunks. A delivery measure: not time per token.",
    ),
    _quantiles(
        "Chunk gap, longest of a stream",
        "chunk_gap_max_seconds",
        "The longest pause that a reader of the stream saw.",
    ),
    _quantiles(
        "Tokens per chunk",
        "tokens_per_chunk",
        "Output tokens over content chunks. Above 1: chunks must not be counted.",
        "short",
    ),
)

_WHERE = (
    _quantiles(
        "Server queue",
        "server_queue_time_seconds",
        "As the server reports it with each response; absent unless it does.",
    ),
    _quantiles(
        "Server prefill",
        "server_prefill_time_seconds",
        "On the server's clock; absent unless the server reports it.",
    ),
    _quantiles(
        "Server decode",
        "server_decode_time_seconds",
        "On the server's clock; absent unless the server reports it.",
    ),
    share(
        "Share of time the consumer took",
        "Time that the application spent between two reads, over the stream's "
        "time. Near 1 the stream was slow because its reader was.",
        line(q.client_mean("consumer_share"), BY_CLIENTS_MODEL),
    ),
    panel(
        "Time of a step inside the server, median",
        "s",
        "What vLLM exports as inter-token latency: one value a step, and with "
        "speculation a step yields several tokens.",
        line(q.server_quantile(0.5, "inter_token_latency_seconds"), BY_MODEL),
    ),
)

DASHBOARD = Dashboard(
    uid="specdecode-latency",
    title="Speculation: latency",
    description="TTFT, TPOT and chunk gaps as clients saw them, and where time went.",
    rows=(
        Row(title="Tokens", panels=_TOKENS),
        Row(title="Chunks", panels=_CHUNKS),
        Row(title="Where the time went", panels=_WHERE),
    ),
)
