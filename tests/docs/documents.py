"""The documents as data: code blocks, table rows, headings and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table, with the heading that it stands under."""

    heading: str
    cells: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What stands in backticks in the first cell."""
        return code_in(self.cells[0])


def documents() -> list[Path]:
    """Every document of the project that people read."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*top, ROOT / "examples" / "README.md", *sorted(DOCS.rglob("*.md"))]


def blocks(path: Path, language: str) -> list[str]:
    """Return the code blocks of one language."""
    found = _BLOCK.findall(path.read_text(encoding="utf-8"))
    return [code for name, code in found if name == language]


def rows(path: Path) -> list[Row]:
    """Return the rows of all tables, their heads left out."""
    heading, found, in_table = "", list[Row](), False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            in_table = False
            continue
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if set(cells[0]) <= set("-: ") and cells[0]:
            in_table = True
        elif in_table:
            found.append(Row(heading=heading, cells=cells))
    return found


def code_in(text: str) -> tuple[str, ...]:
    """Return what stands in backticks."""
    return tuple(_CODE.findall(text))


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    titles = _HEADING.findall(path.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
    }


def links(path: Path) -> list[str]:
    """Return the targets of all links."""
    return _LINK.findall(path.read_text(encoding="utf-8"))
