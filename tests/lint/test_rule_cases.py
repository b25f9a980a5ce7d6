"""Each rule fires where its case file says, at that column, and nowhere else.

A case file holds many small programs, each under a `# --- name` line. A line that
must fire ends in `# error: COLUMN`; programs called `near: ...` must stay silent.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from otel_specdecode.lint._modules import Module
from otel_specdecode.lint.registry import CODES, rule_of
from otel_specdecode.lint.source import Source

CASES = Path(__file__).parent / "cases"
MARKER = re.compile(r" *# error: ([\d, ]+)$", re.MULTILINE)


def programs() -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for file in sorted(CASES.glob("SPD*.py")):
        for part in re.split(r"(?m)^# --- ", file.read_text(encoding="utf-8"))[1:]:
            name, _, text = part.partition("\n")
            found.append((file.stem, name.strip(), text))
    return found


PROGRAMS = programs()


def expected(text: str) -> list[tuple[int, int]]:
    marks: list[tuple[int, int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if found := MARKER.search(line):
            marks += [(number, int(column)) for column in found[1].split(",")]
    return marks


@pytest.mark.parametrize(
    ("code", "name", "text"), PROGRAMS, ids=[f"{c}-{n}" for c, n, _ in PROGRAMS]
)
def test_a_rule_fires_exactly_where_its_cases_say(
    code: str, name: str, text: str
) -> None:
    rule, program = rule_of(code), MARKER.sub("", text)
    assert rule is not None
    source = Source(
        Module("case.py", ast.parse(program), program), only_streams=rule.needs_stream
    )

    findings = list(rule.check(source)) if rule.may_apply(program) else []

    assert sorted({(f.line, f.column) for f in findings}) == expected(text)
    assert all(finding.code == code for finding in findings)
    assert name.startswith("near:") is not bool(expected(text))


NO_CORPUS = {"SPD004", "SPD005", "SPD006"}


@pytest.mark.parametrize("code", CODES)
def test_every_rule_has_firing_and_silent_cases(code: str) -> None:
    firing = [bool(expected(text)) for c, _, text in PROGRAMS if c == code]

    assert firing.count(True) >= (15 if code in NO_CORPUS else 4)
    assert firing.count(False) >= (15 if code in NO_CORPUS else 2)
