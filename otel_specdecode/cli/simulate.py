"""`otel-specdecode simulate`: a server that speculates, without a model or a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
@click.option(
    "--engines", "num_engines", type=int, default=None, help="Data-parallel engines."
)
@click.option("--stream-interval", type=int, default=None, help="Tokens a chunk.")
@click.option(
    "--payload",
    type=click.Choice(["none", "summary", "detailed"]),
    default=None,
    help="Per-request acceptance metrics.",
)
@click.option(
    "--timing/--no-timing",
    "timing_fields",
    default=None,
    help="Per-request timing fields.",
)
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
    default=None,
    help="Directives for every request, as in the x-simulate header.",
)
def command(
    *,
    profile_name: str,
    list_profiles: bool,
    host: str,
    port: int,
    write_each: bool,
    **changes: Any,
) -> None:
    """Serve an OpenAI-compatible, vLLM-shaped API that speculates."""
    from otel_specdecode.simulator import PROFILES, serve

    if list_profiles:
        for profile in PROFILES:
            click.echo(f"{profile.name:<12}{_describe(profile)}")
        return
    try:
        profile = _changed(profile_name, changes)
        # A program that starts this one reads the URL from the first line.
        responder = serve(
            profile,
            host=host,
            port=port,
            write_each=write_each,
            on_ready=lambda url: click.echo(
                f"{url}  model {profile.model} ({_describe(profile)})"
            ),
        )
    except SimulatorError as error:
        raise click.UsageError(str(error)) from error
    totals = responder.ledger.totals
    click.echo(
        f"{totals.num_requests} requests, {totals.num_output_tokens} output tokens, "
        f"{totals.num_spec_steps} spec steps, {totals.num_draft_tokens} draft tokens, "
        f"{totals.num_accepted_draft_tokens} accepted"
    )


def _changed(name: str, changes: dict[str, Any]) -> Profile:
    """The named profile, with the options that were given."""
    from otel_specdecode.simulator import PayloadLevel, named_profile

    given = {field: value for field, value in changes.items() if value is not None}
    if "payload" in given:
        given["payload"] = PayloadLevel(given["payload"])
    return replace(named_profile(name), **given)


def _describe(profile: Profile) -> str:
    """Method, k and acceptance, in words for a terminal."""
    speculation = profile.speculation
    if speculation is None:
        interval = profile.stream_interval
        merged = f", {interval} tokens a chunk" if interval > 1 else ""
        return f"no speculation{merged}"
    rates = speculation.acceptance_by_position[:4]
    more = " ..." if speculation.num_spec_tokens > len(rates) else ""
    shown = " ".join(f"{rate:.2f}" for rate in rates)
    return (
        f"{speculation.method}, k = {speculation.num_spec_tokens}, "
        f"acceptance by position {shown}{more}"
    )
