"""`otel-specdecode simulate`: a server that speculates, without a model or a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from otel_specdecode.errors import SimulatorError

if TYPE_CHECKING:
    from otel_specdecode.simulator import Profile


@click.command(name="simulate")
@click.option("--profile", "profile_name", default="mtp", show_default=True)
@click.option("--list-profiles", is_flag=True, help="Show the profiles and end.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port", default=8000, show_default=True, help="0 takes a free one, and says it."
)
@click.option("--model", default=None, help="Served model name.")
@click.option("--engines", type=int, default=None, help="Data-parallel engines.")
@click.option("--stream-interval", type=int, default=None, help="Tokens a chunk.")
@click.option(
    "--payload",
    type=click.Choice(["none", "summary", "detailed"]),
    default=None,
    help="Per-request acceptance metrics.",
)
@click.option("--timing/--no-timing", default=None, help="Per-request timing fields.")
@click.option(
    "--time-scale",
    type=float,
    default=None,
    help="Factor on every wait; 0 answers at once.",
)
@click.option("--seed", type=int, default=None, help="Start of the random draws.")
@click.option(
    "--write-each",
    is_flag=True,
    help="Write each event by itself, also those due at one instant.",
)
@click.option(
    "--simulate",
    "directives",
    default=None,
    help="Directives for every request, as in the x-simulate header.",
)
def command(
    profile_name: str,
    list_profiles: bool,  # noqa: FBT001 - click passes by keyword
    host: str,
    port: int,
    write_each: bool,  # noqa: FBT001
    **changes: object,
) -> None:
    """Serve an OpenAI-compatible, vLLM-shaped API that speculates."""
    from otel_specdecode.simulator import (
        PayloadLevel,
        named_profile,
        serve,
    )

    if list_profiles:
        _show_profiles()
        return
    renamed = {"engines": "num_engines", "timing": "timing_fields"}
    given = {
        renamed.get(name, name): value
        for name, value in changes.items()
        if value is not None
    }
    if "directives" in given:
        given["simulate"] = given.pop("directives")
    if "payload" in given:
        given["payload"] = PayloadLevel(str(given["payload"]))
    try:
        profile = replace(named_profile(profile_name), **given)  # pyright: ignore[reportArgumentType] - click checked the types
        responder = serve(
            profile,
            host=host,
            port=port,
            write_each=write_each,
            on_ready=_announce(profile),
        )
    except SimulatorError as error:
        raise click.UsageError(str(error)) from error
    totals = responder.ledger.totals
    click.echo(
        f"{totals.num_requests} requests, {totals.num_output_tokens} output tokens, "
        f"{totals.num_spec_steps} spec steps, {totals.num_draft_tokens} draft tokens, "
        f"{totals.num_accepted_draft_tokens} accepted"
    )


class _announce:  # noqa: N801 - reads as the function that it is
    """Says where the server is, once it answers."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def __call__(self, base_url: str) -> None:
        speculation = self._profile.speculation
        what = (
            f"{speculation.method}, k = {speculation.num_spec_tokens}"
            if speculation
            else "no speculation"
        )
        # A program that starts this one reads the URL from the first line.
        click.echo(f"{base_url}  model {self._profile.model} ({what})")


def _show_profiles() -> None:
    from otel_specdecode.simulator import PROFILES

    for profile in PROFILES:
        speculation = profile.speculation
        rates = (
            ", ".join(f"{rate:.2f}" for rate in speculation.acceptance_by_position[:4])
            if speculation
            else "-"
        )
        k = speculation.num_spec_tokens if speculation else 0
        click.echo(f"{profile.name:<12} k={k:<3} acceptance by position: {rates}")
