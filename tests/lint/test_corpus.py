"""The labelled corpus: recall by tier, and silence on the programs that are right.

The figures stand in `docs/lint/accuracy.md`; a test compares them.
"""

from __future__ import annotations

import io
import json
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from otel_specdecode.lint.run import lint_files
from otel_specdecode.lint.settings import Settings

CORPUS = Path(__file__).parent / "corpus"
ACCURACY = Path(__file__).parents[2] / "docs/lint/accuracy.md"
RULES = {
    "chunk-rate": ("SPD001", "SPD002", "SPD901"),
    "missing-usage": ("SPD003",),
}


def without_comments(code: str) -> str:
    """Drop comments but `# noqa`, so that no rule can read the labels."""
    lines = code.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            keep = "# noqa" if token.string.startswith("# noqa") else ""
            lines[row - 1] = (lines[row - 1][:column] + keep).rstrip()
    return "\n".join(lines) + "\n"


@dataclass
class Score:
    """Found and labelled lines by tier; files that should be silent and are not."""

    tiers: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    false_files: set[str] = field(default_factory=set[str])
    extra_lines: int = 0

    @property
    def recall(self) -> float:
        return sum(a for a, _ in self.tiers.values()) / sum(
            b for _, b in self.tiers.values()
        )

    def row(self, label: str) -> str:
        tiers = ", ".join(f"{t} {a}/{b}" for t, (a, b) in sorted(self.tiers.items()))
        return (
            f"| {label} | {self.recall:.3f} | {tiers} | {len(self.false_files)} "
            f"| {self.extra_lines} |"
        )


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Score]:
    directory = tmp_path_factory.mktemp("corpus")
    manifest = json.loads((CORPUS / "expect.json").read_text(encoding="utf-8"))
    files: dict[Path, str] = {}
    for name in manifest:
        file = directory / name.replace("/", "_")
        file.write_text(without_comments((CORPUS / name).read_text(encoding="utf-8")))
        files[file] = name
    scores = {label: Score() for label in RULES}
    for file, name in files.items():
        # One by one: the corpus is programs of their own, not one project.
        report = lint_files([file], Settings(select=("ALL",)))
        for label, codes in RULES.items():
            lines = {f.line for f in report.findings if f.code in codes}
            count(scores[label], name, manifest[name], lines, label)
    return scores


def count(
    score: Score, name: str, entry: dict[str, Any], lines: set[int], label: str
) -> None:
    if name.startswith("tn") and lines:
        score.false_files.add(name)
    if not name.startswith("tp"):
        return
    marked = {
        key: [e["line"] for e in entry[key] if e["rule"] == label]  # type: ignore[union-attr]
        for key in ("expect", "accept_also")
    }
    spare = len(lines.intersection(marked["accept_also"]))
    tier = score.tiers.setdefault(str(entry["tier"]), [0, 0])
    for line in marked["expect"]:
        found = line in lines
        if not found and spare:
            found, spare = True, spare - 1
        tier[0] += found
        tier[1] += 1
    if not tier[1]:
        del score.tiers[str(entry["tier"])]
    score.extra_lines += len(lines.difference(*marked.values()))


def test_chunk_rates_are_found(scores: dict[str, Score]) -> None:
    score = scores["chunk-rate"]
    print(score.row("chunk-rate"))

    core, marked = score.tiers["core"]
    assert core / marked >= 0.97
    assert score.recall >= 0.90
    assert len(score.false_files) <= 1


def test_requests_without_usage_are_found(scores: dict[str, Score]) -> None:
    score = scores["missing-usage"]
    print(score.row("missing-usage"))

    assert score.recall >= 0.97
    assert score.false_files == set()


def test_the_documented_figures_are_the_measured_ones(
    scores: dict[str, Score],
) -> None:
    documented = ACCURACY.read_text(encoding="utf-8")

    assert [s.row(label) in documented for label, s in scores.items()] == [True, True]
