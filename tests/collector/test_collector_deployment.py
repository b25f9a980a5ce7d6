"""Compose file, Helm values and ServiceMonitor fit the configuration they start."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from otel_specdecode.collector import bundle_root, check_configuration
from otel_specdecode.collector.variables import expanded

ROOT = bundle_root()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
VALUES = yaml.safe_load((ROOT / "kubernetes" / "collector-values.yaml").read_text())
MONITORS = list(
    yaml.safe_load_all((ROOT / "kubernetes" / "servicemonitor.yaml").read_text())
)
BASE = yaml.safe_load((ROOT / "config" / "base.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
each_service = pytest.mark.parametrize("name", sorted(SERVICES))
COLLECTOR_RELEASE = re.search(
    r"version: ([\d.]+)", (ROOT / "builder-config.yaml").read_text()
)


def variables_of_the_configuration() -> set[str]:
    text = "".join(file.read_text() for file in (ROOT / "config").glob("*.yaml"))
    return set(re.findall(r"\$\{env:(\w+)", text))


@each_service
def test_an_image_is_pinned_to_one_release(name: str) -> None:
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", SERVICES[name]["image"])


@each_service
def test_a_port_is_published_on_loopback_alone(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert port.startswith("127.0.0.1:")


@each_service
def test_a_service_has_a_limit_of_memory_and_no_capability(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"[1-9]\d*[mg]", service["mem_limit"])
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    # It gives the queue's volume to the collector's user, and ends.
    needed = ["CHOWN"] if name == "queue-owner" else []
    assert service.get("cap_add", []) == needed
    assert "privileged" not in service


@each_service
def test_a_service_comes_back_unless_it_is_meant_to_end(name: str) -> None:
    ends = name == "queue-owner"
    assert SERVICES[name]["restart"] == ("no" if ends else "unless-stopped")


@each_service
def test_what_a_service_mounts_is_in_the_bundle(name: str) -> None:
    sources = [one.split(":")[0] for one in SERVICES[name].get("volumes", ())]
    for source in sources:
        assert source in COMPOSE["volumes"] or (ROOT / source).exists(), source


def configurations(arguments: list[str]) -> list[str]:
    return [one.rpartition("/")[2] for one in arguments if one.startswith("--config=")]


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (
            SERVICES["collector"]["command"],
            # Compose takes a default as the collector does.
            {
                name: expanded(value, {})
                for name, value in SERVICES["collector"]["environment"].items()
            },
        ),
        (
            VALUES["command"]["extraArgs"],
            {one["name"]: one["value"] for one in VALUES["extraEnvs"]},
        ),
    ],
    ids=["compose", "helm"],
)
def test_the_collector_starts_with_files_and_variables_that_exist(
    arguments: list[str], environment: dict[str, str]
) -> None:
    names = configurations(arguments)
    assert names[0] == "base.yaml"
    found = check_configuration([ROOT / "config" / one for one in names], environment)
    assert [one for one in found if one.severity == "error"] == []
    own = {name for name in environment if name.startswith("SPECDECODE_")}
    assert own <= variables_of_the_configuration()


def test_both_run_the_release_that_is_tested() -> None:
    assert COLLECTOR_RELEASE
    release = COLLECTOR_RELEASE[1]
    image = SERVICES["collector"]["image"]
    assert image == f"otel/opentelemetry-collector-contrib:{release}"
    assert VALUES["image"]["tag"] == release
    modules = re.findall(
        r"gomod: \S+ v(\S+)", (ROOT / "builder-config.yaml").read_text()
    )
    assert set(modules) == {release, "1.67.0"}


def test_the_memory_limit_of_go_is_80_percent_of_the_containers() -> None:
    collector = SERVICES["collector"]
    limits = (collector["mem_limit"], collector["environment"]["GOMEMLIMIT"])
    assert limits == ("500m", "400MiB")


def test_a_service_monitor_relabels_as_the_collectors_scrape_job_does() -> None:
    job = BASE["receivers"]["prometheus"]["config"]["scrape_configs"][0]
    snake = [
        {
            re.sub(
                r"(?<=[a-z])([A-Z])", lambda found: f"_{found[1].lower()}", key
            ): value
            for key, value in rule.items()
        }
        for rule in MONITORS[1]["spec"]["endpoints"][0]["metricRelabelings"]
    ]
    # In the collector's own file a dollar is written twice.
    single = [
        {
            key: value.replace("$$", "$") if isinstance(value, str) else value
            for key, value in rule.items()
        }
        for rule in job["metric_relabel_configs"]
    ]
    assert snake == single
    assert MONITORS[1]["spec"]["scrapeProtocols"] == job["scrape_protocols"]


def test_prometheus_of_compose_differs_from_the_other_in_addresses_alone() -> None:
    own = yaml.safe_load((ROOT / "prometheus" / "prometheus.yml").read_text())
    composed = yaml.safe_load((ROOT / "prometheus" / "compose.yml").read_text())
    for key in ("global", "rule_files", "otlp", "storage"):
        assert composed[key] == own[key]
    jobs = {
        job["job_name"]: job["static_configs"] for job in composed["scrape_configs"]
    }
    assert jobs == {"otelcol": [{"targets": ["collector:8888"]}]}


def test_grafana_finds_the_dashboards_and_a_prometheus_with_their_uid() -> None:
    folder = ROOT / "grafana" / "provisioning"
    provider = yaml.safe_load((folder / "dashboards" / "specdecode.yaml").read_text())
    path = provider["providers"][0]["options"]["path"]
    assert f"./grafana/dashboards:{path}:ro" in SERVICES["grafana"]["volumes"]
    home = SERVICES["grafana"]["environment"][
        "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"
    ]
    assert (ROOT / "grafana" / home.lstrip("/")).exists()
