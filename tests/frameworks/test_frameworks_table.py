"""The documents, the runner and the programs speak of the same frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest
from frameworks import FRAMEWORKS
from wiring import in_table, wiring_of


def test_the_table_has_a_row_for_each_framework_that_is_run() -> None:
    assert in_table() == list(FRAMEWORKS)


def test_each_framework_has_its_programs() -> None:
    folder = Path(__file__).parent / "applications"
    assert {file.stem for file in folder.glob("*.py")} == {
        name.replace("-", "_") for name in FRAMEWORKS
    }


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_documents_show_how_each_is_wired(name: str) -> None:
    assert len(wiring_of(name) + wiring_of(name, "yaml")) == 1
