"""The rules of the bundle's Prometheus, recording and alerting, as they are written."""

from __future__ import annotations

from typing import Any

import yaml

from otel_specdecode.collector import bundle_root

RULES: list[dict[str, Any]] = [
    rule
    for file in sorted(bundle_root().glob("prometheus/rules/*.yml"))
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
]


def expressions(kind: str) -> dict[str, str]:
    """Queries by name.

    Args:
        kind: `record` or `alert`.
    """
    return {rule[kind]: rule["expr"] for rule in RULES if kind in rule}
