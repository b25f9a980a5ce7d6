"""Records for code that has no OpenTelemetry: collected, or asked for one by one."""

from __future__ import annotations

import os
import weakref
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from otel_specdecode.instrumentation import abandoned
from otel_specdecode.instrumentation._guard import attempt

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from otel_specdecode.model import RequestRecord


class _Observed(abandoned.Endable, Protocol):
    record: RequestRecord | None


_lock = Lock()
_open: tuple[list[RequestRecord], ...] = ()

# The client's models compare by value and so cannot be keys of a weak mapping.
_by_id: dict[int, tuple[weakref.ref[Any], _Observed]] = {}


@contextmanager
def capture() -> Generator[list[RequestRecord]]:
    """Collect one record for every request of this process that ends meanwhile.

    Threads and tasks are included, whoever started them.

    Yields:
        The list that grows while the block runs, in the order of endings. Streams
        abandoned inside are in it when the block ends, if they were collected.

    Example:
        >>> with capture() as requests:
        ...     pass
        >>> len(requests)
        0
    """
    global _open  # noqa: PLW0603 (the set of open captures is the process's)
    records: list[RequestRecord] = []
    with _lock:
        _open = (*_open, records)
    try:
        yield records
    finally:
        attempt("recording what was abandoned", abandoned.flush)
        with _lock:
            _open = tuple(one for one in _open if one is not records)


def collect(record: RequestRecord) -> None:
    """Hand a finished request to every open capture."""
    for records in _open:
        records.append(record)


def record_of(response: object) -> RequestRecord | None:
    """Return the record of a finished stream or response.

    Args:
        response: what a wrapped client returned: a response, a stream, the stream
            of a `.stream()` helper, or a raw response.

    Returns:
        `None` when it has not ended, or when it was not observed.
    """
    attempt("recording what was abandoned", abandoned.flush)
    return attempt("finding a record", _record_of, response)


def _record_of(response: object) -> RequestRecord | None:
    for candidate in _with_http_response(response):
        observation = observation_of(candidate)
        if observation is not None:
            return observation.record
    return None


def remember(response: object, observation: _Observed) -> None:
    """Let `record_of` find the observation of a response while that is alive."""
    key = id(response)

    def forget(_: object) -> None:
        _by_id.pop(key, None)

    # Text and lists, which a caller may have asked for, take no weak reference.
    with suppress(TypeError):
        _by_id[key] = (weakref.ref(response, forget), observation)


def num_open() -> int:
    """How many requests are alive whose response came and that have not ended."""
    observed = [observation for _, observation in list(_by_id.values())]
    return len({id(one) for one in observed if not one.ended})


def _end_open() -> None:
    """Queue what the process holds and never read to its end."""
    for _, observation in list(_by_id.values()):
        if not observation.ended:
            abandoned.put(observation)


abandoned.before_exit(_end_open)


def observation_of(response: object) -> Any:
    """Return what `remember` was given for this very object, else `None`."""
    entry = _by_id.get(id(response))
    return entry[1] if entry is not None and entry[0]() is response else None


def _with_http_response(response: object) -> Iterator[object]:
    yield response
    for name in ("http_response", "response", "_response"):
        try:
            inner = getattr(response, name, None)
        except Exception:  # noqa: BLE001, S112 (properties of a caller's object)
            continue
        if inner is not None:
            yield inner


def _leave_to_parent() -> None:
    """Forget, in a forked child, what is open: its parent reads it, and ends it."""
    for key, (_, observation) in list(_by_id.items()):
        if not observation.ended:
            del _by_id[key]


if hasattr(os, "register_at_fork"):  # pragma: no branch (not on Windows)
    os.register_at_fork(after_in_child=_leave_to_parent)
