"""The combinations of configuration files that `docs/collector.md` lists."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "collector.md"

COMBINATIONS: list[tuple[str, ...]] = [
    tuple(re.findall(r"`([\w-]+)\.yaml`", row))
    for row in re.findall(
        r"^\| ((?:`[\w-]+\.yaml` ?)+)\|", _PAGE.read_text(), re.MULTILINE
    )
]
"""The names of the files, in the order in which the collector is given them."""
