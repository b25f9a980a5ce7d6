"""`otel-specdecode collector`: the bundle's files, checks of yours, and a probe."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_specdecode.collector import Finding

_PACKAGES = {"yaml": "pyyaml", "promql_parser": "promql-parser"}
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(name="collector")
def command() -> None:
    """Files, checks and a probe for the OpenTelemetry Collector."""
    for module, package in _PACKAGES.items():
        if find_spec(module) is None:
            raise click.UsageError(
                f"this needs the package {package}; install it with: "
                "pip install 'otel-specdecode[collector]'"
            )


@command.command(name="list")
def list_files() -> None:
    """List the bundle's files."""
    from otel_specdecode.collector import list_bundle

    for name in list_bundle():
        click.echo(name)


@command.command()
@click.argument("name")
def show(name: str) -> None:
    """Print one file, such as base.yaml."""
    from otel_specdecode.collector.bundle import read_file

    try:
        click.echo(read_file(name), nl=False)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


@command.command()
@click.argument("target", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace files that differ.")
def copy(target: Path, *, force: bool) -> None:
    """Copy the bundle to the folder TARGET."""
    from otel_specdecode.collector import copy_bundle

    try:
        written = copy_bundle(target, overwrite=force)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"{len(written)} files in {target}")


@command.command()
@click.argument("files", nargs=-1, required=True, type=_EXISTING)
def check(files: tuple[Path, ...]) -> None:
    """Check configuration FILES of one collector, in the order of its --config.

    Variables count as set when they are set here. Exit code 1: an error was found.
    """
    from otel_specdecode.collector import check_configuration

    try:
        found = check_configuration(files, os.environ)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    _report(found)


@command.command(name="check-queries")
@click.argument("files", nargs=-1, required=True, type=_EXISTING)
def check_queries(files: tuple[Path, ...]) -> None:
    """Check the queries of Prometheus rule files and Grafana dashboards.

    Exit code 1: one returns nothing, or something else than it seems to.
    """
    from otel_specdecode.collector import check_query_file

    try:
        found = [finding for file in files for finding in check_query_file(file)]
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    _report(found)


def _report(found: Iterable[Finding]) -> None:
    from otel_specdecode.collector import Severity

    failed = False
    for finding in found:
        failed = failed or finding.severity is Severity.ERROR
        click.echo(str(finding))
    sys.exit(1 if failed else 0)


@command.command()
@click.argument("url")
def metrics(url: str) -> None:
    """Say which series that the rules need a server's /metrics page URL has."""
    from otel_specdecode.collector.server_page import read_page, report

    try:
        page = read_page(url)
    except (ConfigError, OSError) as error:
        raise click.UsageError(f"{url}: {error}") from error
    answers = report(page)
    for answer in answers:
        click.echo(f"{'found  ' if answer.found_as else 'MISSING'} {answer}")
    sys.exit(0 if all(answer.found_as for answer in answers) else 1)


@command.command()
@click.argument("endpoint", default="http://127.0.0.1:4318")
@click.option("--prometheus", help="Look for the metric in this Prometheus.")
@click.option("--traces", help="Look for the span in this Jaeger.")
@click.option(
    "--token-file", type=_EXISTING, help="Send the token that this file holds."
)
@click.option("--ca-file", type=_EXISTING, help="Authority of its certificate.")
@click.option("--within", type=float, default=60.0, show_default=True, help="Seconds.")
def probe(
    endpoint: str,
    prometheus: str | None,
    traces: str | None,
    token_file: Path | None,
    ca_file: Path | None,
    within: float,
) -> None:
    """Send a span and a metric through the collector at ENDPOINT (OTLP over HTTP).

    Exit code 1: something did not arrive, or arrived with the prompt that was in it.
    """
    from otel_specdecode.collector.probe import Probe

    try:
        answers = Probe(
            endpoint=endpoint,
            prometheus=prometheus,
            traces=traces,
            # Any file can be read so; the probe refuses what is no token.
            token=token_file.read_text("latin-1").strip() if token_file else None,
            ca_file=str(ca_file) if ca_file else None,
            within_s=within,
        ).run()
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    for answer in answers:
        click.echo(
            f"{'ok    ' if answer.passed else 'FAILED'} {answer.step}: {answer.detail}"
        )
    sys.exit(0 if all(answer.passed for answer in answers) else 1)
