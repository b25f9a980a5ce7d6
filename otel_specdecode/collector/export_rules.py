"""Traps on the way out of a collector: TLS, queues, names, and what a store takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.collector.components import (
    GRPC,
    LOOPBACK,
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
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from otel_specdecode.collector.yaml_source import Node

_OF_TOKENS = frozenset({"authorization", "x-api-key", "api-key"})
_STRATEGY = "UnderscoreEscapingWithSuffixes"
_TAKES_SUMS = REMOTE_WRITE | {"prometheus"}


def _transport_security(config: Node) -> Iterator[Finding]:
    exporters = defined(config, "exporters")
    for name, address, node in endpoints(config, GRPC):
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


def _tokens_in_clear_text(config: Node) -> Iterator[Finding]:
    for name, exporter in defined(config, "exporters").items():
        headers = exporter.get("headers")
        sent = (
            [key for key in headers.mapping if key.lower() in _OF_TOKENS]
            if headers
            else []
        )
        for key in ("endpoint", *SIGNAL_ENDPOINTS) if sent else ():
            node = exporter.get(key)
            address = str(node.value) if node else ""
            if node and address.startswith("http://") and not _is_near(address):
                message = (
                    f"{name}: shows its {sent[0]} to {address} without TLS; write "
                    "https://"
                )
                yield finding_at(node, "C016", message, Severity.WARNING)


def _is_near(address: str) -> bool:
    """Whether it is on this machine."""
    return address.removeprefix("http://").startswith(LOOPBACK)


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
    if level and str(level.value).lower() == "debug":
        message = (
            "service.telemetry.logs.level debug: filter and transform then log each "
            "span and record as it came in, before prompts and keys are removed"
        )
        yield finding_at(level, "C022", message, Severity.WARNING)


RULES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _transport_security,
    _tokens_in_clear_text,
    _missing_extensions,
    _given_up,
    _deltas,
    _other_names,
    _talkative_log,
)
