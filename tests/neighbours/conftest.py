"""Which neighbours are here: `scripts/neighbours.py` makes their environments.

Elsewhere they are not installed, and these tests do not run.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_ASKED = os.environ.get("SPECDECODE_NEIGHBOURS", "")
NAMES = [name for name in _ASKED.split(",") if name]
collect_ignore_glob = [] if NAMES else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "only_for(*names): about these neighbours")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        about = metafunc.definition.get_closest_marker("only_for")
        names = [each for each in NAMES if about is None or each in about.args]
        # One neighbour after the other.
        metafunc.parametrize("name", names, scope="session")
