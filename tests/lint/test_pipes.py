"""The command at the end of a pipe, or with nothing to write to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import COUNTS_CHUNKS

COMMAND = Path(sys.executable).with_name("otel-specdecode")


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ("{ $0 lint .; echo $? >&2; } | true", "1\n"),
        ("$0 lint . --output-format json >&-; echo $?", "1\n"),
        ("$0 lint - <&- ; echo $?", "2\nerror: standard input is closed\n"),
    ],
)
def test_a_closed_or_broken_end_is_no_traceback(
    tmp_path: Path, shell: str, expected: str
) -> None:
    (tmp_path / "bench.py").write_text(COUNTS_CHUNKS)

    done = subprocess.run(
        ["bash", "-c", shell, COMMAND],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    told = "2 findings in 1 file, 1 fixable with --fix.\n"
    assert (done.stdout + done.stderr).replace(told, "") == expected
