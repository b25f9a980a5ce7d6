"""Addresses to which nothing goes, or not what was meant for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_specdecode.collector.components import (
    GRPC,
    HTTP,
    REMOTE_WRITE,
    SIGNAL_ENDPOINTS,
    defined,
    endpoints,
    finding_at,
    kind,
    pipelines,
)
from otel_specdecode.collector.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otel_specdecode.collector.yaml_source import Node

# By convention, and not by anything that the other side would say.
_PORT_OF_GRPC, _PORT_OF_HTTP, _PORT_OF_PROMETHEUS = "4317", "4318", "9090"
_SIGNAL_PATH = re.compile(r"/v1/(?:traces|metrics|logs)/?$")
_ADDRESSED = GRPC | HTTP | REMOTE_WRITE | {"prometheus"}
# Where a name stands instead of an address, it is most likely another machine's.
_OWN_HOST = re.compile(r"|localhost|[\d.]+|\[[0-9A-Fa-f:.]*\]")


def _addresses(config: Node) -> Iterator[Finding]:
    for name, address, node in endpoints(config, HTTP):
        if _SIGNAL_PATH.search(address):
            message = (
                f"{name}: /v1/traces and the like are appended to endpoint; give the "
                "base, or traces_endpoint, metrics_endpoint, logs_endpoint whole"
            )
            yield finding_at(node, "C015", message)
        if _port(address) == _PORT_OF_GRPC:
            message = f"{name}: speaks HTTP, to the port of gRPC; 4318 is that of HTTP"
            yield finding_at(node, "C015", message, Severity.WARNING)
    for name, address, node in endpoints(config, GRPC):
        if _port(address) == _PORT_OF_HTTP:
            message = f"{name}: speaks gRPC, to the port of HTTP; 4317 is that of gRPC"
            yield finding_at(node, "C015", message, Severity.WARNING)


def _incomplete_addresses(config: Node) -> Iterator[Finding]:
    for name, address, node in endpoints(config, HTTP | REMOTE_WRITE):
        if _stands_elsewhere(address):
            continue
        if "://" not in address:
            yield _without_scheme(name, address, node)
        elif _path(address):
            continue
        elif kind(name) in REMOTE_WRITE and _port(address):
            message = (
                f"{name}: remote write goes to a path; Prometheus' is /api/v1/write"
            )
            yield finding_at(node, "C015", message, Severity.WARNING)
        elif _port(address) == _PORT_OF_PROMETHEUS:
            message = f"{name}: Prometheus takes OTLP at /api/v1/otlp, and not at /"
            yield finding_at(node, "C015", message, Severity.WARNING)


def _without_scheme(name: str, address: str, node: Node) -> Finding:
    message = f"{name}: {address} has no scheme; write http:// or https://"
    return finding_at(node, "C015", message)


def _stands_elsewhere(address: str) -> bool:
    """Whether it is in another file, or in a variable that is not set here.

    What is left of such a variable is the path after it.
    """
    return not address or "$" in address or address.startswith("/")


def _missing_addresses(config: Node) -> Iterator[Finding]:
    for name, exporter in defined(config, "exporters").items():
        needed = (
            ("endpoint", *SIGNAL_ENDPOINTS) if kind(name) in HTTP else ("endpoint",)
        )
        # An exporter without settings takes its own defaults, or stands elsewhere.
        if kind(name) in _ADDRESSED and exporter.mapping and not _any(exporter, needed):
            message = (
                f"{name} has no {needed[0]}; is the file missing that gives it one, or "
                "has it another name there?"
            )
            yield finding_at(exporter, "C015", message)


def _any(node: Node, keys: Iterable[str]) -> bool:
    return any(node.get(key) for key in keys)


def _whole_addresses(config: Node) -> Iterator[Finding]:
    """Addresses of one signal, which are taken as they are."""
    for name, exporter in defined(config, "exporters").items():
        for key in SIGNAL_ENDPOINTS if kind(name) in HTTP else ():
            node = exporter.get(key)
            address = str(node.value) if node else ""
            if node is None or _stands_elsewhere(address):
                continue
            if "://" not in address:
                yield _without_scheme(name, address, node)
            elif not _SIGNAL_PATH.search(address):
                message = (
                    f"{name}: {key} is taken whole; {address} lacks the /v1/... at its "
                    "end"
                )
                yield finding_at(node, "C015", message, Severity.WARNING)


def _addresses_without_effect(config: Node) -> Iterator[Finding]:
    signals: dict[str, set[str]] = {}
    for title, pipeline in pipelines(config).items():
        exporters = pipeline.get("exporters")
        for name in exporters.texts() if exporters else ():
            signals.setdefault(name, set()).add(title.partition("/")[0])
    for name, exporter in defined(config, "exporters").items():
        endpoint = exporter.get("endpoint")
        used = signals.get(name)
        if kind(name) not in HTTP or endpoint is None or not used:
            continue
        whole = [exporter.get(f"{signal}_endpoint") for signal in sorted(used)]
        if all(whole):
            message = (
                f"{name}: nothing goes to endpoint, since {', '.join(sorted(used))} "
                "have an address of their own; to send to both, give one of the two "
                "exporters another name, and list both"
            )
            yield finding_at(endpoint, "C015", message, Severity.WARNING)


def _paths_given_twice(config: Node) -> Iterator[Finding]:
    for name, exporter in defined(config, "exporters").items():
        for key in ("endpoint", *SIGNAL_ENDPOINTS):
            node = exporter.get(key)
            address = str(node.value) if node else ""
            if node and address.count("/api/v1/") > 1:
                message = (
                    f"{name}: {address} has a path twice: the variable in it holds an "
                    "address without one, such as http://prometheus:9090"
                )
                yield finding_at(node, "C015", message)


def _pages_elsewhere(config: Node) -> Iterator[Finding]:
    for name, address, node in endpoints(config, frozenset({"prometheus"})):
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


RULES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _addresses,
    _incomplete_addresses,
    _missing_addresses,
    _whole_addresses,
    _addresses_without_effect,
    _paths_given_twice,
    _pages_elsewhere,
)
