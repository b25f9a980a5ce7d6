"""Integer sums behind the observable counters.

A request costs a few additions here instead of a dozen SDK calls. The lock is never
held while the SDK is called, nor is it ever taken by a finaliser.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from otel_specdecode.recording.semconv import MAX_ATTRIBUTE_SETS, OVERFLOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AttributeValue = str | int | bool
AttributeKey = tuple[tuple[str, AttributeValue], ...]
_OVERFLOW_KEY: AttributeKey = ((OVERFLOW, True),)


class Sums:
    """Cumulative sums by instrument and attribute set, additive across processes."""

    def __init__(self, limit: int = MAX_ATTRIBUTE_SETS) -> None:
        """Start at zero.

        Args:
            limit: attribute sets an instrument; the last one is the overflow's.
        """
        self._limit = limit
        self._lock = Lock()
        self._sums: dict[str, dict[AttributeKey, int]] = {}

    def add(self, additions: Iterator[tuple[str, AttributeKey, int]]) -> None:
        """Add the values of one request: instrument name, attributes, value."""
        prepared = list(additions)
        with self._lock:
            for name, key, value in prepared:
                sums = self._sums.setdefault(name, {})
                if key not in sums and len(sums) >= self._limit - 1:
                    key = _OVERFLOW_KEY  # noqa: PLW2901
                sums[key] = sums.get(key, 0) + value

    def read(self, name: str) -> list[tuple[int, Mapping[str, AttributeValue]]]:
        """Return each sum of an instrument with its attributes."""
        with self._lock:
            items = list(self._sums.get(name, {}).items())
        return [(value, dict(key)) for key, value in items]

    def restart(self) -> None:
        """Start at zero in a forked child, whose parent exports its own past."""
        # The parent may have been inside the lock when it forked.
        self._lock = Lock()
        self._sums = {}
