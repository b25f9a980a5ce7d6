"""`otel-specdecode lint`: find code that takes streamed chunks for tokens.

The options are argparse's, not click's: editors and commit hooks start this command
for one file at a time, and importing click alone takes nearly three times what Python
with `ast`, `argparse` and `tokenize` does. `command` is the same for the group of
subcommands, made when asked for.
"""

from __future__ import annotations

import argparse
import sys

# As `typing` has it, which would take as long to import as `argparse` does.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import click

    from otel_specdecode.lint.run import Report
    from otel_specdecode.lint.settings import Settings

FORMATS = ("text", "concise", "json", "sarif", "github")
CLEAN, FOUND, MISUSED, INTERRUPTED = 0, 1, 2, 130
STDIN = "-"


class Options(argparse.Namespace):
    """The command line, parsed."""

    paths: list[str]
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
    output_file: str | None
    statistics: bool
    exit_zero: bool
    stdin_filename: str
    config: str | None
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
        "paths", nargs="*", default=[], metavar="PATH",
        help="files and directories; the current directory if none is given, "
        "standard input for a single dash",
    )  # fmt: skip
    rules = parser.add_argument_group("rules")
    for names, text in (
        (("--select",), "only these rules, or all that begin so; ALL for every rule"),
        (("--ignore", "--extend-ignore"), "leave these rules out"),
        (("--extend-select",), "these too, such as SPD9 for the ones that are off"),
    ):
        rules.add_argument(
            *names, action="append", default=[], metavar="CODES", help=text
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
        "-o", "--output-file", metavar="PATH", help="write the findings there"
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
        "--config",
        metavar="PATH",
        help="TOML file; else the nearest pyproject.toml",
    )
    files.add_argument(
        "--isolated", action="store_true", help="read no configuration file"
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        SystemExit: help was asked for, or an option is wrong.
    """
    options = _parser().parse_args(arguments, namespace=Options())
    options.paths = options.paths or ["."]
    from otel_specdecode.errors import ConfigError, LintSourceError

    _open_what_is_closed()
    try:
        return _run(options)
    except (ConfigError, LintSourceError) as error:
        sys.stderr.write(f"error: {error}\n")
    except BrokenPipeError:
        _let_go_of_output()
        return CLEAN if options.exit_zero else FOUND
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"error: {place}{error.strerror or error}\n")
    except KeyboardInterrupt:
        return INTERRUPTED
    return MISUSED


def _open_what_is_closed() -> None:
    """Let a command whose streams were closed (`>&-`) write to nowhere."""
    import os

    streams: Any = sys
    for name in ("stdout", "stderr"):
        if getattr(streams, name) is None:
            setattr(streams, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115


def _let_go_of_output() -> None:
    """The reader, such as `head`, has seen enough: there was something to see."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


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
    from pathlib import Path

    from otel_specdecode.cli._lint_settings import settings_of
    from otel_specdecode.errors import ConfigError
    from otel_specdecode.lint.run import lint_paths

    if STDIN in options.paths and len(options.paths) > 1:
        raise ConfigError("`-`, the standard input, cannot be mixed with other paths")
    settings = settings_of(options)
    is_fixing = options.fix or options.unsafe_fixes or options.diff
    if options.paths == [STDIN]:
        return _run_on_stdin(options, settings, is_fixing=is_fixing)
    report = lint_paths([Path(path) for path in options.paths], settings)
    _tell_of_partial(report)
    if is_fixing:
        from otel_specdecode.cli import _lint_fixes

        if options.diff:
            return _lint_fixes.show(report, options)
        num_fixed = _lint_fixes.write(report, options)
        if num_fixed is None:
            return MISUSED
        if num_fixed:
            report = lint_paths([Path(path) for path in options.paths], settings)
    print_report(report, options)
    return exit_code(report, options)


def _run_on_stdin(options: Options, settings: Settings, *, is_fixing: bool) -> int:
    from otel_specdecode.errors import ConfigError
    from otel_specdecode.lint.reading import read_stream
    from otel_specdecode.lint.run import lint_text

    stdin: Any = sys.stdin
    if stdin is None:
        raise ConfigError("standard input is closed")
    data = read_stream(stdin.buffer)
    report = lint_text(data, options.stdin_filename, settings)
    _tell_of_partial(report)
    if not is_fixing:
        print_report(report, options)
        return exit_code(report, options)
    from otel_specdecode.cli import _lint_fixes

    if options.diff:
        return _lint_fixes.show(report, options)
    return _lint_fixes.hand_on(data, report, options, settings)


def exit_code(report: Report, options: Options) -> int:
    """0 for clean, 1 for findings, unless these are no reason to fail."""
    return CLEAN if options.exit_zero or not report.findings else FOUND


def _tell_of_partial(report: Report) -> None:
    for path in report.partial:
        sys.stderr.write(
            f"note: {path}: too large to be followed whole; findings in the rest of it "
            "may be missing\n"
        )


def print_report(report: Report, options: Options, *, to_stderr: bool = False) -> None:
    """Write the findings where the options say.

    Args:
        report: the findings.
        options: the command line.
        to_stderr: standard output is taken by the source itself.
    """
    from otel_specdecode.lint.reports import text

    output: Any = sys.stderr if to_stderr else sys.stdout
    is_terminal = options.output_file is None and output.isatty()
    if options.statistics:
        rendered = text.statistics(report)
    else:
        rendered = _renderer(options.output_format, is_terminal=is_terminal)(report)
    if options.output_file is not None:
        from pathlib import Path

        target = Path(options.output_file)
        target.write_text(rendered, encoding="utf-8", errors="backslashreplace")
        return
    reconfigure = getattr(output, "reconfigure", None)
    if reconfigure is not None:
        # A file name that is no text, or a terminal that knows ASCII alone.
        reconfigure(errors="backslashreplace")
    output.write(rendered)
    output.flush()
    if options.output_format == "text":
        stream = output if is_terminal else sys.stderr
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
