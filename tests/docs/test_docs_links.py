"""Documents point at what is there, and every page can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from documents import DOCS, README, anchors, documents, links

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    broken: list[str] = []
    for target in links(path):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = path if not name else path.parent / name
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_the_index_lists_every_page() -> None:
    pages = {page.name for page in DOCS.glob("*.md")} - {"index.md"}
    assert pages <= set(links(DOCS / "index.md"))


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150
