"""Which kind of work gains from speculation: by task tag and model.

The task is what the application sets with `tag(task="code")`. Untagged requests are
one series without that label.
"""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Panel, Row
from generator.panels import line, panel, share

_BY = ("specdecode_tag_task", q.MODEL)
_LEGEND = "{{specdecode_tag_task}} {{gen_ai_response_model}}"


def _panel(title: str, unit: str, description: str, expr: str) -> Panel:
    return panel(title, unit, description, line(expr, _LEGEND))


_ACCEPTANCE = (
    share(
        "Acceptance rate by task",
        "Accepted over drafted, of the requests of one task. A gap: nothing drafted.",
        line(q.acceptance_of_clients(_BY), _LEGEND),
    ),
    _panel(
        "Mean acceptance length by task",
        "short",
        "1 + accepted over steps. Tasks whose line stays near 1 do not gain.",
        q.length_of_clients(_BY),
    ),
)

_SPEED = (
    _panel(
        "Time per output token by task, median",
        "s",
        "Streams alone: other requests have no first chunk.",
        q.client_quantile(0.5, "time_per_output_token_seconds", _BY),
    ),
    _panel(
        "Output token rate by task, median",
        "short",
        "Tokens of one request over its whole time, streams and others alike.",
        q.client_quantile(0.5, "output_token_rate_per_second", _BY),
    ),
    _panel(
        "Output tokens per second by task",
        "short",
        "Tokens from usage, summed over the requests of a task.",
        q.client_rate("output_tokens_total", _BY),
    ),
    _panel(
        "Requests per second by task",
        "reqps",
        "Requests that ended, whatever their outcome.",
        q.client_rate("requests_total", _BY),
    ),
)

DASHBOARD = Dashboard(
    uid="specdecode-tasks",
    title="Speculation: tasks",
    description="Acceptance and speed by the application's own task tag, and by model.",
    rows=(
        Row(title="Acceptance", panels=_ACCEPTANCE),
        Row(title="Speed and volume", panels=_SPEED),
    ),
)
