"""Pipelines that carry nothing, and files that hold none.

The collector refuses them too, but nobody asks it where a file is Helm's values or a
resource of Kubernetes: a check that passed over all of it would look like a clean one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.collector.components import defined, finding_at, pipelines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otel_specdecode.collector.findings import Finding
    from otel_specdecode.collector.yaml_source import Node

_SIGNALS = ("traces", "metrics", "logs", "profiles")
# The official chart's values, and the operator's resource.
_WRAPPINGS = (("config",), ("spec", "config"))


def _stands_elsewhere(node: Node | None) -> bool:
    """Whether a value is in a variable, or in a file of its own."""
    return node is not None and isinstance(node.value, str) and "${" in node.value


def _no_pipeline(config: Node) -> Iterator[Finding]:
    elsewhere = (config.get("service"), config.get("service", "pipelines"))
    if pipelines(config) or any(map(_stands_elsewhere, elsewhere)):
        return
    message = "no pipeline under service: a collector does not start with this"
    wrapping = next((path for path in _WRAPPINGS if config.get(*path)), None)
    if wrapping:
        message += f"; check what stands under {'.'.join(wrapping)}, as its own file"
    elif config.get("kind"):
        message += "; of a ConfigMap, check the text under data, as its own file"
    yield finding_at(config, "C025", message)


def _incomplete(config: Node) -> Iterator[Finding]:
    for name, pipeline in pipelines(config).items():
        signal = name.partition("/")[0]
        if signal not in _SIGNALS:
            message = f"pipeline {name}: {signal} is none of {', '.join(_SIGNALS)}"
            yield finding_at(pipeline, "C025", message)
        for section in ("receivers", "exporters"):
            listed = pipeline.get(section)
            if _stands_elsewhere(pipeline) or _stands_elsewhere(listed):
                continue
            if listed is None or not listed.items:
                message = (
                    f"pipeline {name}: expected a list of {section}, and at least one"
                )
                yield finding_at(listed or pipeline, "C025", message)


def _half_connectors(config: Node) -> Iterator[Finding]:
    used: dict[str, set[str]] = {"receivers": set(), "exporters": set()}
    for pipeline in pipelines(config).values():
        for section, names in used.items():
            listed = pipeline.get(section)
            names.update(listed.texts() if listed else ())
    for name, node in defined(config, "connectors").items():
        feeds, is_fed = name in used["receivers"], name in used["exporters"]
        if feeds != is_fed:
            missing = "exporter" if feeds else "receiver"
            message = (
                f"connector {name} is the {missing} of no pipeline: it joins two, "
                "as exporter of one and receiver of the other"
            )
            yield finding_at(node, "C025", message)


RULES: tuple[Callable[[Node], Iterable[Finding]], ...] = (
    _no_pipeline,
    _incomplete,
    _half_connectors,
)
