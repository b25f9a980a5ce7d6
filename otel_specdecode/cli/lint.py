"""`otel-specdecode lint`: find code that takes streamed chunks for tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.run import Report
    from otel_specdecode.lint.settings import Settings

FORMATS = ("text", "concise", "json", "sarif", "github")
CLEAN, FOUND, MISUSED = 0, 1, 2


def _codes(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(
        code for item in given for code in item.replace(",", " ").split() if code
    )


def _per_file(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    pairs: dict[str, tuple[str, ...]] = {}
    for item in given:
        pattern, colon, codes = item.rpartition(":")
        if not colon or not codes:
            raise click.BadParameter(f"expected PATTERN:CODE, got {item!r}")
        found = tuple(codes.replace(",", " ").split())
        pairs[pattern] = pairs.get(pattern, ()) + found
    return tuple(pairs.items())


@click.command(epilog="Exit code: 0 clean, 1 findings, 2 wrong use.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--select", multiple=True, callback=_codes, metavar="CODES",
    help="Only these rules, or all that begin so; ALL for every rule.",
)  # fmt: skip
@click.option(
    "--ignore", multiple=True, callback=_codes, metavar="CODES",
    help="Leave these rules out.",
)  # fmt: skip
@click.option(
    "--extend-select", multiple=True, callback=_codes, metavar="CODES",
    help="These rules too, such as SPD9 for the ones that are off.",
)  # fmt: skip
@click.option(
    "--per-file-ignores", multiple=True, callback=_per_file, metavar="PATTERN:CODES",
    help="Leave rules out in files that match.",
)  # fmt: skip
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Skip these, too.")
@click.option("--force-exclude", is_flag=True, help="Skip them even if named.")
@click.option(
    "--respect-gitignore/--no-respect-gitignore", default=None,
    help="Skip what git ignores (default).",
)  # fmt: skip
@click.option(
    "--assume-instrumented", is_flag=True,
    help="Usage is asked for by other means: no SPD003.",
)  # fmt: skip
@click.option("--fix", is_flag=True, help="Apply fixes that cannot break the code.")
@click.option("--unsafe-fixes", is_flag=True, help="Apply the other fixes as well.")
@click.option(
    "--diff", "show_diff", is_flag=True, help="Show the fixes, change nothing."
)
@click.option(
    "--output-format", type=click.Choice(FORMATS), default="text", show_default=True
)
@click.option(
    "-o", "--output-file", type=click.Path(path_type=Path, dir_okay=False),
    help="Write the findings there.",
)  # fmt: skip
@click.option("--statistics", is_flag=True, help="Count findings by rule.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
@click.option(
    "--stdin-filename", type=click.Path(path_type=Path),
    help="Name to report for what comes from standard input (-).",
)  # fmt: skip
@click.option(
    "--config", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="TOML file with the options; else the nearest pyproject.toml.",
)  # fmt: skip
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.pass_context
def command(context: click.Context, paths: tuple[Path, ...], **options: object) -> None:
    """Find code that takes streamed chunks for tokens.

    PATHS are files and directories; the current directory if none is given, and
    standard input for a single dash.
    """
    from otel_specdecode.errors import ConfigError

    try:
        code = _run(paths or (Path(),), options)
    except ConfigError as error:
        click.echo(f"error: {error}", err=True)
        code = MISUSED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {place}{error.strerror}", err=True)
        code = MISUSED
    context.exit(code)


def _run(paths: tuple[Path, ...], options: dict[str, object]) -> int:
    from otel_specdecode.lint.run import lint_paths, lint_text

    settings = _settings(paths, options)
    from_stdin = paths == (Path("-"),)
    if from_stdin:
        name = options["stdin_filename"] or "-"
        report = lint_text(sys.stdin.buffer.read(), str(name), settings)
    else:
        report = lint_paths(paths, settings)
    if options["fix"] or options["unsafe_fixes"] or options["show_diff"]:
        return _fix(report, options, settings, paths, from_stdin=from_stdin)
    _print(report, options)
    return CLEAN if options["exit_zero"] or not report.findings else FOUND


def _settings(paths: tuple[Path, ...], options: dict[str, object]) -> Settings:
    """The configuration file's options, overridden by those of the command line."""
    from dataclasses import replace

    from otel_specdecode.errors import ConfigError
    from otel_specdecode.lint.registry import known_prefix
    from otel_specdecode.lint.settings import Settings, find_config, load

    given = options["config"]
    start = paths[0] if paths[0] != Path("-") else Path()
    nearest = start if start.is_dir() else start.parent
    found = given or (None if options["isolated"] else find_config(nearest.absolute()))
    settings = load(found) if isinstance(found, Path) else Settings(root=Path())
    changes: dict[str, object] = {}
    for name in ("select", "extend_select"):
        if options[name]:
            changes[name] = options[name]
    for name in ("ignore", "per_file_ignores", "exclude"):
        added = options[name]
        if isinstance(added, tuple) and added:
            changes[name] = (*getattr(settings, name), *added)
    for name in ("assume_instrumented", "force_exclude"):
        if options[name]:
            changes[name] = True
    if options["respect_gitignore"] is not None:
        changes["respect_gitignore"] = options["respect_gitignore"]
    settings = replace(settings, **changes)  # type: ignore[arg-type]
    for code in (*settings.select, *settings.ignore, *settings.extend_select):
        if not known_prefix(code):
            raise ConfigError(
                f"unknown rule {code!r}; see `otel-specdecode rule --all`"
            )
    return settings


