"""Fixtures of the tests in which something fails."""

from __future__ import annotations

import pytest
from callers import freeze_what_the_client_built


@pytest.fixture(autouse=True, scope="session")
def _collections_are_quick() -> None:
    freeze_what_the_client_built()
