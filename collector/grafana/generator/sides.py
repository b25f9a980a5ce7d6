"""What clients experienced beside what the server did, number by number."""

from __future__ import annotations

from generator import queries as q
from generator.comparisons import acceptance_length, acceptance_rate, output_tokens
from generator.dashboard_json import Dashboard, Row
from generator.panels import BY_MODEL, both_sides, line, panel


def _accounted_for() -> str:
    clients = q.by_server_name(q.client_rate("draft_tokens_total"))
    servers = q.server_rate("spec_decode_num_draft_tokens_total")
    return q.ratio(f"sum by (model_name) ({clients})", servers)


_SPECULATION = (
    acceptance_rate("Acceptance rate"),
    acceptance_length("Mean acceptance length"),
    both_sides(
        "Draft tokens per second",
        "short",
        "What was drafted, and what of it clients were told. Requests with n above 1, "
        "several prompts or an early end carry no acceptance to the client.",
        server=q.server_rate("spec_decode_num_draft_tokens_total"),
        clients=q.client_rate("draft_tokens_total"),
    ),
    # Above 1 it says something too: servers that are not scraped.
    panel(
        "Drafts that clients account for",
        "percentunit",
        "Draft tokens known to clients over draft tokens of the servers. Below 1: "
        "clients without instrumentation, or without usage.",
        line(_accounted_for(), BY_MODEL),
    ),
)

_TIME = (
    both_sides(
        "Time to first token, median",
        "s",
        "Server: arrival to first token. Clients: request to first chunk with content, "
        "network and client included.",
        server=q.server_quantile(0.5, "time_to_first_token_seconds"),
        clients=q.client_quantile(0.5, "time_to_first_token_seconds"),
    ),
    both_sides(
        "Time per output token, median",
        "s",
        "Server: decode time over tokens after the first. Clients: arrival of chunks "
        "over the tokens in them. Two clocks, one meaning.",
        server=q.server_quantile(0.5, "request_time_per_output_token_seconds"),
        clients=q.client_quantile(0.5, "time_per_output_token_seconds"),
    ),
    output_tokens(),
    both_sides(
        "Requests per second",
        "reqps",
        "Requests that the servers finished, and requests that ended at clients.",
        server=q.server_rate("request_success_total"),
        clients=q.client_rate("requests_total"),
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
