"""Integer sums behind the observable counters.

A request costs a few additions here instead of a dozen SDK calls. The lock is never
held while the SDK is called, nor is it ever taken by a finaliser.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from otel_specdecode.recording.semconv import MAX_ATTRIBUTE_SETS, OVERFLOW

if TYPE_CHECKING:
    from collections.abc import Mapping

AttributeValue = str | int | bool
AttributeKey = tuple[tuple[str, AttributeValue], ...]
_OVERFLOW_KEY: AttributeKey = ((OVERFLOW, True),)


class Cell:
    """The sum of one attribute set. Added to under the lock of its `Sums` alone."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Sums:
    """Cumulative sums by instrument and attribute set, additive across processes.

    Attributes:
        lock: held while cells are added to, and while they are read.
    """

    def __init__(self, limit: int = MAX_ATTRIBUTE_SETS) -> None:
        """Start at zero.

        Args:
            limit: attribute sets an instrument; the last one is the overflow's.
        """
        self.lock = Lock()
        self._limit = limit
        self._cells: dict[str, dict[AttributeKey, Cell]] = {}

    def cell(self, name: str, key: AttributeKey) -> Cell:
        """Return the cell of an attribute set; call it with the lock held."""
        cells = self._cells.setdefault(name, {})
        if key not in cells and len(cells) >= self._limit - 1:
            key = _OVERFLOW_KEY
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell()
        return cell

    def read(self, name: str) -> list[tuple[int, Mapping[str, AttributeValue]]]:
        """Return each sum of an instrument with its attributes."""
        with self.lock:
            cells = self._cells.get(name, {})
            values = [(cell.value, key) for key, cell in cells.items()]
        return [(value, dict(key)) for value, key in values]

    def restart(self) -> None:
        """Start at zero in a forked child, whose parent exports its own past."""
        # The parent may have been inside the lock when it forked.
        self.lock = Lock()
        self._cells = {}
