"""What `otel-specdecode lint` does with fixes: show them, write them, hand them on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from otel_specdecode.cli.lint import CLEAN, FOUND, exit_code, print_report
from otel_specdecode.lint import fixing
from otel_specdecode.lint.run import lint_text

if TYPE_CHECKING:
    from otel_specdecode.cli.lint import Options
    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.run import Report
    from otel_specdecode.lint.settings import Settings

Fixed = dict[str, tuple[str, list["Finding"]]]
"""By file, its text as it would be, and the findings that this resolves."""


def _fixed(report: Report, options: Options) -> Fixed:
    by_file: dict[str, list[Finding]] = {}
    for finding in fixing.applicable(report.findings, unsafe=options.unsafe_fixes):
        by_file.setdefault(finding.path, []).append(finding)
    return {
        path: fixing.apply(report.texts[path].text, findings)
        for path, findings in by_file.items()
    }


def show(report: Report, options: Options) -> int:
    """Print what would change."""
    fixed = _fixed(report, options)
    output: Any = sys.stdout
    for path, (text, _) in fixed.items():
        before = report.texts[path]
        shown = fixing.diff(path, before.text, text)
        # As the file is encoded, so that `patch` finds the lines.
        encoding = before.encoding.removesuffix("-sig")
        output.buffer.write(shown.encode(encoding, "backslashreplace"))
    output.flush()
    return CLEAN if options.exit_zero or not fixed else FOUND


def write(report: Report, options: Options) -> int | None:
    """Change the files.

    Returns:
        How many findings that resolves; `None` if a file could not be written.
    """
    number, is_whole = 0, True
    for path, (text, done) in _fixed(report, options).items():
        try:
            fixing.write(report.texts[path], text)
        except OSError as error:
            sys.stderr.write(f"error: {path}: {error.strerror or error}\n")
            is_whole = False
        else:
            number += len(done)
    if number:
        sys.stderr.write(f"Fixed {number} finding{'' if number == 1 else 's'}.\n")
    return number if is_whole else None


def hand_on(data: bytes, report: Report, options: Options, settings: Settings) -> int:
    """Write the source to standard output, fixed: editors expect it back whole.

    What cannot be read or fixed goes back byte by byte; what is left is told on
    standard error.
    """
    fixed = _fixed(report, options)
    for path, (text, _) in fixed.items():
        try:
            data = fixing.encoded(report.texts[path], text, data)
        except OSError as error:
            sys.stderr.write(f"note: {path}: {error.strerror}\n")
    output: Any = sys.stdout
    output.buffer.write(data)
    output.flush()
    left = lint_text(data, options.stdin_filename, settings) if fixed else report
    print_report(left, options, to_stderr=True)
    return exit_code(left, options)
