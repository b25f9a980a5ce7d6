"""`otel-specdecode demo`: chunks against tokens, on simulated servers or your own."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import click

from otel_specdecode.cli._own_server import address_of, server_options
from otel_specdecode.cli._progress import progress
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from otel_specdecode.cli._demo_export import Sent
    from otel_specdecode.cli._demo_servers import Target
    from otel_specdecode.cli._demo_story import Story

_MISSING = (
    "the demo needs the package '{name}'; "
    "install it with: pip install 'otel-specdecode[all]'"
)


@click.command(name="demo")
@server_options("Your own server instead")
@click.option(
    "--requests",
    "num_requests",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Streams from each server.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(2, 100_000),
    default=128,
    show_default=True,
    help="Limit of each answer.",
)
@click.option(
    "--time-scale",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Factor on the simulated servers' waits; 0.1 is ten times faster.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object (docs/demo.md).")
def command(
    *,
    base_url: str | None,
    model: str | None,
    api_key: str | None,
    num_requests: int,
    max_tokens: int,
    time_scale: float,
    as_json: bool,
) -> None:
    """Count the tokens of streams rightly, beside a counter that takes chunks.

    Without --base-url, three simulated servers tell the story: no GPU, no model.
    Spans and metrics are printed, or sent where OTEL_EXPORTER_OTLP_ENDPOINT says.
    """
    address = address_of(base_url, model, api_key)
    try:
        from otel_specdecode.cli import _demo_servers as servers

        if base_url is None or address is None:
            targets: Iterable[Target] = servers.start_each(
                servers.simulated_servers(time_scale)
            )
        else:
            targets = (servers.own_server(address, base_url, model, api_key),)
        stories, sent = _measure_all(
            targets, num_requests=num_requests, max_tokens=max_tokens
        )
    except ModuleNotFoundError as error:
        raise click.ClickException(_MISSING.format(name=error.name)) from error
    _print(stories, sent, as_json=as_json)


def _measure_all(
    targets: Iterable[Target], *, num_requests: int, max_tokens: int
) -> tuple[list[Story], Sent]:
    from otel_specdecode.cli._demo_export import open_outlet
    from otel_specdecode.cli._demo_measure import DemoError, measure
    from otel_specdecode.cli._demo_story import tell

    stories: list[Story] = []
    try:
        outlet = open_outlet()
        for target in targets:
            with progress(f"{target.name}: {num_requests} streams"):
                measured = measure(
                    target,
                    outlet.providers,
                    num_requests=num_requests,
                    max_tokens=max_tokens,
                )
            stories.append(tell(measured))
        return stories, outlet.close()
    except (DemoError, ConfigError) as error:
        raise click.ClickException(str(error)) from error


def _print(stories: list[Story], sent: Sent, *, as_json: bool) -> None:
    if as_json:
        from otel_specdecode.cli._demo_json import to_json

        click.echo(to_json(stories, sent, version=version("otel-specdecode")))
        return
    from otel_specdecode.cli._demo_text import show

    show(_console(), stories, sent)


def _console() -> Console:
    from rich.console import Console

    from otel_specdecode.cli._demo_text import WIDTH

    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    return console
