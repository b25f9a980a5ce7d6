"""The launcher of the real vLLM fails on what happened, and leaves nothing behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from vllm_server import METHODS, serve

if TYPE_CHECKING:
    from pathlib import Path

    from vllm_server import Server

pytestmark = [pytest.mark.e2e, pytest.mark.full]


def test_a_server_that_cannot_start_fails_with_the_end_of_its_log(
    tmp_path: Path,
) -> None:
    with (
        pytest.raises(RuntimeError, match="unrecognized arguments: --no-such-flag"),
        serve(
            METHODS["baseline"], tmp_path / "vllm.log", extra_flags=["--no-such-flag"]
        ),
    ):
        raise AssertionError("it started")


def test_no_process_is_left_when_the_block_fails(tmp_path: Path) -> None:
    started: list[Server] = []

    def fail_inside() -> None:
        with serve(METHODS["baseline"], tmp_path / "vllm.log") as server:
            started.append(server)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    with pytest.raises(ProcessLookupError):
        os.killpg(started[0].process_group, 0)
