"""The files for Compose and Kubernetes, read as those read them.

compose-go is the library inside Docker Compose; the schema of a ServiceMonitor is the
Prometheus Operator's own. Neither starts anything.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml
from collector_stack import BUNDLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.e2e

MONITORS = list(
    yaml.safe_load_all((BUNDLE / "kubernetes/servicemonitor.yaml").read_text())
)


def composed(
    binaries: Mapping[str, Path], file: Path
) -> subprocess.CompletedProcess[str]:
    command = (str(binaries["compose-go"]), str(file))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_compose_reads_its_file_and_fills_in_what_is_left_open(
    binaries: Mapping[str, Path],
) -> None:
    done = composed(binaries, BUNDLE / "compose.yaml")
    assert done.returncode == 0, done.stderr
    project = yaml.safe_load(done.stdout)
    collector = project["services"]["collector"]
    servers = collector["environment"]["SPECDECODE_VLLM_TARGETS"]
    assert servers == '["host.docker.internal:8000"]'
    assert {port["host_ip"] for port in collector["ports"]} == {"127.0.0.1"}
    assert collector["restart"] == "unless-stopped"


def validated(
    binaries: Mapping[str, Path],
    arguments: Sequence[str],
    mounted: str,
    env: Mapping[str, str],
) -> subprocess.CompletedProcess[str]:
    """The built collector's word on what a container would be started with."""
    here = [one.replace(mounted, f"{BUNDLE}/config/") for one in arguments]
    command = (str(binaries["otelcol-specdecode"]), "validate", *here)
    return subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


def test_what_compose_starts_is_valid(binaries: Mapping[str, Path]) -> None:
    project = yaml.safe_load(composed(binaries, BUNDLE / "compose.yaml").stdout)
    collector = project["services"]["collector"]
    env = {key: str(value) for key, value in collector["environment"].items()}
    done = validated(binaries, collector["command"], "/etc/otelcol/", env)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_charts_pod_starts_is_valid(binaries: Mapping[str, Path]) -> None:
    values = yaml.safe_load((BUNDLE / "kubernetes/collector-values.yaml").read_text())
    env = {one["name"]: one["value"] for one in values["extraEnvs"]}
    arguments = values["command"]["extraArgs"]
    done = validated(binaries, arguments, "/etc/otelcol/", env)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_value_that_a_pod_could_not_start_with_would_be_found(
    binaries: Mapping[str, Path],
) -> None:
    env = {"SPECDECODE_SCRAPE_INTERVAL": "15"}
    done = validated(binaries, ["--config=/x/base.yaml"], "/x/", env)
    assert "duration" in done.stderr


def test_compose_would_refuse_a_word_that_it_does_not_know(
    binaries: Mapping[str, Path], tmp_path: Path
) -> None:
    text = (BUNDLE / "compose.yaml").read_text()
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(text.replace("cap_drop:", "cap_dropp:"))
    assert "cap_dropp" in composed(binaries, wrong).stderr


def strict(schema: Any) -> Any:
    """The same schema, in which a field that it does not know is an error."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        inside.setdefault("additionalProperties", False)
    return inside


@pytest.fixture(scope="module")
def validator(binaries: Mapping[str, Path]) -> jsonschema.Draft202012Validator:
    definition = yaml.safe_load(binaries["servicemonitors.yaml"].read_text())
    (version,) = definition["spec"]["versions"]
    schema = strict(version["schema"]["openAPIV3Schema"])
    # Kubernetes' own, which the operator's schema leaves open.
    schema["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("monitor", MONITORS, ids=lambda one: one["metadata"]["name"])
def test_the_operator_knows_each_field_of_a_service_monitor(
    monitor: dict[str, Any], validator: jsonschema.Draft202012Validator
) -> None:
    assert [error.message for error in validator.iter_errors(monitor)] == []


def test_a_field_that_the_operator_does_not_know_would_be_found(
    validator: jsonschema.Draft202012Validator,
) -> None:
    spec = {**MONITORS[0]["spec"], "scrapeProtocolls": ["PrometheusText0.0.4"]}
    found = validator.iter_errors({**MONITORS[0], "spec": spec})
    assert ["scrapeProtocolls" in error.message for error in found] == [True]
