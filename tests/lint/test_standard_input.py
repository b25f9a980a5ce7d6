"""`otel-specdecode lint -`: an editor's buffer comes in, and goes back whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .conftest import COUNTS_CHUNKS, Lint

if TYPE_CHECKING:
    from pathlib import Path

ASKS = b"client.completions.create(prompt=x, stream=True"
FIX = b', stream_options={"include_usage": True}'


@pytest.mark.parametrize(
    "source",
    [
        b"\xff\xfe no text",
        b'm = {"stream": True, "messages": []}\r\nx = (\r\n',
        b"# coding: latin-1\r\nx = '\xe9'\r\n",
        b"\xef\xbb\xbfx = 1",
        b"",
    ],
)
def test_what_cannot_be_fixed_goes_back_byte_by_byte(lint: Lint, source: bytes) -> None:
    assert lint("-", "--fix", stdin=source).stdout_bytes == source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# coding: latin-1\r\nx = '\xe9'\r\n", b")\r\n"),
        (b"\xef\xbb\xbfx = '\xc3\xa9'\n", b")\n"),
    ],
)
def test_a_fixed_source_keeps_its_encoding_and_line_ends(
    lint: Lint, before: bytes, after: bytes
) -> None:
    result = lint("-", "--unsafe-fixes", stdin=before + ASKS + after)

    assert (result.stdout_bytes, result.exit_code) == (before + ASKS + FIX + after, 0)


def test_a_notebook_goes_back_as_a_notebook(lint: Lint) -> None:
    source = json.dumps({"cells": [{"cell_type": "code", "source": COUNTS_CHUNKS}]})

    result = lint("-", "--fix", "--stdin-filename", "x.ipynb", stdin=source.encode())

    assert (result.stdout, result.exit_code) == (source, 1)
    assert "x.ipynb:cell 1:7:18: SPD003" in result.stderr


def test_what_a_fix_leaves_is_told_beside_the_source(lint: Lint) -> None:
    result = lint(
        "-", "--fix", "--output-format", "concise", stdin=COUNTS_CHUNKS.encode()
    )

    assert "include_usage" in result.stdout
    assert result.stderr.startswith("-:12:22: SPD001 ")
    assert result.exit_code == 1


def test_the_configuration_is_that_of_the_given_name(project: Path, lint: Lint) -> None:
    (project / "inner").mkdir()
    (project / "inner/pyproject.toml").write_text(
        '[tool.otel-specdecode.lint]\nignore = ["SPD0"]\n'
    )

    inside = lint("-", "--stdin-filename", "inner/x.py", stdin=COUNTS_CHUNKS.encode())
    beside = lint("-", "--stdin-filename", "x.py", stdin=COUNTS_CHUNKS.encode())

    assert (inside.exit_code, beside.exit_code) == (0, 1)


def test_an_excluded_name_is_left_alone_if_that_is_forced(lint: Lint) -> None:
    options = ("-", "--stdin-filename", "old/x.py", "--exclude", "old", "--fix")
    source = COUNTS_CHUNKS.encode()

    forced = lint(*options, "--force-exclude", stdin=source)

    assert (forced.stdout, forced.exit_code) == (COUNTS_CHUNKS, 0)
    assert "include_usage" in lint(*options, stdin=source).stdout


def test_standard_input_stands_alone(lint: Lint) -> None:
    result = lint("-", "bench.py", stdin=b"")

    assert result.exit_code == 2
    assert "cannot be mixed" in result.stderr
