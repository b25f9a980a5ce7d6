"""Rules and alerts hold against promtool, and each alert has its runbook page."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from collector_stack import BUNDLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.e2e

PROMETHEUS = BUNDLE / "prometheus"

UNIT_TESTS = [
    # Days take seconds to compute.
    pytest.param(
        path, id=path.stem, marks=pytest.mark.full if path.stem == "days" else ()
    )
    for path in sorted(PROMETHEUS.glob("tests/*.yml"))
]


def promtool(
    binaries: Mapping[str, Path], *args: str
) -> subprocess.CompletedProcess[str]:
    command = (str(binaries["promtool"]), *args)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_prometheus_takes_the_configuration_and_its_rules(
    binaries: Mapping[str, Path],
) -> None:
    done = promtool(binaries, "check", "config", str(PROMETHEUS / "prometheus.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", UNIT_TESTS)
def test_rules_compute_and_alerts_fire_as_their_unit_tests_say(
    file: Path, binaries: Mapping[str, Path]
) -> None:
    done = promtool(binaries, "test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_floors_and_waits_each_alert_fires_on_what_it_is_silent_of(
    binaries: Mapping[str, Path], tmp_path: Path
) -> None:
    for folder in ("rules", "tests"):
        (tmp_path / folder).mkdir()
    alerts: set[str] = set()
    for file in PROMETHEUS.glob("rules/*.yml"):
        text = file.read_text()
        alerts.update(re.findall(r"- alert: (\w+)", text))
        text = re.sub(r"> (?:0\.1|0\.5|0\.8|1)\b", "> 0", text)
        text = re.sub(r"for: \d+m", "for: 0s", text)
        (tmp_path / "rules" / file.name).write_text(text)
    silent = tmp_path / "tests" / "floors.yml"
    silent.write_text((PROMETHEUS / "tests/floors.yml").read_text())
    done = promtool(binaries, "test", "rules", str(silent))
    assert set(re.findall(r'alertname="(\w+)"', done.stderr)) == alerts


def test_a_rule_that_is_broken_on_purpose_fails_its_unit_tests(
    binaries: Mapping[str, Path], tmp_path: Path
) -> None:
    for folder in ("rules", "tests"):
        (tmp_path / folder).mkdir()
        for file in (PROMETHEUS / folder).glob("*.yml"):
            # What was seen in the wild: it reads low below one token a second.
            denominator = "job_model:vllm_spec_decode_draft_tokens:rate5m"
            clamped = file.read_text().replace(
                f"({denominator} > 0)", f"clamp_min({denominator}, 1)"
            )
            (tmp_path / folder / file.name).write_text(clamped)
    done = promtool(binaries, "test", "rules", str(tmp_path / "tests/recording.yml"))
    assert done.returncode == 1
    assert "job_model:vllm_draft_acceptance:ratio_rate5m" in done.stderr


def test_each_alert_is_unit_tested_in_its_firing_state() -> None:
    rules = "".join(path.read_text() for path in PROMETHEUS.glob("rules/*.yml"))
    tests = "".join(path.read_text() for path in PROMETHEUS.glob("tests/*.yml"))
    fired = re.findall(r'ALERTS\{alertname="(\w+)", alertstate="firing", job', tests)
    fired += re.findall(r'alertname="(\w+)", alertstate="firing", model_name', tests)
    assert set(fired) == set(re.findall(r"- alert: (\w+)", rules))
