"""The panels that the dashboards are made of, each in one line of its own."""

from __future__ import annotations

from typing import Any

from generator.dashboard_json import Panel, Target

SERVER = "server {{model_name}}"
CLIENTS = "clients {{gen_ai_response_model}}"
BY_MODEL = "{{model_name}}"
BY_CLIENTS_MODEL = "{{gen_ai_response_model}}"


def line(expr: str, legend: str) -> Target:
    """One query and the name of its series."""
    return Target(expr=expr, legend=legend)


def panel(
    title: str, unit: str, description: str, *targets: Target, **shape: Any
) -> Panel:
    """A panel of queries; `shape` is whatever else a `Panel` has."""
    return Panel(
        title=title, unit=unit, description=description, targets=targets, **shape
    )


def share(title: str, description: str, *targets: Target, **shape: Any) -> Panel:
    """Parts of a whole: from 0 to 100 %, and the axis shows all of it."""
    return panel(title, "percentunit", description, *targets, largest=1, **shape)


def both_sides(
    title: str, unit: str, description: str, *, server: str, clients: str
) -> Panel:
    """One quantity as the servers and as the clients have it."""
    lines = (line(server, SERVER), line(clients, CLIENTS))
    if unit == "percentunit":
        return share(title, description, *lines)
    return panel(title, unit, description, *lines)


def figure(
    title: str, unit: str, description: str, target: Target, **shape: Any
) -> Panel:
    """One number, large, a quarter of the page wide."""
    shape = {"kind": "stat", "width": 6, "height": 5, **shape}
    return panel(title, unit, description, target, **shape)
