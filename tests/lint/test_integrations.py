"""flake8, pre-commit and the GitHub Actions example, each run for real."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import COUNTS_CHUNKS

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def run(
    *command: str | Path, cwd: Path, **extra: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **extra}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True,
        check=False, timeout=600,
    )  # fmt: skip


# flake8


def flake8(cwd: Path, *options: str) -> list[str]:
    result = run(sys.executable, "-m", "flake8", "--isolated", *options, cwd=cwd)
    assert result.stderr == ""
    return [" ".join(line.split(" ")[:2]) for line in result.stdout.splitlines()]


def test_flake8_shows_the_findings_at_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(COUNTS_CHUNKS)

    assert flake8(tmp_path, "--select", "SPD") == [
        "./bench.py:7:18: SPD003",
        "./bench.py:12:22: SPD001",
    ]


def test_flake8_keeps_the_900s_off_until_they_are_asked_for(tmp_path: Path) -> None:
    text = COUNTS_CHUNKS.replace('"tok_s": n /', '"completion_tokens": n, "x": n /')
    (tmp_path / "bench.py").write_text(text)

    assert "./bench.py:12:34: SPD903" not in flake8(tmp_path)
    assert "./bench.py:12:34: SPD903" in flake8(tmp_path, "--extend-select", "SPD903")


def test_flake8_heeds_noqa_and_our_option(tmp_path: Path) -> None:
    text = COUNTS_CHUNKS.replace("- start)}", "- start)}  # noqa: SPD001")
    (tmp_path / "bench.py").write_text(text)
    (tmp_path / "setup.cfg").write_text(
        "[flake8]\nspecdecode-assume-instrumented = true\n"
    )

    result = run(
        sys.executable, "-m", "flake8", "--select", "SPD", "bench.py", cwd=tmp_path
    )

    assert (result.returncode, result.stdout) == (0, "")


def test_flake8_reads_several_files_at_once_and_standard_input(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(COUNTS_CHUNKS)
    ignored = "--per-file-ignores=a.py:SPD001 b.py:SPD0"

    assert flake8(tmp_path, "--select=SPD", "-j2", ignored, "a.py", "b.py", "c.py") == [
        "a.py:7:18: SPD003",
        "c.py:7:18: SPD003",
        "c.py:12:22: SPD001",
    ]
    piped = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select=SPD",
         "--stdin-display-name=a.py", ignored, "-"],
        cwd=tmp_path, input=COUNTS_CHUNKS, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line.partition(" ")[0] for line in piped.stdout.splitlines()] == [
        "a.py:7:18:"
    ]


def test_flake8_does_not_stumble_over_a_file_without_streams(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "plain.py").write_text("x = 1\n")

    assert flake8(tmp_path, "--select", "SPD") == []


# pre-commit


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository whose pre-commit runs our hook from this environment."""
    hook: dict[str, Any] = yaml.safe_load(
        (ROOT / ".pre-commit-hooks.yaml").read_text()
    )[0]
    # Installing the hook needs a package index; everything else is as shipped.
    hook["language"] = "system"
    del hook["additional_dependencies"], hook["minimum_pre_commit_version"]
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    run("git", "init", "-q", cwd=tmp_path)
    return tmp_path


def pre_commit(repository: Path) -> subprocess.CompletedProcess[str]:
    run("git", "add", "-A", cwd=repository)
    return run(
        sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never",
        cwd=repository, PRE_COMMIT_HOME=str(repository / ".git/pre-commit"),
    )  # fmt: skip


def test_pre_commit_stops_a_commit_that_counts_chunks(repository: Path) -> None:
    (repository / "bench.py").write_text(COUNTS_CHUNKS)
    (repository / "notes.txt").write_text(COUNTS_CHUNKS)

    result = pre_commit(repository)

    assert result.returncode == 1
    assert "bench.py:12:22: SPD001" in result.stdout
    assert "notes.txt" not in result.stdout


def test_pre_commit_lets_the_rest_pass_and_heeds_excludes(repository: Path) -> None:
    (repository / "old").mkdir()
    (repository / "old/bench.py").write_text(COUNTS_CHUNKS)
    (repository / "pyproject.toml").write_text(
        '[tool.otel-specdecode.lint]\nextend-exclude = ["old"]\n'
    )

    result = pre_commit(repository)

    assert (result.returncode, result.stdout.count("Passed")) == (0, 1)


@pytest.mark.full
def test_the_hook_installs_itself_and_finds_what_it_should(tmp_path: Path) -> None:
    """`language: python` as shipped: pre-commit builds the environment itself."""
    run("git", "init", "-q", cwd=tmp_path)
    (tmp_path / "bench.py").write_text(COUNTS_CHUNKS)
    run("git", "add", "-A", cwd=tmp_path)

    result = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", ROOT, "otel-specdecode-lint",
         "--all-files", "--color", "never"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=900,
        env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / ".git/pre-commit")},
    )  # fmt: skip

    assert result.returncode == 1, result.stdout + result.stderr
    assert "bench.py:12:22: SPD001" in result.stdout


def test_the_pre_commit_example_names_a_hook_we_ship() -> None:
    example = yaml.safe_load(
        (ROOT / "docs/lint/examples/pre-commit-config.yaml").read_text()
    )
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    assert [hook["id"] for hook in example["repos"][0]["hooks"]] == [
        hook["id"] for hook in hooks
    ]


# GitHub Actions


def workflow_commands() -> list[str]:
    workflow = yaml.safe_load(
        (ROOT / "docs/lint/examples/github-actions.yml").read_text()
    )
    steps = workflow["jobs"]["lint"]["steps"]
    # The installation is what this environment already has.
    return [s["run"] for s in steps if "run" in s and "pip install" not in s["run"]]


def test_the_workflow_fails_with_annotations_and_still_uploads(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(COUNTS_CHUNKS)

    results = [run("bash", "-e", "-c", c, cwd=tmp_path) for c in workflow_commands()]

    assert [result.returncode for result in results] == [1, 0]
    assert results[0].stdout.startswith(
        "::error title=otel-specdecode (SPD003),file=bench.py,line=7,col=18,"
    )
    log = json.loads((tmp_path / "specdecode.sarif").read_text())
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["SPD003", "SPD001"]


def test_the_workflow_passes_on_a_clean_project(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("print('hello')\n")

    results = [run("bash", "-e", "-c", c, cwd=tmp_path) for c in workflow_commands()]

    assert [result.returncode for result in results] == [0, 0]
    assert shutil.which("otel-specdecode", path=str(BIN)) is not None


# This project


def test_this_project_does_what_it_asks_of_others() -> None:
    result = run(
        BIN / "otel-specdecode", "lint", ".", "--output-format", "concise", cwd=ROOT
    )

    assert (result.stdout, result.returncode) == ("", 0)
