"""A plain JSON mapping that reads like the client's own objects.

It lets one reader serve both the client's models and code that speaks raw HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast


class WireObject:
    """Fields of a JSON object as attributes; a field that is absent is `None`."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        return as_wire(self._fields.get(name))

    @property
    def model_extra(self) -> Mapping[str, Any]:
        """Every field as it stands: here the client declares none of them."""
        return self._fields


def as_wire(value: Any) -> Any:
    """Wrap a JSON object, and those in a list; lists of lists stay as they are."""
    if isinstance(value, list):
        return [_wrapped(item) for item in cast("list[Any]", value)]
    return _wrapped(value)


def _wrapped(value: Any) -> Any:
    if isinstance(value, Mapping):
        return WireObject(cast("Mapping[str, Any]", value))
    return value


def reading_json(read: Callable[[Any, float], bool]) -> Callable[[Any, float], bool]:
    """Return a reader of chunks that are JSON, for one of the client's models."""

    def read_json(chunk: Any, at: float) -> bool:
        return read(as_wire(chunk), at)

    return read_json
