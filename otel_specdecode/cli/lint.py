"""`otel-specdecode lint`: find code that takes streamed chunks for tokens.

The options are argparse's, not click's: editors and commit hooks start this command
for one file at a time, and importing click alone takes nearly three times what Python
with `ast`, `argparse` and `tokenize` does. `command` is the same for the group of
subcommands, made when asked for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import click

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.run import Report
    from otel_specdecode.lint.settings import Settings

FORMATS = ("text", "concise", "json", "sarif", "github")
CLEAN, FOUND, MISUSED = 0, 1, 2
STDIN = Path("-")


class Options(argparse.Namespace):
    """The command line, parsed."""

    paths: list[Path]
    select: list[str]
    ignore: list[str]
    extend_select: list[str]
    per_file_ignores: list[str]
    exclude: list[str]
    force_exclude: bool
    respect_gitignore: bool | None
    assume_instrumented: bool
    fix: bool
    unsafe_fixes: bool
    diff: bool
    output_format: str
    output_file: Path | None
    statistics: bool
    exit_zero: bool
    stdin_filename: str
    config: Path | None
    isolated: bool


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otel-specdecode lint",
        description="Find code that takes streamed chunks for tokens.",
        epilog="Exit code: 0 clean, 1 findings, 2 wrong use.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "paths", nargs="*", type=Path, metavar="PATH",
        help="files and directories; the current directory if none is given, "
        "standard input for a single dash",
    )  # fmt: skip
    rules = parser.add_argument_group("rules")
    for name, text in (
        ("--select", "only these rules, or all that begin so; ALL for every rule"),
        ("--ignore", "leave these rules out"),
        ("--extend-select", "these too, such as SPD9 for the ones that are off"),
    ):
        rules.add_argument(
            name, action="append", default=[], metavar="CODES", help=text
        )
    rules.add_argument(
        "--per-file-ignores", action="append", default=[], metavar="PATTERN:CODES",
        help="leave rules out in files that match",
    )  # fmt: skip
    rules.add_argument(
        "--assume-instrumented", action="store_true",
        help="usage is asked for by other means: no SPD003",
    )  # fmt: skip
    _add_file_options(parser)
    fixes = parser.add_argument_group("fixes")
    fixes.add_argument(
        "--fix", action="store_true", help="apply fixes that cannot break the code"
    )
    fixes.add_argument(
        "--unsafe-fixes", action="store_true", help="apply the other fixes as well"
    )
    fixes.add_argument(
        "--diff", action="store_true", help="show the fixes, change nothing"
    )
    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=FORMATS, default="text")
    output.add_argument(
        "-o", "--output-file", type=Path, help="write the findings there"
    )
    output.add_argument(
        "--statistics", action="store_true", help="count findings by rule"
    )
    output.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 whatever was found"
    )
    return parser


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("files and configuration")
    files.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN",
        help="skip these, too",
    )  # fmt: skip
    files.add_argument(
        "--force-exclude", action="store_true", help="skip them even if named"
    )
    files.add_argument(
        "--respect-gitignore", action=argparse.BooleanOptionalAction, default=None,
        help="skip what git ignores (default)",
    )  # fmt: skip
    files.add_argument(
        "--stdin-filename", default="-", metavar="PATH",
        help="name to report for what comes from standard input",
    )  # fmt: skip
    files.add_argument(
        "--config", type=Path, help="TOML file; else the nearest pyproject.toml"
    )
    files.add_argument(
        "--isolated", action="store_true", help="read no configuration file"
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        SystemExit: help was asked for, or an option is wrong.
    """
    from otel_specdecode.errors import ConfigError

    options = _parser().parse_args(arguments, namespace=Options())
    options.paths = options.paths or [Path()]
    try:
        return _run(options)
    except ConfigError as error:
        sys.stderr.write(f"error: {error}\n")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"error: {place}{error.strerror or error}\n")
    return MISUSED


