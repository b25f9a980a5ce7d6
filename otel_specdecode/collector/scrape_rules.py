"""Traps on the way in: under which names a server's series arrive, and whether."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import yaml

from otel_specdecode.collector import variables
from otel_specdecode.collector.components import (
    defined,
    finding_at,
    kind,
    scrape_jobs,
)
from otel_specdecode.collector.findings import Finding, Severity
from otel_specdecode.collector.metric_names import NEEDED_BY_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from otel_specdecode.collector.yaml_source import Node

# In the form that the scrape job asks for.
_WANTED = tuple(f"vllm:{name}" for name in NEEDED_BY_RULES)
# What tells series of one name apart.
_IDENTITY = ("model_name", "engine", "position")
_TARGET = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):\d{1,5}")
_LENGTH = re.compile(
    r"(?=\d)(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?"
)
_SECONDS_OF = (31_536_000, 604_800, 86_400, 3_600, 60, 1, 0.001)
# A condition that is nothing but this; what else may stand in one is not read.
_MATCHES_NAME = re.compile(r'^\s*IsMatch\((?:metric\.)?name,\s*"([^"]+)"\)\s*$')
_ABOUT_VLLM = re.compile(r"vllm|llm", re.IGNORECASE)
# Jobs that are named after what else people scrape.
_OTHER_PROGRAM = re.compile(
    r"otel-?col|opentelemetry-collector|node[-_]?exporter|cadvisor|kubelet",
    re.IGNORECASE,
)


def _unpinned_names(config: Node) -> Iterator[Finding]:
    for title, job in scrape_jobs(config):
        if _OTHER_PROGRAM.search(title) and not _ABOUT_VLLM.search(title):
            continue
        escaping = job.get("metric_name_escaping_scheme")
        if escaping is None or escaping.value != "allow-utf-8":
            message = (
                f"scrape job {title}: set metric_name_escaping_scheme: allow-utf-8, "
                "or vllm:... may arrive as vllm_..., depending on the server's library"
            )
            yield finding_at(escaping or job, "C011", message, Severity.WARNING)


def _lost_series(config: Node) -> Iterator[Finding]:
    for title, job in scrape_jobs(config):
        rules = job.get("metric_relabel_configs")
        if not rules or not _is_about_vllm(title, rules):
            continue
        lost = [name for name in _WANTED if _relabelled(name, rules.items) != name]
        if lost:
            message = (
                f"scrape job {title}: its metric_relabel_configs drop or rename "
                f"{', '.join(lost)}, which the recording rules read"
            )
            yield finding_at(rules, "C019", message)


def _lost_labels(config: Node) -> Iterator[Finding]:
    for title, job in scrape_jobs(config):
        rules = job.get("metric_relabel_configs")
        for rule in rules.items if rules and _is_about_vllm(title, rules) else ():
            lost = [label for label in _IDENTITY if _takes_off(rule, label)]
            if lost:
                message = (
                    f"scrape job {title}: takes {', '.join(lost)} off the series; "
                    "those that it told apart then have the same labels"
                )
                # A server with one engine does not miss the label.
                mild = lost == ["engine"]
                severity = Severity.WARNING if mild else Severity.ERROR
                yield finding_at(rule, "C019", message, severity)


def _takes_off(rule: Node, label: str) -> bool:
    action = _text(rule, "action", "replace")
    if action not in {"labeldrop", "labelkeep"}:
        return False
    try:
        named = re.fullmatch(_text(rule, "regex", "(.*)"), label) is not None
    except re.error:
        return False
    return named == (action == "labeldrop")


def _filtered_series(config: Node) -> Iterator[Finding]:
    for name, processor in defined(config, "processors").items():
        if kind(name) != "filter":
            continue
        lost = [one for one in _WANTED if _is_filtered(processor, one)]
        if lost:
            message = f"{name}: drops {', '.join(lost)}, which the recording rules read"
            yield finding_at(processor, "C019", message)


def _is_filtered(processor: Node, name: str) -> bool:
    include = processor.get("metrics", "include")
    exclude = processor.get("metrics", "exclude")
    conditions = processor.get("metrics", "metric") or processor.get(
        "metric_conditions"
    )
    return (
        (include is not None and not _names(include, name))
        or (exclude is not None and _names(exclude, name))
        or any(
            _found(pattern, name)
            for text in (conditions.texts() if conditions else ())
            for pattern in _MATCHES_NAME.findall(text)
        )
    )


def _names(listed: Node, name: str) -> bool:
    names = listed.get("metric_names")
    strict = _text(listed, "match_type", "strict") == "strict"
    return any(
        one == name if strict else _found(one, name)
        for one in (names.texts() if names else ())
    )


def _found(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _is_about_vllm(title: str, rules: Node) -> bool:
    texts = [node.value for _, node in rules.walk() if isinstance(node.value, str)]
    return any(_ABOUT_VLLM.search(text) for text in (title, *texts))


def _relabelled(name: str, rules: Iterable[Node]) -> str | None:
    """What becomes of a series whose name is all that is known of it.

    Rules that look at other labels, or whose expression Python cannot read, are
    passed over. `None`: it is dropped.
    """
    for rule in rules:
        sources = rule.get("source_labels")
        if not sources or sources.texts() != ["__name__"]:
            continue
        try:
            found = re.fullmatch(_text(rule, "regex", "(.*)"), name)
        except re.error:
            continue
        action = _text(rule, "action", "replace")
        if (action == "drop" and found) or (action == "keep" and not found):
            return None
        renames = action == "replace" and _text(rule, "target_label", "") == "__name__"
        if renames and found:
            name = _expanded(_text(rule, "replacement", "$1"), found)
    return name


def _text(rule: Node, key: str, default: str) -> str:
    node = rule.get(key)
    return str(node.value) if node else default


def _expanded(template: str, found: re.Match[str]) -> str:
    groups = (found[0], *found.groups(""))
    # A collector's file has two dollars where Prometheus' own has one.
    return re.sub(
        r"\$+\{?(\d+)\}?",
        lambda one: groups[int(one[1])] if int(one[1]) < len(groups) else "",
        template,
    )


def wrong_targets(config: Node, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Lists of servers that the collector would refuse, or scrape at port 80.

    Args:
        config: merged configuration.
        environment: the variables that the collector will run with.
    """
    for title, job in scrape_jobs(config):
        static = job.get("static_configs")
        for node in (one.get("targets") for one in static.items) if static else ():
            if node is None:
                continue
            listed = [one.value for one in node.items] or _from_text(
                variables.expanded(str(node.value or "[]"), environment)
            )
            for wrong in _wrong_among(listed, environment):
                message = (
                    f"scrape job {title}: {wrong} is no list of servers; write targets "
                    'as ["host:port", "host:port"], without http:// or a path'
                )
                yield finding_at(node, "C023", message)


