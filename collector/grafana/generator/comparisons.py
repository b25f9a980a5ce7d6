"""Panels that several dashboards have: the servers beside the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator import queries as q
from generator.panels import both_sides

if TYPE_CHECKING:
    from generator.dashboard_json import Panel


def acceptance_rate(title: str) -> Panel:
    """C / D of both sides."""
    return both_sides(
        title,
        "percentunit",
        "C / D: accepted over drafted tokens, from the servers' counters and from what "
        "clients were told. They agree where all traffic is instrumented and ends "
        "normally. A gap is a time without drafts.",
        server=q.acceptance_of_servers(),
        clients=q.acceptance_of_clients(),
    )


def acceptance_length(title: str) -> Panel:
    """1 + C / R of both sides."""
    return both_sides(
        title,
        "short",
        "1 + C / R: accepted draft tokens over speculative steps, the bonus token "
        "included, from both sides. 1 is no gain.",
        server=q.length_of_servers(),
        clients=q.length_of_clients(),
    )


def output_tokens() -> Panel:
    """Tokens a second of both sides."""
    return both_sides(
        "Output tokens per second",
        "short",
        "Generated tokens: counted by the servers, and by clients from usage. "
        "Clients below servers: some traffic is not instrumented, or ended early.",
        server=q.server_rate("generation_tokens_total"),
        clients=q.client_rate("output_tokens_total"),
    )