def __getattr__(name: str) -> click.Command:
    if name != "command":
        raise AttributeError(name)
    import click

    @click.command(
        "lint",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
        short_help="Find code that takes streamed chunks for tokens.",
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(context: click.Context, arguments: tuple[str, ...]) -> None:
        context.exit(main(arguments))

    return command


def _run(options: Options) -> int:
    from otel_specdecode.lint.run import lint_paths, lint_text

    settings = _settings(options)
    from_stdin = options.paths == [STDIN]
    if from_stdin:
        data = sys.stdin.buffer.read()
        report = lint_text(data, options.stdin_filename, settings)
    else:
        report = lint_paths(options.paths, settings)
    if options.fix or options.unsafe_fixes or options.diff:
        return _fix(report, options, settings, from_stdin=from_stdin)
    _print(report, options)
    return _exit_code(report, options)


def _exit_code(report: Report, options: Options) -> int:
    return CLEAN if options.exit_zero or not report.findings else FOUND


def _codes(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        code for item in given for code in item.replace(",", " ").split() if code
    )


def _settings(options: Options) -> Settings:
    """The configuration file's options, overridden by those of the command line."""
    from dataclasses import replace

    from otel_specdecode.errors import ConfigError
    from otel_specdecode.lint.registry import known_prefix
    from otel_specdecode.lint.settings import Settings, find_config, load

    first = options.paths[0] if options.paths[0] != STDIN else Path()
    nearest = (first if first.is_dir() else first.parent).absolute()
    found = options.config or (None if options.isolated else find_config(nearest))
    base = load(found) if found is not None else Settings(root=Path())
    settings = replace(
        base,
        select=_codes(options.select) or base.select,
        extend_select=_codes(options.extend_select) or base.extend_select,
        ignore=(*base.ignore, *_codes(options.ignore)),
        per_file_ignores=(
            *base.per_file_ignores,
            *(_pattern(item) for item in options.per_file_ignores),
        ),
        exclude=(*base.exclude, *options.exclude),
        assume_instrumented=options.assume_instrumented or base.assume_instrumented,
        force_exclude=options.force_exclude or base.force_exclude,
        respect_gitignore=(
            base.respect_gitignore
            if options.respect_gitignore is None
            else options.respect_gitignore
        ),
    )
    for code in (*settings.select, *settings.ignore, *settings.extend_select):
        if not known_prefix(code):
            message = f"unknown rule {code!r}; see `otel-specdecode rule --all`"
            raise ConfigError(message)
    return settings


def _pattern(item: str) -> tuple[str, tuple[str, ...]]:
    from otel_specdecode.errors import ConfigError

    pattern, _, codes = item.rpartition(":")
    if not pattern or not codes:
        raise ConfigError(f"--per-file-ignores: expected PATTERN:CODES, got {item!r}")
    return pattern, _codes([codes])


def _print(report: Report, options: Options) -> None:
    from otel_specdecode.lint.reports import text

    target = options.output_file
    is_terminal = target is None and sys.stdout.isatty()
    if options.statistics:
        rendered = text.statistics(report)
    else:
        rendered = _renderer(options.output_format, is_terminal=is_terminal)(report)
    if target is not None:
        target.write_text(rendered, encoding="utf-8")
        return
    sys.stdout.write(rendered)
    if options.output_format == "text":
        stream = sys.stdout if is_terminal else sys.stderr
        stream.write(text.summary(report))


def _renderer(name: str, *, is_terminal: bool) -> Callable[[Report], str]:
    from otel_specdecode.lint.reports import structured, text

    def sarif(report: Report) -> str:
        from importlib.metadata import version

        return structured.as_sarif(report, version("otel-specdecode"))

    def full(report: Report) -> str:
        return text.full(report, color=is_terminal)

    return {
        "text": full,
        "concise": text.concise,
        "json": structured.as_json,
        "sarif": sarif,
        "github": structured.as_github,
    }[name]


def _fix(
    report: Report, options: Options, settings: Settings, *, from_stdin: bool
) -> int:
    """Apply or show the fixes, then report what is left."""
    from otel_specdecode.lint import fixing
    from otel_specdecode.lint.run import lint_paths

    by_file: dict[str, list[Finding]] = {}
    for finding in fixing.applicable(report.findings, unsafe=options.unsafe_fixes):
        by_file.setdefault(finding.path, []).append(finding)
    fixed = {
        path: fixing.apply(report.texts[path].text, findings)
        for path, findings in by_file.items()
    }
    if options.diff:
        for path, (text, _) in fixed.items():
            sys.stdout.write(fixing.diff(path, report.texts[path].text, text))
        return CLEAN if options.exit_zero or not fixed else FOUND
    if from_stdin:
        return _hand_on(report, options, settings, fixed)
    for path, (text, _) in fixed.items():
        fixing.write(report.texts[path], text)
    if fixed:
        number = sum(len(done) for _, done in fixed.values())
        sys.stderr.write(f"Fixed {number} finding{'' if number == 1 else 's'}.\n")
        report = lint_paths(options.paths, settings)
    _print(report, options)
    return _exit_code(report, options)


def _hand_on(
    report: Report,
    options: Options,
    settings: Settings,
    fixed: dict[str, tuple[str, list[Finding]]],
) -> int:
    """Write the source to standard output, fixed: editors expect it back whole."""
    from otel_specdecode.lint.run import lint_text

    text = fixed[options.stdin_filename][0] if fixed else report.stdin_text
    sys.stdout.write(text)
    left = lint_text(text.encode(), options.stdin_filename, settings)
    return _exit_code(left, options)
