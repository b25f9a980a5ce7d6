"""The dashboard to open first: is speculation worth it, and are the numbers right?"""

from __future__ import annotations

from generator import queries as q
from generator.comparisons import acceptance_length, acceptance_rate, output_tokens
from generator.dashboard_json import Dashboard, Row
from generator.panels import BY_CLIENTS_MODEL, BY_MODEL, figure, line, panel

_STREAMS = 'specdecode_streaming="true"'
_UNKNOWN = (
    f'{_STREAMS}, specdecode_outcome="completed", specdecode_usage=~"absent|refused"'
)


def _streams_without_usage() -> str:
    streams = q.client_rate("requests_total", where=_STREAMS)
    unknown = q.client_rate("requests_total", where=_UNKNOWN)
    # A model all of whose streams carry usage has no series above the line, and its
    # share is 0, which is measured and not missing.
    return q.ratio(f"({unknown} or 0 * {streams})", streams)


def _undercount() -> str:
    tokens = q.client_rate("output_tokens_total", where=_STREAMS)
    return q.ratio(tokens, q.client_rate("content_chunks_total"))


_NOW = (
    figure(
        "Acceptance rate",
        "percentunit",
        "Accepted draft tokens over draft tokens, from the servers' counters; of a "
        "model whose servers are not scraped, from what clients were told. No value: "
        "nothing was drafted in the interval.",
        line(
            q.of_servers_else_of_clients(
                q.acceptance_of_servers(), q.acceptance_of_clients()
            ),
            BY_MODEL,
        ),
        largest=1,
    ),
    figure(
        "Effective tokens per step",
        "short",
        "1 + accepted draft tokens over speculative steps: what one forward pass "
        "of the target yields, the bonus token included. 1 is no gain. Of servers, or "
        "of clients where no server is scraped.",
        line(
            q.of_servers_else_of_clients(q.length_of_servers(), q.length_of_clients()),
            BY_MODEL,
        ),
        decimals=2,
    ),
    figure(
        "Chunks undercount tokens by",
        "short",
        "Output tokens over content chunks of streams whose usage is known. A "
        "program that counts chunks reports a rate that many times too low.",
        line(_undercount(), BY_CLIENTS_MODEL),
        decimals=2,
    ),
    figure(
        "Streams without usage",
        "percentunit",
        "Completed streams that carried no token count, over all streams. Neither "
        "tokens nor acceptance are known for these.",
        line(_streams_without_usage(), BY_CLIENTS_MODEL),
        largest=1,
    ),
)

_OVER_TIME = (
    acceptance_rate("Acceptance rate over time"),
    acceptance_length("Effective tokens per step over time"),
    output_tokens(),
    panel(
        "Time per output token (clients, median)",
        "s",
        "From the first content chunk to the last chunk, over the tokens after the "
        "first chunk: the number that speculation is meant to lower.",
        line(q.client_quantile(0.5, "time_per_output_token_seconds"), BY_CLIENTS_MODEL),
    ),
)

DASHBOARD = Dashboard(
    uid="specdecode-overview",
    title="Speculation: overview",
    description="Acceptance, tokens per step and true token rates, from both sides.",
    rows=(
        Row(title="Now", panels=_NOW),
        Row(title="Over time", panels=_OVER_TIME),
    ),
)
