"""Programs to lint, and a way to run the command on them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from otel_specdecode.cli.lint import command

COMMAND = Path(sys.executable).with_name("otel-specdecode")

COUNTS_CHUNKS = """\
import time


def speed(client, messages):
    start = time.perf_counter()
    n = 0
    for chunk in client.chat.completions.create(
        model="m", messages=messages, stream=True
    ):
        if chunk.choices:
            n += 1
    return {"tok_s": n / (time.perf_counter() - start)}
"""

ASKS_AND_COUNTS_TOKENS = """\
import time


def speed(client, messages):
    start = time.perf_counter()
    usage = None
    for chunk in client.chat.completions.create(
        model="m",
        messages=messages,
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
    return {"tok_s": usage.completion_tokens / (time.perf_counter() - start)}
"""

Lint = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that the command runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lint(project: Path) -> Lint:
    """Runs `otel-specdecode lint` in the project."""

    def run(*arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(command, arguments, input=stdin)

    return run
