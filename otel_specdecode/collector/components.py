"""What the rules read of a configuration: its components, pipelines and scrape jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.collector.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_specdecode.collector.yaml_source import Node

SECTIONS = ("receivers", "processors", "exporters", "connectors", "extensions")
GRPC = frozenset({"otlp", "otlp_grpc"})
HTTP = frozenset({"otlphttp", "otlp_http"})
REMOTE_WRITE = frozenset({"prometheus_remote_write", "prometheusremotewrite"})
LOOPBACK = ("127.", "localhost", "[::1]")
"""How addresses on this machine begin."""
SIGNAL_ENDPOINTS = ("traces_endpoint", "metrics_endpoint", "logs_endpoint")
"""Settings of exporters over HTTP that go before `endpoint`, for one signal each."""
PIPELINE_SECTIONS = ("receivers", "processors", "exporters")


def finding_at(
    node: Node, code: str, message: str, severity: Severity = Severity.ERROR
) -> Finding:
    """A finding whose place is that of a node."""
    return Finding(
        file=node.file, line=node.line, code=code, message=message, severity=severity
    )


def defined(config: Node, section: str) -> Mapping[str, Node]:
    """The components of a section, by their names."""
    below = config.get(section)
    return below.mapping if below else {}


def pipelines(config: Node) -> Mapping[str, Node]:
    """The pipelines of the service, by their names."""
    found = config.get("service", "pipelines")
    return found.mapping if found else {}


def kind(name: str) -> str:
    """The type of a component: `otlp_http` of `otlp_http/metrics`."""
    return name.partition("/")[0]


def uses(config: Node) -> Iterator[tuple[str, str, Node]]:
    """Section, name and list of each component that the service starts."""
    for pipeline in pipelines(config).values():
        for section in PIPELINE_SECTIONS:
            names = pipeline.get(section)
            for name in names.texts() if names else ():
                yield section, name, names or pipeline
    extensions = config.get("service", "extensions")
    for name in extensions.texts() if extensions else ():
        yield "extensions", name, extensions or config


def scrape_jobs(config: Node) -> Iterator[tuple[str, Node]]:
    """Name and settings of each job of a Prometheus receiver."""
    for name, receiver in defined(config, "receivers").items():
        jobs = receiver.get("config", "scrape_configs")
        if kind(name) == "prometheus" and jobs:
            for job in jobs.items:
                title = job.get("job_name")
                yield str(title.value if title else name), job


def endpoints(config: Node, kinds: frozenset[str]) -> Iterator[tuple[str, str, Node]]:
    """Name, address, and its place, of exporters of some types."""
    for name, exporter in defined(config, "exporters").items():
        endpoint = exporter.get("endpoint")
        if kind(name) in kinds and endpoint and isinstance(endpoint.value, str):
            yield name, endpoint.value, endpoint
