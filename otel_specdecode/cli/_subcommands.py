"""The subcommands, each imported when it is called."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """A subcommand that is imported only when it is needed.

    Attributes:
        name: as it is typed.
        module: holds the click command `command`.
        summary: its line in the list.
    """

    name: str
    module: str
    summary: str


SUBCOMMANDS = (
    Subcommand(
        name="collector",
        module="otel_specdecode.cli.collector",
        summary="Files, checks and a probe for the OpenTelemetry Collector.",
    ),
    Subcommand(
        name="demo",
        module="otel_specdecode.cli.demo",
        summary="Show chunks against tokens, on the simulator or your own server.",
    ),
    Subcommand(
        name="doctor",
        module="otel_specdecode.cli.doctor",
        summary="Say what a server gives, what is missing, and what mends it.",
    ),
    Subcommand(
        name="lint",
        module="otel_specdecode.cli.lint",
        summary="Find code that takes streamed chunks for tokens.",
    ),
    Subcommand(
        name="rule",
        module="otel_specdecode.cli.rule",
        summary="Explain a lint rule.",
    ),
    Subcommand(
        name="simulate",
        module="otel_specdecode.cli.simulate",
        summary="Serve an OpenAI-compatible API that speculates.",
    ),
)


def load(name: str) -> click.Command | None:
    """Import a subcommand; `None` when there is none of that name."""
    for subcommand in SUBCOMMANDS:
        if subcommand.name == name:
            command: click.Command = import_module(subcommand.module).command
            return command
    return None
