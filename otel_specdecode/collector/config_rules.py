"""Traps in a collector's configuration that `otelcol validate` does not name.

The files are read and merged as the collector does it, and nothing is started.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from otel_specdecode.collector import variables
from otel_specdecode.collector.findings import Finding, Severity
from otel_specdecode.collector.renamed_components import RENAMED, WITHOUT_EFFECT
from otel_specdecode.collector.yaml_source import Node, load, merge
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_SECTIONS = ("receivers", "processors", "exporters", "connectors", "extensions")
_PIPELINE_SECTIONS = ("receivers", "processors", "exporters")
_LOOPBACK = ("127.", "localhost", "[::1]", "unix:")


def check_configuration(
    paths: Sequence[Path], environment: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Checks files that are given to one collector, in the order of its `--config`.

    Args:
        paths: the first is the base, each later one goes over it.
        environment: the variables that the collector will run with.

    Raises:
        ConfigError: no file was given, or one cannot be read.
    """
    if not paths:
        raise ConfigError("expected at least one configuration file")
    merged = reduce(merge, [load(path) for path in paths])
    found = [finding for rule in _RULES for finding in rule(merged)]
    found += _unset_variables(merged, environment)
    return tuple(sorted(found))


def _finding(
    node: Node, code: str, message: str, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(
        file=node.file, line=node.line, code=code, message=message, severity=severity
    )


def _defined(config: Node, section: str) -> Mapping[str, Node]:
    below = config.get(section)
    return below.mapping if below else {}


def _pipelines(config: Node) -> Mapping[str, Node]:
    pipelines = config.get("service", "pipelines")
    return pipelines.mapping if pipelines else {}


def _kind(name: str) -> str:
    """The type of a component: `otlp_http` of `otlp_http/metrics`."""
    return name.partition("/")[0]


def _uses(config: Node) -> Iterator[tuple[str, str, Node]]:
    """Section, name and list of each component that the service starts."""
    for pipeline in _pipelines(config).values():
        for section in _PIPELINE_SECTIONS:
            names = pipeline.get(section)
            for name in names.texts() if names else ():
                yield section, name, names or pipeline
    extensions = config.get("service", "extensions")
    for name in extensions.texts() if extensions else ():
        yield "extensions", name, extensions or config


def _undefined(config: Node) -> Iterator[Finding]:
    connectors = _defined(config, "connectors")
    for section, name, node in _uses(config):
        if name not in _defined(config, section) and name not in connectors:
            message = f"{name} is listed but not defined under {section}"
            yield _finding(node, "C001", message)


def _unused(config: Node) -> Iterator[Finding]:
    used = {name for _, name, _ in _uses(config)}
    for section in _SECTIONS:
        for name, node in _defined(config, section).items():
            if name not in used:
                message = (
                    f"{section[:-1]} {name} is defined and never started: no pipeline "
                    "and no list of extensions names it"
                )
                yield _finding(node, "C002", message, Severity.WARNING)


def _replaced_lists(config: Node) -> Iterator[Finding]:
    for path, node in config.walk():
        kept = set(node.texts())
        for earlier in node.replaced:
            lost = [name for name in earlier.texts() if name not in kept]
            # One exporter in place of another is what export overlays are for, and
            # a tier may need fewer processors; a lost extension is lost by mistake.
            if lost and path[-1:] in {("extensions",), ("processors",)}:
                message = (
                    f"{'.'.join(path)} replaces the list of {earlier.file}:"
                    f"{earlier.line}, it does not extend it: {', '.join(lost)} "
                    "is no longer there"
                )
                intended = path[-1] == "processors"
                severity = Severity.WARNING if intended else Severity.ERROR
                yield _finding(node, "C003", message, severity)


def _order(config: Node) -> Iterator[Finding]:
    for name, pipeline in _pipelines(config).items():
        processors = pipeline.get("processors")
        kinds = [_kind(one) for one in processors.texts()] if processors else []
        at = processors or pipeline
        if "memory_limiter" not in kinds:
            message = f"pipeline {name} has no memory_limiter, which goes first"
            yield _finding(at, "C004", message, Severity.WARNING)
        elif kinds[0] != "memory_limiter":
            message = (
                f"pipeline {name}: memory_limiter must come first, {kinds[0]} "
                "works on what is then refused"
            )
            yield _finding(at, "C004", message)
        if "batch" in kinds and kinds[-1] != "batch":
            message = f"pipeline {name}: {kinds[-1]} works on whole batches again"
            yield _finding(at, "C005", f"{message}; batch goes last", Severity.WARNING)
        elif "batch" in kinds:
            message = (
                f"pipeline {name}: the batch processor hides what a backend refuses; "
                "batch in the exporter's sending_queue"
            )
            yield _finding(at, "C005", message, Severity.WARNING)


def _old_names(config: Node) -> Iterator[Finding]:
    for section in _SECTIONS:
        for name, node in _defined(config, section).items():
            renamed = RENAMED.get((section, _kind(name)))
            if renamed:
                new, since = renamed
                message = f"{_kind(name)} is the old name of {new} (since {since})"
                yield _finding(node, "C006", message, Severity.WARNING)


def _settings_without_effect(config: Node) -> Iterator[Finding]:
    for name, node in _defined(config, "exporters").items():
        for setting, below in node.mapping.items():
            advice = WITHOUT_EFFECT.get((_kind(name), setting))
            if advice:
                yield _finding(below, "C007", f"{name}.{setting} is {advice}")
    address = config.get("service", "telemetry", "metrics", "address")
    if address:
        message = (
            "service.telemetry.metrics.address is ignored since 0.123: use readers"
        )
        yield _finding(address, "C007", message)


def _dollars(config: Node) -> Iterator[Finding]:
    for path, node in config.walk():
        if not isinstance(node.value, str):
            continue
        # An OTTL statement knows no $; a relabelling's $1 must be written $$1.
        for name in variables.naked(node.value):
            message = (
                f"{'.'.join(path)}: ${name} is not expanded; write ${{env:{name}}} "
                f"for a variable, $${name} for a literal"
            )
            yield _finding(node, "C008", message)
        if variables.mixes_escape_and_reference(node.value):
            message = (
                f"{'.'.join(path)}: $$ and ${{env:...}} in one value; collectors "
                "before 0.161 then leave the variable unexpanded"
            )
            yield _finding(node, "C009", message, Severity.WARNING)


def _unset_variables(config: Node, environment: Mapping[str, str]) -> Iterator[Finding]:
    for path, node in config.walk():
        if not isinstance(node.value, str):
            continue
        for reference in variables.references(node.value):
            if reference.default is None and reference.name not in environment:
                message = (
                    f"{'.'.join(path)}: {reference.name} is not set and has no "
                    "default; the collector takes it as empty"
                )
                yield _finding(node, "C010", message)


def _scrape_jobs(config: Node) -> Iterator[tuple[str, Node]]:
    for name, receiver in _defined(config, "receivers").items():
        jobs = receiver.get("config", "scrape_configs")
        if _kind(name) == "prometheus" and jobs:
            for job in jobs.items:
                title = job.get("job_name")
                yield str(title.value if title else name), job


def _unpinned_names(config: Node) -> Iterator[Finding]:
    for title, job in _scrape_jobs(config):
        escaping = job.get("metric_name_escaping_scheme")
        if escaping is None or escaping.value != "allow-utf-8":
            message = (
                f"scrape job {title}: set metric_name_escaping_scheme: allow-utf-8, "
                "or vllm:... may arrive as vllm_..., depending on the server's library"
            )
            yield _finding(escaping or job, "C011", message, Severity.WARNING)


def _open_doors(config: Node) -> Iterator[Finding]:
    for name, receiver in _defined(config, "receivers").items():
        protocols = receiver.get("protocols")
        for protocol, node in protocols.mapping.items() if protocols else ():
            endpoint = node.get("endpoint")
            text = str(endpoint.value) if endpoint else ""
            reachable = [part for part in (_host(text),) if part]
            if any(not part.startswith(_LOOPBACK) for part in reachable) and not (
                node.get("auth") or node.get("tls")
            ):
                message = (
                    f"{name}.{protocol} listens on {text} for anybody: add auth and "
                    "tls, or bind to loopback"
                )
                yield _finding(endpoint or node, "C012", message, Severity.WARNING)


def _host(endpoint: str) -> str:
    """The address that an endpoint has where no variable is set."""
    found = variables.references(endpoint)
    if len(found) == 1:
        return found[0].default or ""
    return endpoint


def _missing_storage(config: Node) -> Iterator[Finding]:
    started = config.get("service", "extensions")
    names = started.texts() if started else []
    for name, exporter in _defined(config, "exporters").items():
        storage = exporter.get("sending_queue", "storage")
        if storage and isinstance(storage.value, str) and storage.value not in names:
            message = (
                f"{name}: the queue's storage {storage.value} is not in "
                "service.extensions, the collector will not start"
            )
            yield _finding(storage, "C013", message)


def _secrets_in_files(config: Node) -> Iterator[Finding]:
    for path, node in config.walk():
        text = node.value
        if not isinstance(text, str) or variables.references(text) or not text:
            continue
        if path[-1].lower() in {"authorization", "token", "password", "api_key"}:
            message = (
                f"{'.'.join(path)} stands in the file: use ${{env:NAME}}, or "
                "bearertokenauth's filename"
            )
            yield _finding(node, "C014", message)


_RULES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _undefined,
    _unused,
    _replaced_lists,
    _order,
    _old_names,
    _settings_without_effect,
    _dollars,
    _unpinned_names,
    _open_doors,
    _missing_storage,
    _secrets_in_files,
)
