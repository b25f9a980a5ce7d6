"""Traps in a collector's configuration that `otelcol validate` does not name.

The files are read and merged as the collector does it, and nothing is started.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING

from otel_specdecode.collector import (
    address_rules,
    export_rules,
    pipeline_rules,
    scrape_rules,
    variables,
)
from otel_specdecode.collector.components import (
    LOOPBACK,
    SECTIONS,
    defined,
    finding_at,
    kind,
    pipelines,
    uses,
)
from otel_specdecode.collector.findings import Finding, Severity
from otel_specdecode.collector.renamed_components import RENAMED, WITHOUT_EFFECT
from otel_specdecode.collector.yaml_source import Node, load, merge
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

# Or a socket in the file system, whose permissions are its lock.
_NOT_FOR_ANYBODY = (*LOOPBACK, "unix:", "/", "@")
_USER_IN_URL = re.compile(r"://[^/?#\s@:]+:[^/?#\s@]+@")
_LISTS_THAT_LOSE = {("extensions",), ("processors",), ("exporters",)}
_KEY_HEADER = re.compile(r"(?:^|_)(?:auth|key|secret|team|token)$")
_SECRETS = frozenset(
    {
        "access_token",
        "api_key",
        "authorization",
        "client_secret",
        "password",
        "token",
        "x_api_key",
    }
)


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
    found += scrape_rules.wrong_targets(merged, environment)
    running = merged.with_texts(lambda text: variables.expanded(text, environment))
    found += [finding for rule in _RULES_OF_VALUES for finding in rule(running)]
    return tuple(sorted(found))


def _undefined(config: Node) -> Iterator[Finding]:
    connectors = defined(config, "connectors")
    for section, name, node in uses(config):
        if name not in defined(config, section) and name not in connectors:
            message = f"{name} is listed but not defined under {section}"
            yield finding_at(node, "C001", message)


def _unused(config: Node) -> Iterator[Finding]:
    used = {name for _, name, _ in uses(config)}
    # C003 says of these why nothing starts them.
    used |= {
        name
        for path, node in config.walk()
        if path[-1:] in _LISTS_THAT_LOSE
        for earlier in node.replaced
        for name in earlier.texts()
    }
    for section in SECTIONS:
        for name, node in defined(config, section).items():
            # A debug exporter waits for the day when somebody wants to look.
            if name not in used and kind(name) != "debug":
                message = (
                    f"{section[:-1]} {name} is defined and never started: no pipeline "
                    "and no list of extensions names it"
                )
                yield finding_at(node, "C002", message, Severity.WARNING)


def _replaced_lists(config: Node) -> Iterator[Finding]:
    for path, node in config.walk():
        kept = set(node.texts())
        for earlier in node.replaced:
            lost = [name for name in earlier.texts() if name not in kept]
            # A tier may need fewer processors; a lost extension is lost by mistake.
            if lost and path[-1:] in {("extensions",), ("processors",)}:
                message = (
                    f"{'.'.join(path)} replaces the list of {earlier.file}:"
                    f"{earlier.line}, it does not extend it: {', '.join(lost)} "
                    "is no longer there"
                )
                intended = path[-1] == "processors"
                severity = Severity.WARNING if intended else Severity.ERROR
                yield finding_at(node, "C003", message, severity)


def _replaced_exporters(config: Node) -> Iterator[Finding]:
    used = {name for section, name, _ in uses(config) if section == "exporters"}
    for title, pipeline in pipelines(config).items():
        exporters = pipeline.get("exporters")
        for earlier in exporters.replaced if exporters else ():
            # One exporter in place of another is what export overlays are for, unless
            # the file that looks was given after the one that sends.
            lost = [
                name
                for name in earlier.texts()
                if name not in used and kind(name) != "debug"
            ]
            if exporters and lost:
                only_looks = {kind(name) for name in exporters.texts()} <= {"debug"}
                message = (
                    f"pipeline {title}: its exporters take the place of those of "
                    f"{earlier.file}:{earlier.line}: {', '.join(lost)} gets nothing; "
                    "a base goes before its overlays, and a list has all its members"
                )
                severity = Severity.ERROR if only_looks else Severity.WARNING
                yield finding_at(exporters, "C003", message, severity)


def _order(config: Node) -> Iterator[Finding]:
    for name, pipeline in pipelines(config).items():
        processors = pipeline.get("processors")
        kinds = [kind(one) for one in processors.texts()] if processors else []
        at = processors or pipeline
        if "memory_limiter" not in kinds and not _fed_by_connectors(config, pipeline):
            message = f"pipeline {name} has no memory_limiter, which goes first"
            yield finding_at(at, "C004", message, Severity.WARNING)
        elif "memory_limiter" in kinds and kinds[0] != "memory_limiter":
            message = (
                f"pipeline {name}: memory_limiter must come first, {kinds[0]} "
                "works on what is then refused"
            )
            yield finding_at(at, "C004", message)
        if "batch" in kinds and kinds[-1] != "batch":
            message = f"pipeline {name}: {kinds[-1]} works on whole batches again"
            yield finding_at(
                at, "C005", f"{message}; batch goes last", Severity.WARNING
            )
        elif "batch" in kinds:
            message = (
                f"pipeline {name}: the batch processor hides what a backend refuses; "
                "batch in the exporter's sending_queue"
            )
            yield finding_at(at, "C005", message, Severity.WARNING)


def _fed_by_connectors(config: Node, pipeline: Node) -> bool:
    """Whether all that arrives here passed the limiter of another pipeline."""
    receivers = pipeline.get("receivers")
    names = set(receivers.texts()) if receivers else set[str]()
    return bool(names) and names <= set(defined(config, "connectors"))


def _old_names(config: Node) -> Iterator[Finding]:
    for section in SECTIONS:
        for name, node in defined(config, section).items():
            renamed = RENAMED.get((section, kind(name)))
            if renamed:
                new, since = renamed
                message = f"{kind(name)} is the old name of {new} (since {since})"
                yield finding_at(node, "C006", message, Severity.WARNING)


def _settings_without_effect(config: Node) -> Iterator[Finding]:
    for name, node in defined(config, "exporters").items():
        for setting, below in node.mapping.items():
            advice = WITHOUT_EFFECT.get((kind(name), setting))
            if advice:
                yield finding_at(below, "C007", f"{name}.{setting} is {advice}")
    level = config.get("service", "telemetry", "metrics", "level")
    if level and str(level.value).lower() == "none":
        message = (
            "service.telemetry.metrics.level none: nothing says that the collector "
            "refuses or loses telemetry"
        )
        yield finding_at(level, "C020", message, Severity.WARNING)
    address = config.get("service", "telemetry", "metrics", "address")
    if address:
        message = (
            "service.telemetry.metrics.address is ignored since 0.123: use readers"
        )
        yield finding_at(address, "C007", message)


def _dollars(config: Node) -> Iterator[Finding]:
    for path, node in config.walk():
        if not isinstance(node.value, str):
            continue
        for name in variables.naked(node.value):
            message = (
                f"{'.'.join(path)}: ${name} is not expanded; write ${{env:{name}}} "
                f"for a variable, $${name} for a literal"
            )
            yield finding_at(node, "C008", message)
        for reference in variables.misspelt(node.value):
            message = (
                f"{'.'.join(path)}: {reference} names no variable; a default is "
                "written ${env:NAME:-default}"
            )
            yield finding_at(node, "C008", message)
        if variables.mixes_escape_and_reference(node.value):
            message = (
                f"{'.'.join(path)}: $$ and ${{env:...}} in one value; collectors "
                "before 0.161 then leave the variable unexpanded"
            )
            yield finding_at(node, "C009", message, Severity.WARNING)


def _unset_variables(config: Node, environment: Mapping[str, str]) -> Iterator[Finding]:
    for path, node in config.walk():
        if not isinstance(node.value, str):
            continue
        for reference in variables.references(node.value):
            name = reference.name
            if reference.default is None and name not in environment:
                message = (
                    f"{name} is not set and has no default; the collector takes it as "
                    "empty"
                )
            elif reference.default != "" and environment.get(name) == "":
                message = (
                    f"{name} is set to nothing, and a default is for what is not set; "
                    "give it a value, or unset it"
                )
            else:
                continue
            yield finding_at(node, "C010", f"{'.'.join(path)}: {message}")


def _open_doors(config: Node) -> Iterator[Finding]:
    for name, receiver in defined(config, "receivers").items():
        protocols = receiver.get("protocols")
        for protocol, node in protocols.mapping.items() if protocols else ():
            endpoint = node.get("endpoint")
            text = str(endpoint.value) if endpoint else ""
            protected = node.get("auth") or node.get("tls")
            if text and not text.startswith(_NOT_FOR_ANYBODY) and not protected:
                message = (
                    f"{name}.{protocol} listens on {text} for anybody: add auth and "
                    "tls, or bind to loopback"
                )
                yield finding_at(endpoint or node, "C012", message, Severity.WARNING)


def _is_secrets_place(path: tuple[str, ...]) -> bool:
    name = path[-1].lower().replace("-", "_")
    # Vendors name the header with the key of a customer each in their own way.
    return name in _SECRETS or (
        path[-2:-1] == ("headers",) and _KEY_HEADER.search(name) is not None
    )


def _secrets_in_files(config: Node) -> Iterator[Finding]:
    for path, node in config.walk():
        text = node.value
        # ${file:...} and what a vault's provider resolves stand elsewhere, too.
        if not isinstance(text, str) or "${" in text or not text:
            continue
        if _is_secrets_place(path) or _USER_IN_URL.search(text):
            message = (
                f"{'.'.join(path)} stands in the file: use ${{env:NAME}}, or "
                "bearertokenauth's filename"
            )
            yield finding_at(node, "C014", message)


_RULES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _undefined,
    _unused,
    _replaced_lists,
    _replaced_exporters,
    _order,
    _old_names,
    _settings_without_effect,
    _dollars,
    _secrets_in_files,
    *pipeline_rules.RULES,
    *scrape_rules.RULES,
)
# These read values as the collector will have them, variables filled in.
_RULES_OF_VALUES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _open_doors,
    *address_rules.RULES,
    *export_rules.RULES,
    *scrape_rules.RULES_OF_VALUES,
)
