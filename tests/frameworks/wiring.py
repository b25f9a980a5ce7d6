"""What `docs/frameworks.md` says: its table, and a program for each framework."""

from __future__ import annotations

import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "frameworks.md"


def in_table() -> list[str]:
    """Return the frameworks of the table, in its order."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return re.findall(r"^\| \[([\w-]+)\]\(#", text, re.MULTILINE)


def wiring_of(framework: str, language: str = "python") -> list[str]:
    """Return the code blocks under the heading of a framework."""
    text = DOCUMENT.read_text(encoding="utf-8")
    sections = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    section = dict(zip(sections[1::2], sections[2::2], strict=True))[framework]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
