"""For a terminal: the source line, the way from the count to the rate, the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.lint._modules import split_lines
from otel_specdecode.lint.registry import rule_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.findings import Finding
    from otel_specdecode.lint.run import Report

_RED, _BOLD, _DIM, _CYAN, _END = "\033[31m", "\033[1m", "\033[2m", "\033[36m", "\033[0m"


def concise(report: Report) -> str:
    """One line a finding: `path:line:column: CODE message`."""
    return "".join(
        f"{finding.place}: {finding.code} {finding.message}\n"
        for finding in report.findings
    )


def full(report: Report, *, color: bool = False) -> str:
    """Every finding with its source and its story."""
    paint = _paint if color else _plain
    return "".join(
        "\n".join(_block(finding, report, paint)) + "\n\n"
        for finding in report.findings
    )


def _paint(text: str, style: str) -> str:
    return f"{style}{text}{_END}"


def _plain(text: str, _style: str) -> str:
    return text


def _block(finding: Finding, report: Report, paint: object) -> Iterator[str]:
    style = _paint if paint is _paint else _plain
    place = style(finding.place, _BOLD)
    yield f"{place}: {style(finding.code, _RED)} {finding.message}"
    lines = _lines_of(finding, report)
    if not 0 < finding.line <= len(lines):
        return
    width = len(str(finding.line))
    source = lines[finding.line - 1].rstrip("\r\n")
    gutter = style(f"{' ' * width} |", _DIM)
    yield gutter
    yield f"{style(f'{finding.line} |', _DIM)} {source.expandtabs(1)}"
    last = finding.end_column if finding.end_line == finding.line else len(source) + 1
    marks = "^" * max(1, last - finding.column)
    yield f"{gutter} {' ' * (finding.column - 1)}{style(marks, _RED)}"
    yield from _story(finding, report, style, gutter)
    rule = rule_of(finding.code)
    if finding.fix is not None:
        kind = "--fix" if finding.fix.is_safe else "--unsafe-fixes"
        yield f"{gutter} {style('fix:', _CYAN)} {finding.fix.title} ({kind})"
    if rule is not None:
        yield f"{gutter} {style('see:', _CYAN)} otel-specdecode rule {finding.code}"


def _lines_of(finding: Finding, report: Report) -> list[str]:
    source = report.texts.get(finding.path)
    if source is None:
        return []
    lines = split_lines(source.text)
    if source.cells is None or finding.cell is None:
        return lines
    first = next((s for n, s in source.cells.starts if n == finding.cell), 1)
    return lines[first - 1 :]


def _story(
    finding: Finding, report: Report, style: object, gutter: str
) -> Iterator[str]:
    """The stops from the stream to the rate, each with its line."""
    paint = _paint if style is _paint else _plain
    source = report.texts.get(finding.path)
    for step in finding.steps:
        if step.path != finding.path:
            place = f"{step.path}:{step.line}"
        elif source is not None and source.cells is not None and finding.cell:
            cell, line = source.cells.locate(step.line)
            place = f"cell {cell}, line {line}"
        else:
            place = f"line {step.line}"
        yield f"{gutter} {paint('via:', _CYAN)} {place}: {step.note}"


def statistics(report: Report) -> str:
    """How often each rule was broken, most frequent first."""
    counts: dict[str, int] = {}
    for finding in report.findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count:5d}  {code}  {_name_of(code)}\n" for code, count in rows)


def _name_of(code: str) -> str:
    rule = rule_of(code)
    return "unreadable" if rule is None else rule.name


def summary(report: Report) -> str:
    """The last line: how much was looked at, and what can be fixed."""
    if not report.findings:
        return f"No findings in {_number(report.num_files, 'file')}.\n"
    safe = sum(f.fix is not None and f.fix.is_safe for f in report.findings)
    unsafe = sum(f.fix is not None and not f.fix.is_safe for f in report.findings)
    files = len({finding.path for finding in report.findings})
    text = f"{_number(len(report.findings), 'finding')} in {_number(files, 'file')}"
    if safe:
        text += f", {safe} fixable with --fix"
    if unsafe:
        text += f", {unsafe} with --unsafe-fixes"
    return f"{text}.\n"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
