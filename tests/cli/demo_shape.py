"""The fields of the demo's JSON: as documented, and as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "demo.md"

# Keys that are data: words of a closed set, or names of numbers.
OPEN = ("chunking", "usage_origins", "acceptance_states", "sources")
_CODE = re.compile(r"`([^`]+)`")


def documented_fields(text: str | None = None) -> set[str]:
    """Paths of the table; those after the first of a row share its start.

    Args:
        text: holds the table; `None` for the page on the demo.
    """
    paths: set[str] = set()
    for line in (text or PAGE.read_text(encoding="utf-8")).splitlines():
        if not line.startswith("| `"):
            continue
        first, *others = _CODE.findall(line.split("|")[1])
        start = first.rpartition(".")[0]
        stem = f"{start}." if start else ""
        paths |= {
            first,
            *(o if o.startswith(stem) else f"{stem}{o}" for o in others),
        }
    return _leaves({path.removesuffix("[]") for path in paths})


def fields_of(value: Any) -> set[str]:
    """Paths of the leaves of a JSON value, lists marked by `[]`.

    What is an object in one place and null in another counts as an object.
    """
    return _leaves(_walk(value, ""))


def _walk(value: Any, path: str) -> set[str]:
    if path.rpartition(".")[2] in OPEN:
        return {path}
    if isinstance(value, dict):
        stem = f"{path}." if path else ""
        return set().union(*(_walk(v, f"{stem}{key}") for key, v in value.items()))
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return set().union(*(_walk(item, f"{path}[]") for item in value))
    return {path}


def _leaves(paths: set[str]) -> set[str]:
    return {
        path
        for path in paths
        if not any(other.startswith((f"{path}.", f"{path}[]")) for other in paths)
    }
