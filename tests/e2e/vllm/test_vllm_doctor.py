"""The doctor reads a real vLLM rightly, with speculation and without."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from vllm_env import VLLM_VERSION
from vllm_server import METHODS, serve

from otel_specdecode.cli.doctor import command

if TYPE_CHECKING:
    from pathlib import Path

    from vllm_server import Server

pytestmark = pytest.mark.e2e


def examine(server: Server) -> dict[str, Any]:
    # What our own tests set is a finding, rightly.
    runner = CliRunner(env={"OTEL_SPECDECODE_RERAISE": None})
    result = runner.invoke(command, ["--base-url", f"{server.url}/v1", "--json"])
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["exit_code"] == result.exit_code
    return found


def faults(found: dict[str, Any]) -> dict[str, str | None]:
    """Code and remedy of what is missing or wrong."""
    return {f["code"]: f["fix"] for f in found["findings"] if f["level"] != "note"}


def test_the_doctor_sees_what_this_server_gives(server: Server) -> None:
    found = examine(server)
    seen = found["server"]
    assert (seen["kind"], seen["version"]) == ("vLLM", VLLM_VERSION)
    assert seen["usage_on_streams"] == {"asked": "present", "unasked": "absent"}
    assert (seen["has_timing"], seen["unknown_fields"]) == (True, "ignored")
    assert seen["num_requests"] == 6
    level = "detailed" if server.speculates else "absent"
    assert seen["acceptance"]["on_streams"] == level
    assert seen["acceptance"]["in_whole_answers"] == level
    counted = "present" if server.speculates else "absent"
    assert seen["metrics_page"]["speculation"] == counted
    flags = "--speculative-config JSON --per-request-spec-decode-metrics summary"
    missing = {"acceptance_absent": f"start vLLM with {flags}"}
    assert faults(found) == ({} if server.speculates else missing)


@pytest.mark.full
def test_the_doctor_names_the_flag_that_a_speculating_server_lacks(
    tmp_path: Path,
) -> None:
    with serve(METHODS["ngram"], tmp_path / "vllm.log", metrics="none") as server:
        found = examine(server)
    flag = "start vLLM with --per-request-spec-decode-metrics summary"
    assert faults(found) == {"acceptance_absent": flag}
