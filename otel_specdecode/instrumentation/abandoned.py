"""Streams that were collected before their end, recorded a little later.

A finaliser may run inside the garbage collector while the OpenTelemetry SDK holds a
lock, so it only puts its observation on a queue. The next request, a thread of our
own, a flush or the end of the process records it.
"""

from __future__ import annotations

import atexit
import os
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Protocol

from otel_specdecode.instrumentation._guard import failed
from otel_specdecode.instrumentation.clock import monotonic_s, wall_ns
from otel_specdecode.model import Outcome


class Endable(Protocol):
    """What can be ended."""

    def end(
        self,
        outcome: Outcome,
        *,
        error_type: str | None = None,
        ended_at: float | None = None,
        end_time_ns: int | None = None,
    ) -> None:
        """Record the end; only the first call counts."""
        ...


_Entry = tuple[Endable, float, int]
_queue: SimpleQueue[_Entry] = SimpleQueue()
_thread: Thread | None = None
_start_lock = Lock()
_generation = 0


def generation() -> int:
    """How many forks lie between this process and the one that imported this."""
    return _generation


def put(observation: Endable) -> None:
    """Queue an observation whose stream is being collected. Takes no lock."""
    _queue.put((observation, monotonic_s(), wall_ns()))


def flush() -> None:
    """Record everything that is queued, in the calling thread."""
    while True:
        try:
            entry = _queue.get_nowait()
        except Empty:
            return
        _end(entry)


def pending() -> bool:
    """Whether something is queued; cheap enough for every request."""
    return not _queue.empty()


def ensure_thread() -> None:
    """Start the recording thread, once for each process."""
    global _thread  # noqa: PLW0603 (one thread a process)
    if _thread is not None:
        return
    with _start_lock:
        if _thread is None:
            thread = Thread(target=_run, name="otel-specdecode-abandoned", daemon=True)
            thread.start()
            _thread = thread
            # Registered late, so that it runs before the SDK shuts down.
            atexit.register(flush)


def _run() -> None:
    while True:
        _end(_queue.get())


def _end(entry: _Entry) -> None:
    observation, ended_at, end_time_ns = entry
    try:
        observation.end(Outcome.ABANDONED, ended_at=ended_at, end_time_ns=end_time_ns)
    except Exception as error:  # noqa: BLE001 (nobody is there to catch it)
        failed("recording an abandoned stream", error)


def _restart_in_child() -> None:
    global _thread, _queue, _start_lock, _generation  # noqa: PLW0603 (the child's own)
    _generation += 1
    _thread = None
    _start_lock = Lock()
    # What the parent had queued is the parent's to record.
    _queue = SimpleQueue()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart_in_child)
