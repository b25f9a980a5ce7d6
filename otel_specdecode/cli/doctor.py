"""`otel-specdecode doctor`: what a server gives, what is missing, and what mends it."""

from __future__ import annotations

import os

import click

from otel_specdecode.cli._own_server import address_of, server_options
from otel_specdecode.cli._progress import progress


@click.command(name="doctor")
@server_options("The server to examine")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0.1, max=600),
    default=20.0,
    show_default=True,
    help="Seconds that one request may take.",
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="CODE",
    help="A finding to leave out, by its code; may be repeated.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object (docs/doctor.md)."
)
@click.pass_context
def command(
    context: click.Context,
    *,
    base_url: str | None,
    model: str | None,
    api_key: str | None,
    timeout_s: float,
    ignored: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what a server gives, what is missing, and the flag that turns it on.

    Asks for three pages and at most five answers of 16 tokens. Without --base-url it
    looks at this environment alone. Exit code 0: all there; 1: something is missing
    or wrong; 2: the server cannot be reached, or misuse.
    """
    address = address_of(base_url, model, api_key)
    from otel_specdecode.cli._doctor_process import examine_process
    from otel_specdecode.cli._doctor_verdict import judge

    server = None
    with progress("examining"):
        if address is not None:
            from otel_specdecode.cli._doctor_server import examine

            server = examine(address, model, timeout_s)
        process = examine_process(os.environ, timeout_s)
    verdict = judge(server, process, ignored)
    if as_json:
        from otel_specdecode.cli._doctor_json import to_json

        click.echo(to_json(verdict))
    else:
        from otel_specdecode.cli._doctor_text import render

        click.echo(render(verdict))
    context.exit(verdict.exit_code)
