"""Codes, cases, pages and the table of rules are one set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from otel_specdecode.cli.rule import command
from otel_specdecode.lint.registry import CODES, Rule, all_rules

DOCS = Path(__file__).parents[2] / "docs/lint"
CASES = Path(__file__).parent / "cases"
SECTIONS = [
    "## What it does",
    "## Why is this bad?",
    "## Example",
    "## Use instead",
    "## Fix safety",
    "## References",
]
RULES = all_rules()


def test_every_rule_has_a_case_file_and_a_page_and_no_other_exists() -> None:
    assert sorted(path.stem for path in CASES.glob("*.py")) == list(CODES)
    assert sorted(path.stem for path in (DOCS / "rules").glob("*.md")) == list(CODES)


def test_the_table_of_rules_lists_each_with_its_summary_and_default() -> None:
    table = (DOCS / "index.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| \[(SPD\d+)\]\(rules/\1\.md\) \| (.+?) \| (\w+) \|", table, re.MULTILINE
    )

    assert rows == [
        (rule.code, rule.summary, "on" if rule.is_default else "off") for rule in RULES
    ]


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_a_page_and_the_command_show_the_same_text(rule: Rule) -> None:
    page = (DOCS / "rules" / f"{rule.code}.md").read_text(encoding="utf-8")

    printed = CliRunner().invoke(command, [rule.code.lower()])

    assert printed.output == page, "write them with: otel-specdecode rule --pages"
    assert re.findall(r"^## .*$", page, re.MULTILINE) == SECTIONS


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_codes_fit_flake8_and_the_900s_are_off(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z]{1,3}[0-9]{0,3}", rule.code)
    assert rule.is_default is not rule.code.startswith("SPD9")


def test_the_rule_command_lists_explains_and_refuses() -> None:
    runner = CliRunner()

    listed = runner.invoke(command, ["--all"]).output
    refused = runner.invoke(command, ["SPD404"])

    assert [line.split()[0] for line in listed.splitlines()] == list(CODES)
    assert (refused.exit_code, "unknown rule" in refused.output) == (2, True)


def test_pages_can_be_written_again(tmp_path: Path) -> None:
    CliRunner().invoke(command, ["--pages", str(tmp_path / "rules")])

    assert sorted(path.stem for path in (tmp_path / "rules").iterdir()) == list(CODES)


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_the_examples_of_a_page_are_python(rule: Rule) -> None:
    import ast

    blocks = re.findall(r"```python\n(.*?)```", rule.documentation, re.DOTALL)

    assert len(blocks) >= 2
    for block in blocks:
        ast.parse(block)
