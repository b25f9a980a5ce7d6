"""What speculation costs: tokens drafted, verified and thrown away."""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Row
from generator.panels import BY_MODEL, line, panel, share

_DRAFTED = q.server_rate("spec_decode_num_draft_tokens_total")
_ACCEPTED = q.server_rate("spec_decode_num_accepted_tokens_total")
_GENERATED = q.server_rate("generation_tokens_total")
_STEPS = q.server_rate("spec_decode_num_drafts_total")
_WASTED = f"{_DRAFTED} - {_ACCEPTED}"

_THROWN_AWAY = (
    panel(
        "Draft tokens per second, kept and thrown away",
        "short",
        "The two parts of all draft tokens. Each of them was verified.",
        line(_ACCEPTED, "kept {{model_name}}"),
        line(_WASTED, "thrown away {{model_name}}"),
        stacked=True,
    ),
    share(
        "Share of draft tokens thrown away",
        "1 minus the acceptance rate.",
        line(q.ratio(f"({_WASTED})", _DRAFTED), BY_MODEL),
    ),
    panel(
        "Tokens thrown away for each output token",
        "short",
        "Verified for nothing, per token that somebody got. Under load this is compute "
        "that other requests would have used.",
        line(q.ratio(f"({_WASTED})", _GENERATED), BY_MODEL),
    ),
    panel(
        "Draft length",
        "short",
        "Draft tokens over speculative steps: what was configured, or less where the "
        "server adapts it.",
        line(q.ratio(_DRAFTED, _STEPS), BY_MODEL),
    ),
)

_LOAD = (
    share(
        "Output tokens from drafts",
        "Accepted draft tokens over generated tokens: the share of the output that no "
        "step of its own had to be spent on.",
        line(q.ratio(_ACCEPTED, _GENERATED), BY_MODEL),
    ),
    panel(
        "Requests running and waiting",
        "short",
        "Speculation pays least where the server is full: compare with the shares "
        "above.",
        line(q.server_gauge("num_requests_running"), "running {{model_name}}"),
        line(q.server_gauge("num_requests_waiting"), "waiting {{model_name}}"),
    ),
)

DASHBOARD = Dashboard(
    uid="specdecode-cost",
    title="Speculation: cost",
    description="Drafted, verified and thrown away.",
    rows=(
        Row(title="Thrown away", panels=_THROWN_AWAY),
        Row(title="Against load", panels=_LOAD),
    ),
)
