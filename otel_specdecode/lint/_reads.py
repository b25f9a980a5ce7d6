"""What an analysis has read of knowledge that may still grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Reads:
    """What was read, and what it was then.

    Where none of it has grown since, running the same code again finds the same.

    Attributes:
        attributes: the holder, the attribute's name, its value.
        entries: the dictionary, the key, its value; `None` if it was not there.
    """

    __slots__ = ("attributes", "entries")

    def __init__(self) -> None:
        self.attributes: list[tuple[object, str, object]] = []
        self.entries: list[tuple[Mapping[Any, object], object, object]] = []

    def clear(self) -> None:
        """Forget what was read so far."""
        self.attributes.clear()
        self.entries.clear()

    def are_outdated(self) -> bool:
        """Whether anything that was read would now be read as something else."""
        return any(
            held.get(key) is not value for held, key, value in self.entries
        ) or any(
            getattr(holder, name) is not value
            for holder, name, value in self.attributes
        )
