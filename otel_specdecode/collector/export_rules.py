"""Traps on the way out of a collector: addresses, queues, and what a store takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_specdecode.collector import variables
from otel_specdecode.collector.components import defined, finding_at, kind, pipelines
from otel_specdecode.collector.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from otel_specdecode.collector.yaml_source import Node

_GRPC = frozenset({"otlp", "otlp_grpc"})
_HTTP = frozenset({"otlphttp", "otlp_http"})
# By convention, and not by anything that the other side would say.
_PORT_OF_GRPC, _PORT_OF_HTTP = "4317", "4318"
_SIGNAL_PATH = re.compile(r"/v1/(?:traces|metrics|logs)/?$")
_PORT_OF_PROMETHEUS = "9090"
_REMOTE_WRITE = frozenset({"prometheus_remote_write", "prometheusremotewrite"})
# Where a name stands instead of an address, it is most likely another machine's.
_OWN_HOST = re.compile(r"|localhost|[\d.]+|\[[0-9A-Fa-f:.]*\]")
_STRATEGY = "UnderscoreEscapingWithSuffixes"
_TAKES_SUMS = _REMOTE_WRITE | {"prometheus"}


def _endpoints(config: Node, kinds: frozenset[str]) -> Iterator[tuple[str, str, Node]]:
    """Name, address without variables, and its place, of exporters of some types."""
    for name, exporter in defined(config, "exporters").items():
        endpoint = exporter.get("endpoint")
        if kind(name) in kinds and endpoint and isinstance(endpoint.value, str):
            yield name, variables.by_default(endpoint.value), endpoint


def _addresses(config: Node) -> Iterator[Finding]:
    for name, address, node in _endpoints(config, _HTTP):
        if _SIGNAL_PATH.search(address):
            message = (
                f"{name}: /v1/traces and the like are appended to endpoint; give the "
                "base, or traces_endpoint, metrics_endpoint, logs_endpoint whole"
            )
            yield finding_at(node, "C015", message)
        if _port(address) == _PORT_OF_GRPC:
            message = f"{name}: speaks HTTP, to the port of gRPC; 4318 is that of HTTP"
            yield finding_at(node, "C015", message, Severity.WARNING)
    for name, address, node in _endpoints(config, _GRPC):
        if _port(address) == _PORT_OF_HTTP:
            message = f"{name}: speaks gRPC, to the port of HTTP; 4317 is that of gRPC"
            yield finding_at(node, "C015", message, Severity.WARNING)


def _incomplete_addresses(config: Node) -> Iterator[Finding]:
    for name, address, node in _endpoints(config, _HTTP | _REMOTE_WRITE):
        if "://" not in address and "$" not in str(node.value):
            message = f"{name}: {address} has no scheme; write http:// or https://"
            yield finding_at(node, "C015", message)
        elif _path(address):
            continue
        elif kind(name) in _REMOTE_WRITE and _port(address):
            message = (
                f"{name}: remote write goes to a path; Prometheus' is /api/v1/write"
            )
            yield finding_at(node, "C015", message, Severity.WARNING)
        elif _port(address) == _PORT_OF_PROMETHEUS:
            message = f"{name}: Prometheus takes OTLP at /api/v1/otlp, and not at /"
            yield finding_at(node, "C015", message, Severity.WARNING)


def _pages_elsewhere(config: Node) -> Iterator[Finding]:
    for name, address, node in _endpoints(config, frozenset({"prometheus"})):
        if not _OWN_HOST.fullmatch(address.rpartition(":")[0]):
            message = (
                f"{name}: endpoint is where the collector offers a page to be scraped; "
                f"to send to {address}, use otlp_http or prometheus_remote_write"
            )
            yield finding_at(node, "C024", message, Severity.WARNING)


def _path(address: str) -> str:
    return address.rpartition("://")[2].partition("/")[2]


def _port(address: str) -> str:
    return address.rpartition("://")[2].partition("/")[0].rpartition(":")[2]


def _transport_security(config: Node) -> Iterator[Finding]:
    exporters = defined(config, "exporters")
    for name, address, node in _endpoints(config, _GRPC):
        if exporters[name].get("tls") is None and not address.startswith("https:"):
            message = (
                f"{name}: speaks TLS to {address}, whatever its scheme; a backend "
                "without it needs tls: {insecure: true}"
            )
            yield finding_at(node, "C016", message, Severity.WARNING)
    for name, exporter in exporters.items():
        unchecked = exporter.get("tls", "insecure_skip_verify")
        if unchecked and unchecked.value is True:
            message = (
                f"{name}: whoever answers is believed, and gets what is sent; give "
                "tls.ca_file instead of insecure_skip_verify"
            )
            yield finding_at(unchecked, "C016", message, Severity.WARNING)


def _missing_extensions(config: Node) -> Iterator[Finding]:
    started = config.get("service", "extensions")
    names = started.texts() if started else []
    for name, storage in _stored_queues(config).items():
        if storage.value not in names:
            message = (
                f"{name}: the queue's storage {storage.value} is not in "
                "service.extensions, the collector will not start"
            )
            yield finding_at(storage, "C013", message)
    for path, node in config.walk():
        if path[-2:] == ("auth", "authenticator") and node.value not in names:
            message = (
                f"{'.'.join(path)}: {node.value} is not in service.extensions, the "
                "collector will not start"
            )
            yield finding_at(node, "C013", message)


def _given_up(config: Node) -> Iterator[Finding]:
    exporters = defined(config, "exporters")
    for name, exporter in exporters.items():
        retries = exporter.get("retry_on_failure", "enabled")
        if retries and retries.value is False:
            message = (
                f"{name}: what its backend cannot take at the moment is thrown away; "
                "leave retry_on_failure on"
            )
            yield finding_at(retries, "C017", message, Severity.WARNING)
    for name, storage in _stored_queues(config).items():
        limit = exporters[name].get("retry_on_failure", "max_elapsed_time")
        if limit is None or str(limit.value) not in {"0", "0s"}:
            length = limit.value if limit else "5m"
            message = (
                f"{name}: its queue outlives the collector, and what is in it is "
                f"thrown away after {length} of retries; set retry_on_failure: "
                "{max_elapsed_time: 0s}"
            )
            yield finding_at(limit or storage, "C017", message, Severity.WARNING)


def _stored_queues(config: Node) -> Mapping[str, Node]:
    """The storage of each exporter whose queue is on disk."""
    found: dict[str, Node] = {}
    for name, exporter in defined(config, "exporters").items():
        storage = exporter.get("sending_queue", "storage")
        if storage and isinstance(storage.value, str):
            found[name] = storage
    return found


def _deltas(config: Node) -> Iterator[Finding]:
    for title, pipeline in pipelines(config).items():
        processors = pipeline.get("processors")
        exporters = pipeline.get("exporters")
        if not processors or not exporters:
            continue
        kinds = {kind(name) for name in processors.texts()}
        takers = [name for name in exporters.texts() if kind(name) in _TAKES_SUMS]
        if takers and kinds & {"cumulative_to_delta", "cumulativetodelta"}:
            message = (
                f"pipeline {title}: {takers[0]} takes cumulative sums and drops the "
                "deltas that cumulative_to_delta makes"
            )
            yield finding_at(processors, "C018", message)


def _other_names(config: Node) -> Iterator[Finding]:
    for name, exporter in defined(config, "exporters").items():
        if kind(name) not in _TAKES_SUMS:
            continue
        prefix = exporter.get("namespace")
        if prefix and prefix.value:
            message = (
                f"{name}: namespace puts {prefix.value}_ before every name; rules and "
                "dashboards ask for the names without it"
            )
            yield finding_at(prefix, "C021", message)
        strategy = exporter.get("translation_strategy")
        if strategy and strategy.value != _STRATEGY:
            message = (
                f"{name}: rules and dashboards ask for names as "
                f"{_STRATEGY} makes them, not {strategy.value}"
            )
            yield finding_at(strategy, "C021", message)


def _talkative_log(config: Node) -> Iterator[Finding]:
    level = config.get("service", "telemetry", "logs", "level")
    if level and variables.by_default(str(level.value)).lower() == "debug":
        message = (
            "service.telemetry.logs.level debug: filter and transform then log each "
            "span and record as it came in, before prompts and keys are removed"
        )
        yield finding_at(level, "C022", message, Severity.WARNING)


RULES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _addresses,
    _incomplete_addresses,
    _pages_elsewhere,
    _transport_security,
    _missing_extensions,
    _given_up,
    _deltas,
    _other_names,
    _talkative_log,
)
