"""The caller's own attributes, taken when a call is made."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

_NONE: Mapping[str, str] = MappingProxyType({})
_tags: ContextVar[Mapping[str, str]] = ContextVar("otel_specdecode_tags", default=_NONE)


@contextmanager
def tag(**tags: object) -> Generator[None]:
    """Mark every request that is made inside the block.

    The values go out as `specdecode.tag.<key>` on spans and metrics, so take words
    of which there are few: a task, a tenant class, an arm of an experiment.

    Args:
        tags: word by key, as strings. Inner blocks add to outer ones.

    Example:
        >>> with tag(task="code"):
        ...     current_tags()["task"]
        'code'
    """
    words = {key: str(value) for key, value in tags.items()}
    token = _tags.set(MappingProxyType({**_tags.get(), **words}))
    try:
        yield
    finally:
        # A generator may be left in another context than it was entered in: its tags
        # were never set there.
        with suppress(ValueError):
            _tags.reset(token)


def current_tags() -> Mapping[str, str]:
    """Return the tags that a request made here and now would get."""
    return _tags.get()
