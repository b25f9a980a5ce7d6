"""The dashboard to open first: is speculation worth it, and are the numbers right?"""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Panel, Row, Target

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


_NOW = (
    Panel(
        title="Acceptance rate",
        kind="stat",
        unit="percentunit",
        largest=1,
        width=6,
        height=5,
        description=(
            "Accepted draft tokens over draft tokens, from the servers' counters. "
            "No value: nothing was drafted in the interval."
        ),
        targets=(Target(expr=q.acceptance_of_servers(), legend="{{model_name}}"),),
    ),
    Panel(
        title="Effective tokens per step",
        kind="stat",
        unit="short",
        decimals=2,
        width=6,
        height=5,
        description=(
            "1 + accepted draft tokens over speculative steps: what one forward pass "
            "of the target yields, the bonus token included. 1 is no gain."
        ),
        targets=(Target(expr=q.length_of_servers(), legend="{{model_name}}"),),
    ),
    Panel(
        title="Chunks undercount tokens by",
        kind="stat",
        unit="short",
        decimals=2,
        width=6,
        height=5,
        description=(
            "Output tokens over content chunks of streams whose usage is known. A "
            "program that counts chunks reports a rate that many times too low."
        ),
        targets=(
            Target(
                expr=q.ratio(
                    q.client_rate("output_tokens_total", where=_STREAMS),
                    q.client_rate("content_chunks_total"),
                ),
                legend="{{gen_ai_response_model}}",
            ),
        ),
    ),
    Panel(
        title="Streams without usage",
        kind="stat",
        unit="percentunit",
        largest=1,
        width=6,
        height=5,
        description=(
            "Completed streams that carried no token count, over all streams. Neither "
            "tokens nor acceptance are known for these."
        ),
        targets=(
            Target(expr=_streams_without_usage(), legend="{{gen_ai_response_model}}"),
        ),
    ),
)

_OVER_TIME = (
    Panel(
        title="Acceptance rate over time",
        unit="percentunit",
        largest=1,
        description=(
            "Accepted over drafted, once from the servers' counters and once from what "
            "clients were told. A gap is a time without drafts."
        ),
        targets=(
            Target(expr=q.acceptance_of_servers(), legend="server {{model_name}}"),
            Target(
                expr=q.acceptance_of_clients(),
                legend="clients {{gen_ai_response_model}}",
            ),
        ),
    ),
    Panel(
        title="Effective tokens per step over time",
        unit="short",
        description="1 + accepted over steps, from both sides. 1 is no gain.",
        targets=(
            Target(expr=q.length_of_servers(), legend="server {{model_name}}"),
            Target(
                expr=q.length_of_clients(), legend="clients {{gen_ai_response_model}}"
            ),
        ),
    ),
    Panel(
        title="Output tokens per second",
        unit="short",
        description=(
            "Generated tokens: counted by the servers, and by clients from usage. "
            "Clients below servers: some traffic is not instrumented, or ended early."
        ),
        targets=(
            Target(
                expr=q.server_rate("generation_tokens_total"),
                legend="server {{model_name}}",
            ),
            Target(
                expr=q.client_rate("output_tokens_total"),
                legend="clients {{gen_ai_response_model}}",
            ),
        ),
    ),
    Panel(
        title="Time per output token (clients, median)",
        unit="s",
        description=(
            "From the first content chunk to the last chunk, over the tokens after the "
            "first chunk: the number that speculation is meant to lower."
        ),
        targets=(
            Target(
                expr=q.client_quantile(0.5, "time_per_output_token_seconds"),
                legend="{{gen_ai_response_model}}",
            ),
        ),
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
