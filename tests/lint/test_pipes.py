"""The command at the end of a pipe, with nothing to write to, or interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from .conftest import COMMAND, COUNTS_CHUNKS

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_ctrl_c_ends_a_run_without_a_word(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bench.py")
    linting = subprocess.Popen(
        [COMMAND, "lint", "bench.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with (tmp_path / "bench.py").open("w"):  # opens when the other side does
        linting.send_signal(signal.SIGINT)
        out, err = linting.communicate(timeout=60)

    assert (linting.returncode, out, err) == (130, "", "")
