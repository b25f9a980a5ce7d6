from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from telemetry_bench import Bench, open_bench

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def bench() -> Iterator[Bench]:
    with open_bench() as made:
        yield made
