"""The reference of records is what the docstrings say."""

from __future__ import annotations

from docs_tables import PAGE, page


def test_the_page_is_written_from_the_docstrings_as_they_are() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run: .venv/bin/python scripts/docs_tables.py"
    )