def _print(report: Report, options: dict[str, object]) -> None:
    from otel_specdecode.lint.reports import text

    target = options["output_file"]
    output_format = str(options["output_format"])
    is_terminal = target is None and sys.stdout.isatty()
    if options["statistics"]:
        rendered = text.statistics(report)
    else:
        rendered = _renderers(is_terminal=is_terminal)[output_format](report)
    if isinstance(target, Path):
        target.write_text(rendered, encoding="utf-8")
    else:
        click.echo(rendered, nl=False)
    if output_format == "text" and target is None:
        click.echo(text.summary(report), nl=False, err=not is_terminal)


def _renderers(*, is_terminal: bool) -> dict[str, Callable[[Report], str]]:
    from otel_specdecode.lint.reports import structured, text

    def sarif(report: Report) -> str:
        from importlib.metadata import version

        return structured.as_sarif(report, version("otel-specdecode"))

    return {
        "text": lambda report: text.full(report, color=is_terminal),
        "concise": text.concise,
        "json": structured.as_json,
        "sarif": sarif,
        "github": structured.as_github,
    }


def _fix(
    report: Report,
    options: dict[str, object],
    settings: Settings,
    paths: tuple[Path, ...],
    *,
    from_stdin: bool,
) -> int:
    """Apply or show the fixes, then report what is left."""
    from otel_specdecode.lint import fixing
    from otel_specdecode.lint.run import lint_paths, lint_text

    unsafe = bool(options["unsafe_fixes"])
    by_file: dict[str, list[Finding]] = {}
    for finding in fixing.applicable(report.findings, unsafe=unsafe):
        by_file.setdefault(finding.path, []).append(finding)
    fixed = 0
    text = ""
    for path, findings in by_file.items():
        source = report.texts[path]
        text, done = fixing.apply(source.text, findings)
        fixed += len(done)
        if options["show_diff"]:
            click.echo(fixing.diff(path, source.text, text), nl=False)
        elif not from_stdin:
            fixing.write(source, text)
    if options["show_diff"]:
        return CLEAN if options["exit_zero"] or not fixed else FOUND
    if from_stdin:
        # The source goes on to standard output, as editors expect it.
        source = next(iter(report.texts.values()), None)
        if not by_file:
            text = source.text if source else ""
        click.echo(text, nl=False)
        name = str(options["stdin_filename"] or "-")
        left = lint_text(text.encode(), name, settings)
        return CLEAN if options["exit_zero"] or not left.findings else FOUND
    if fixed:
        report = lint_paths(paths, settings)
        click.echo(f"Fixed {fixed} finding{'' if fixed == 1 else 's'}.", err=True)
    _print(report, options)
    return CLEAN if options["exit_zero"] or not report.findings else FOUND
