"""What clients experienced beside what the server did, number by number."""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Panel, Row, Target

_SERVER = "server {{model_name}}"
_CLIENTS = "clients {{gen_ai_response_model}}"


def _pair(title: str, description: str, unit: str, server: str, clients: str) -> Panel:
    return Panel(
        title=title,
        description=description,
        unit=unit,
        largest=1 if unit == "percentunit" else None,
        targets=(
            Target(expr=server, legend=_SERVER),
            Target(expr=clients, legend=_CLIENTS),
        ),
    )


def _by_server_name(expr: str) -> str:
    """A clients' series under the label that servers use for the model."""
    return f'label_replace({expr}, "model_name", "$1", "{q.MODEL}", "(.+)")'


_SPECULATION = (
    _pair(
        "Acceptance rate",
        "C / D. They agree where all traffic is instrumented and ends normally.",
        "percentunit",
        q.acceptance_of_servers(),
        q.acceptance_of_clients(),
    ),
    _pair(
        "Mean acceptance length",
        "1 + C / R, the bonus token included.",
        "short",
        q.length_of_servers(),
        q.length_of_clients(),
    ),
    _pair(
        "Draft tokens per second",
        "What was drafted, and what of it clients were told. Requests with n above 1, "
        "several prompts or an early end carry no acceptance to the client.",
        "short",
        q.server_rate("spec_decode_num_draft_tokens_total"),
        q.client_rate("draft_tokens_total"),
    ),
    Panel(
        title="Drafts that clients account for",
        unit="percentunit",
        smallest=0,
        description=(
            "Draft tokens known to clients over draft tokens of the servers. Below 1: "
            "clients without instrumentation, or without usage."
        ),
        targets=(
            Target(
                expr=q.ratio(
                    "sum by (model_name) ("
                    + _by_server_name(q.client_rate("draft_tokens_total"))
                    + ")",
                    q.server_rate("spec_decode_num_draft_tokens_total"),
                ),
                legend="{{model_name}}",
            ),
        ),
    ),
)

_TIME = (
    _pair(
        "Time to first token, median",
        "Server: arrival to first token. Clients: request to first chunk with content, "
        "network and client included.",
        "s",
        q.server_quantile(0.5, "time_to_first_token_seconds"),
        q.client_quantile(0.5, "time_to_first_token_seconds"),
    ),
    _pair(
        "Time per output token, median",
        "Server: decode time over tokens after the first. Clients: arrival of chunks "
        "over the tokens in them. Two clocks, one meaning.",
        "s",
        q.server_quantile(0.5, "request_time_per_output_token_seconds"),
        q.client_quantile(0.5, "time_per_output_token_seconds"),
    ),
    _pair(
        "Output tokens per second",
        "Tokens that the servers generated, and tokens that reached clients.",
        "short",
        q.server_rate("generation_tokens_total"),
        q.client_rate("output_tokens_total"),
    ),
    Panel(
        title="Requests per second",
        unit="reqps",
        description=(
            "Requests that the servers finished, and requests that ended at clients."
        ),
        targets=(
            Target(expr=q.server_rate("request_success_total"), legend=_SERVER),
            Target(expr=q.client_rate("requests_total"), legend=_CLIENTS),
        ),
    ),
)

DASHBOARD = Dashboard(
    uid="specdecode-sides",
    title="Speculation: client and server",
    description="The same quantity from both sides, in one panel each.",
    rows=(
        Row(title="Speculation", panels=_SPECULATION),
        Row(title="Time and traffic", panels=_TIME),
    ),
)
