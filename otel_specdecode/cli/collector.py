"""`otel-specdecode collector`: the bundle's files, checks of yours, and a probe."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from otel_specdecode.collector import Finding

_PACKAGES = {"yaml": "pyyaml", "promql_parser": "promql-parser"}
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
_READABLE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON array.")


class Unusable(click.ClickException):
    """What was named cannot be read, written or reached; the command line is right."""

    exit_code = 2


@contextmanager
def _errors_in_one_line() -> Generator[None]:
    try:
        yield
    except ConfigError as error:
        raise Unusable(str(error)) from error


@click.group(name="collector")
def command() -> None:
    """Files, checks and a probe for the OpenTelemetry Collector.

    Exit code 0: all well; 1: something was found or did not arrive; 2: misuse, or a
    file or page that cannot be read.
    """
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

    with _errors_in_one_line():
        click.echo(read_file(name), nl=False)


@command.command()
@click.argument("target", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace files that differ.")
def copy(target: Path, *, force: bool) -> None:
    """Copy the bundle to the folder TARGET."""
    from otel_specdecode.collector import copy_bundle

    with _errors_in_one_line():
        written = copy_bundle(target, overwrite=force)
    click.echo(f"{len(written)} files in {target}")


@command.command()
@click.argument("files", nargs=-1, required=True, type=_READABLE)
@_AS_JSON
def check(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Check configuration FILES of one collector, in the order of its --config.

    A dash is standard input. Variables count as set when they are set here. Exit code
    1: an error was found.
    """
    from otel_specdecode.collector import check_configuration

    with _errors_in_one_line():
        found = check_configuration(files, os.environ)
    _report(found, as_json=as_json)


@command.command(name="check-queries")
@click.argument("files", nargs=-1, required=True, type=_READABLE)
@_AS_JSON
def check_queries(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Check the queries of Prometheus rule files and Grafana dashboards.

    A dash is standard input. Exit code 1: one returns nothing, or something else than
    it seems to.
    """
    from otel_specdecode.collector import check_query_file

    with _errors_in_one_line():
        found = [finding for file in files for finding in check_query_file(file)]
    _report(found, as_json=as_json)


def _report(found: Sequence[Finding], *, as_json: bool) -> None:
    from otel_specdecode.collector import Severity

    _print(found, [str(finding) for finding in found], as_json=as_json)
    failed = any(finding.severity is Severity.ERROR for finding in found)
    sys.exit(1 if failed else 0)


def _print(values: Sequence[Any], lines: Sequence[str], *, as_json: bool) -> None:
    """The lines, or the dataclasses behind them as JSON."""
    if as_json:
        lines = [json.dumps([asdict(value) for value in values], indent=2)]
    for line in lines:
        click.echo(line)


@command.command()
@click.argument("url")
@_AS_JSON
def metrics(url: str, *, as_json: bool) -> None:
    """Say which series that the rules need a server's /metrics page URL has.

    Exit code 1: one is missing.
    """
    from otel_specdecode.collector.server_page import read_page, report

    with _errors_in_one_line():
        answers = report(read_page(url))
    lines = [
        f"{'found  ' if answer.found_as else 'MISSING'} {answer}" for answer in answers
    ]
    _print(answers, lines, as_json=as_json)
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
@_AS_JSON
def probe(
    endpoint: str,
    prometheus: str | None,
    traces: str | None,
    token_file: Path | None,
    ca_file: Path | None,
    within: float,
    *,
    as_json: bool,
) -> None:
    """Send a span and a metric through the collector at ENDPOINT (OTLP over HTTP).

    Exit code 1: something did not arrive, or arrived with the prompt that was in it.
    """
    from otel_specdecode.collector.probe import Probe

    with _errors_in_one_line():
        answers = Probe(
            endpoint=endpoint,
            prometheus=prometheus,
            traces=traces,
            # Any file can be read so; the probe refuses what is no token.
            token=token_file.read_text("latin-1").strip() if token_file else None,
            ca_file=str(ca_file) if ca_file else None,
            within_s=within,
        ).run()
    lines = [
        f"{'ok    ' if answer.passed else 'FAILED'} {answer.step}: {answer.detail}"
        for answer in answers
    ]
    _print(answers, lines, as_json=as_json)
    passed = all(answer.passed for answer in answers)
    if passed and not (prometheus or traces):
        click.echo(
            "Taken is not yet arrived: --prometheus and --traces look behind it.",
            err=True,
        )
    sys.exit(0 if passed else 1)
