"""How far into a draft tokens are accepted, by position, over time."""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Panel, Row, Target

_SERVER_BY = ("model_name", "position")
_CLIENT_BY = (q.MODEL, "specdecode_position")
_SERVER = q.server_rate("spec_decode_num_accepted_tokens_per_pos_total", _SERVER_BY)
_CLIENT = q.client_rate("accepted_tokens_by_position_total", _CLIENT_BY)


def _share(above: str, steps: str, model: str) -> str:
    return f"{above} / on ({model}) group_left () ({steps} > 0)"


_OF_SERVERS = _share(
    _SERVER, q.server_rate("spec_decode_num_drafts_total"), "model_name"
)
_OF_CLIENTS = _share(_CLIENT, q.client_rate("spec_steps_total"), q.MODEL)

_CAVEAT = (
    "Share of steps that accepted at least this many drafts; position 0 is the first. "
    "With draft lengths that vary late positions read low: steps that never drafted "
    "that far count below the line."
)

_NOW = (
    Panel(
        title="Accepted by position, servers",
        kind="bargauge",
        unit="percentunit",
        largest=1,
        description=_CAVEAT,
        targets=(
            Target(expr=_OF_SERVERS, legend="{{model_name}} position {{position}}"),
        ),
    ),
    Panel(
        title="Accepted by position, clients",
        kind="bargauge",
        unit="percentunit",
        largest=1,
        description=f"{_CAVEAT} From the histograms in the responses.",
        targets=(
            Target(
                expr=_OF_CLIENTS,
                legend="{{gen_ai_response_model}} position {{specdecode_position}}",
            ),
        ),
    ),
)

_OVER_TIME = (
    Panel(
        title="Acceptance by position over time, servers",
        unit="percentunit",
        largest=1,
        description=_CAVEAT,
        targets=(
            Target(expr=_OF_SERVERS, legend="{{model_name}} position {{position}}"),
        ),
    ),
    Panel(
        title="Acceptance by position over time, clients",
        unit="percentunit",
        largest=1,
        description=_CAVEAT,
        targets=(
            Target(
                expr=_OF_CLIENTS,
                legend="{{gen_ai_response_model}} position {{specdecode_position}}",
            ),
        ),
    ),
    Panel(
        title="Accepted draft tokens per second by position, servers",
        unit="short",
        stacked=True,
        description=(
            "The same counts without a line below them: their sum is the accepted "
            "draft tokens a second."
        ),
        targets=(Target(expr=_SERVER, legend="{{model_name}} position {{position}}"),),
    ),
    Panel(
        title="Speculative steps per second",
        unit="short",
        description="What the shares above are shares of, on both sides.",
        targets=(
            Target(
                expr=q.server_rate("spec_decode_num_drafts_total"),
                legend="server {{model_name}}",
            ),
            Target(
                expr=q.client_rate("spec_steps_total"),
                legend="clients {{gen_ai_response_model}}",
            ),
        ),
    ),
)

DASHBOARD = Dashboard(
    uid="specdecode-positions",
    title="Speculation: positions",
    description="Acceptance by position in the draft, for choosing its length.",
    rows=(
        Row(title="Now", panels=_NOW),
        Row(title="Over time", panels=_OVER_TIME),
    ),
)
