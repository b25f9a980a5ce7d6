"""What speculation costs: tokens drafted, verified and thrown away."""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Panel, Row, Target

_DRAFTED = q.server_rate("spec_decode_num_draft_tokens_total")
_ACCEPTED = q.server_rate("spec_decode_num_accepted_tokens_total")
_GENERATED = q.server_rate("generation_tokens_total")
_STEPS = q.server_rate("spec_decode_num_drafts_total")


def _panel(title: str, unit: str, description: str, *targets: Target) -> Panel:
    return Panel(
        title=title,
        unit=unit,
        description=description,
        largest=1 if unit == "percentunit" else None,
        targets=targets,
    )


_THROWN_AWAY = (
    Panel(
        title="Draft tokens per second, kept and thrown away",
        unit="short",
        stacked=True,
        description="The two parts of all draft tokens. Each of them was verified.",
        targets=(
            Target(expr=_ACCEPTED, legend="kept {{model_name}}"),
            Target(
                expr=f"{_DRAFTED} - {_ACCEPTED}", legend="thrown away {{model_name}}"
            ),
        ),
    ),
    _panel(
        "Share of draft tokens thrown away",
        "percentunit",
        "1 minus the acceptance rate.",
        Target(
            expr=q.ratio(f"({_DRAFTED} - {_ACCEPTED})", _DRAFTED),
            legend="{{model_name}}",
        ),
    ),
    _panel(
        "Tokens thrown away for each output token",
        "short",
        "Verified for nothing, per token that somebody got. Under load this is compute "
        "that other requests would have used.",
        Target(
            expr=q.ratio(f"({_DRAFTED} - {_ACCEPTED})", _GENERATED),
            legend="{{model_name}}",
        ),
    ),
    _panel(
        "Draft length",
        "short",
        "Draft tokens over speculative steps: what was configured, or less where the "
        "server adapts it.",
        Target(expr=q.ratio(_DRAFTED, _STEPS), legend="{{model_name}}"),
    ),
)

_LOAD = (
    _panel(
        "Output tokens from drafts",
        "percentunit",
        "Accepted draft tokens over generated tokens: the share of the output that no "
        "step of its own had to be spent on.",
        Target(expr=q.ratio(_ACCEPTED, _GENERATED), legend="{{model_name}}"),
    ),
    _panel(
        "Requests running and waiting",
        "short",
        "Speculation pays least where the server is full: compare with the shares "
        "above.",
        Target(
            expr=q.server_gauge("num_requests_running"),
            legend="running {{model_name}}",
        ),
        Target(
            expr=q.server_gauge("num_requests_waiting"),
            legend="waiting {{model_name}}",
        ),
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
