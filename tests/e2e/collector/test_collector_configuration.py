"""The built collector accepts and starts each combination that the docs list."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from collector_programs import get, wait_until
from collector_stack import BUNDLE
from combinations import COMBINATIONS

from otel_specdecode.collector.probe import Probe
from otel_specdecode.simulator import Profile, simulate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from collector_stack import Stack

pytestmark = pytest.mark.e2e

CONFIG = BUNDLE / "config"


def a_few_with_every_file() -> list[tuple[str, ...]]:
    """Rows that have each file between them, and no more than it takes."""
    chosen: list[tuple[str, ...]] = []
    missing = {name for row in COMBINATIONS for name in row}
    while missing:
        best = max(COMBINATIONS, key=lambda row: len(missing & set(row)))
        chosen.append(best)
        missing -= set(best)
    return chosen


STARTED = [
    pytest.param(row, marks=() if row in a_few_with_every_file() else pytest.mark.full)
    for row in COMBINATIONS
]

(DEFAULT_TIMEOUT,) = re.findall(
    r"SPECDECODE_SCRAPE_TIMEOUT:-(\w+)", (CONFIG / "base.yaml").read_text()
)
BACKENDS = (
    "SPECDECODE_OTLP_ENDPOINT",
    "SPECDECODE_PROMETHEUS_URL",
    "SPECDECODE_TRACES_ENDPOINT",
    "SPECDECODE_LOGS_ENDPOINT",
)


@pytest.fixture(scope="module")
def variables(
    credentials: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """All that one combination or another has no default for."""
    queue = tmp_path_factory.mktemp("queue")
    return {**credentials, "SPECDECODE_QUEUE_DIRECTORY": str(queue)}


def validate(
    binaries: Mapping[str, Path], sources: tuple[str, ...], env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    command = [str(binaries["otelcol-specdecode"]), "validate"]
    for source in sources:
        command += ["--config", source]
    full = {**os.environ, **env}
    return subprocess.run(
        command, env=full, capture_output=True, text=True, check=False
    )


def test_the_docs_list_combinations_and_each_file_is_in_one() -> None:
    assert {name for row in COMBINATIONS for name in row} == {
        path.stem for path in CONFIG.glob("*.yaml")
    }


@pytest.mark.parametrize("combination", COMBINATIONS, ids="+".join)
def test_validate_accepts(
    combination: tuple[str, ...],
    binaries: Mapping[str, Path],
    variables: Mapping[str, str],
) -> None:
    files = tuple(str(CONFIG / f"{name}.yaml") for name in combination)
    done = validate(binaries, files, variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("combination", STARTED, ids="+".join)
def test_it_starts_and_takes_a_span(
    combination: tuple[str, ...], stack: Stack, variables: Mapping[str, str]
) -> None:
    # Not to what may listen on the ports that are the defaults.
    nowhere = dict.fromkeys(BACKENDS, "http://127.0.0.1:1")
    collector = stack.collector(*combination[1:], env={**variables, **nowhere})
    secure = "auth" in combination
    answers = Probe(
        endpoint=collector.url.replace("http:", "https:" if secure else "http:"),
        token="made-up-token" if secure else None,
        ca_file=variables["SPECDECODE_TLS_CERT_FILE"] if secure else None,
    ).run()
    assert [one.detail for one in answers] == ["taken", "taken"]


def test_a_shorter_interval_needs_no_timeout_of_its_own(
    stack: Stack,
) -> None:
    with simulate(Profile(model="m", time_scale=0.0)) as server:
        env = {
            "SPECDECODE_SCRAPE_INTERVAL": "2s",
            "SPECDECODE_SCRAPE_TIMEOUT": DEFAULT_TIMEOUT,
            "SPECDECODE_VLLM_TARGETS": f'["{server.root_url.removeprefix("http://")}"]',
        }
        collector = stack.collector("export-prometheus-scrape", env=env)
        page = f"http://127.0.0.1:{collector.ports.scrape}/metrics"
        wait_until("the server's metrics", lambda: "vllm:generation" in get(page))


def test_validate_refuses_an_overlay_without_what_it_extends(
    binaries: Mapping[str, Path], variables: Mapping[str, str]
) -> None:
    files = ("base", "export-prometheus-scrape", "persistent-queue-metrics")
    sources = tuple(str(CONFIG / f"{name}.yaml") for name in files)
    done = validate(binaries, sources, variables)
    assert done.returncode != 0
    assert "endpoint" in done.stderr


def test_the_distribution_holds_what_the_configuration_uses_and_no_more(
    binaries: Mapping[str, Path],
) -> None:
    listed = subprocess.run(
        (binaries["otelcol-specdecode"], "components"),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    built = set(re.findall(r"^ {4}- name: (\w+)$", listed, re.MULTILINE))
    text = "\n".join(path.read_text() for path in CONFIG.glob("*.yaml"))
    used = set(re.findall(r"^ {2}(\w+?)(?:/\w+)?:", text, re.MULTILINE))
    keys_of_service = {"extensions", "pipelines", "telemetry"}
    for_the_build_itself = {"env", "file", "yaml"}
    assert built - for_the_build_itself == used - keys_of_service