def _from_text(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _wrong_among(listed: object, environment: Mapping[str, str]) -> Iterator[str]:
    if listed is None:
        return  # a variable that is set to nothing: no servers, and C010
    if not isinstance(listed, list):
        yield str(listed)
        return
    for one in cast("list[object]", listed):
        text = variables.expanded(str(one), environment)
        if not _TARGET.fullmatch(text):
            yield text


def _impatient(config: Node) -> Iterator[Finding]:
    for title, job in scrape_jobs(config):
        lengths: list[float] = []
        for key in ("scrape_timeout", "scrape_interval"):
            node = job.get(key)
            text = str(node.value) if node and node.value else ""
            if node is None or not text or "${" in text:
                continue
            length_s = _seconds(text)
            if length_s is None:
                message = (
                    f"scrape job {title}: {key} {text} is no length of time, as 15s is"
                )
                yield finding_at(node, "C026", message)
            else:
                lengths.append(length_s)
        if len(lengths) > 1 and lengths[0] > lengths[1]:
            message = (
                f"scrape job {title}: scrape_timeout is longer than scrape_interval, "
                "with which the collector does not start"
            )
            yield finding_at(job.get("scrape_timeout") or job, "C026", message)


def _seconds(text: str) -> float | None:
    """A length of time as Prometheus writes it, `1m30s`; `None` is none."""
    found = _LENGTH.fullmatch(text)
    if found is None:
        return None
    parts = zip(found.groups(default="0"), _SECONDS_OF, strict=True)
    return sum(int(number) * seconds for number, seconds in parts)


RULES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _unpinned_names,
    _lost_series,
    _lost_labels,
    _filtered_series,
)

RULES_OF_VALUES: tuple[Callable[[Node], Iterable[Finding]], ...] = (_impatient,)
"""Rules about values in which the variables are filled in."""
