"""How far into a draft tokens are accepted, by position, over time."""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Row
from generator.panels import both_sides, line, panel, share

_SERVER_BY = ("model_name", "position")
_CLIENT_BY = (q.MODEL, "specdecode_position")
_SERVER = q.server_rate("spec_decode_num_accepted_tokens_per_pos_total", _SERVER_BY)
_CLIENT = q.client_rate("accepted_tokens_by_position_total", _CLIENT_BY)
_SERVER_STEPS = q.server_rate("spec_decode_num_drafts_total")
_CLIENT_STEPS = q.client_rate("spec_steps_total")
_SERVER_LEGEND = "{{model_name}} position {{position}}"
_CLIENT_LEGEND = "{{gen_ai_response_model}} position {{specdecode_position}}"


def _of_steps(accepted: str, steps: str, model: str) -> str:
    return f"{accepted} / on ({model}) group_left () ({steps} > 0)"


_OF_SERVERS = line(_of_steps(_SERVER, _SERVER_STEPS, "model_name"), _SERVER_LEGEND)
_OF_CLIENTS = line(_of_steps(_CLIENT, _CLIENT_STEPS, q.MODEL), _CLIENT_LEGEND)

_CAVEAT = (
    "Share of steps that accepted at least this many drafts; position 0 is the first. "
    "With draft lengths that vary late positions read low: steps that never drafted "
    "that far count below the line."
)

_NOW = (
    share("Accepted by position, servers", _CAVEAT, _OF_SERVERS, kind="bargauge"),
    share(
        "Accepted by position, clients",
        f"{_CAVEAT} From the histograms in the responses.",
        _OF_CLIENTS,
        kind="bargauge",
    ),
)

_OVER_TIME = (
    share("Acceptance by position over time, servers", _CAVEAT, _OF_SERVERS),
    share("Acceptance by position over time, clients", _CAVEAT, _OF_CLIENTS),
    panel(
        "Accepted draft tokens per second by position, servers",
        "short",
        "The same counts without a line below them: their sum is the accepted "
        "draft tokens a second.",
        line(_SERVER, _SERVER_LEGEND),
        stacked=True,
    ),
    both_sides(
        "Speculative steps per second",
        "short",
        "What the shares above are shares of, on both sides.",
        server=_SERVER_STEPS,
        clients=_CLIENT_STEPS,
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
