"""The group that lists every subcommand without importing any."""

from __future__ import annotations

import click

from otel_specdecode.cli._subcommands import SUBCOMMANDS, load


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [subcommand.name for subcommand in SUBCOMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        return load(cmd_name)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(s.name, s.summary) for s in SUBCOMMANDS])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="otel-specdecode")
def group() -> None:
    """Right token numbers from OpenAI-compatible servers that speculate."""
