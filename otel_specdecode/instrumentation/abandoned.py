"""Streams that were collected before their end, recorded a little later.

A finaliser may run inside the garbage collector while the OpenTelemetry SDK holds a
lock, so it only puts its observation on a queue, which takes no lock. The next
request, a thread of our own, a flush or the end of the process records it.
"""

from __future__ import annotations

import atexit
import os
from collections import deque
from queue import SimpleQueue
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING, Protocol

from otel_specdecode.instrumentation._guard import attempt, attempt_or
from otel_specdecode.instrumentation.clock import monotonic_s, wall_ns
from otel_specdecode.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable


class Endable(Protocol):
    """What can be ended."""

    @property
    def ended(self) -> bool:
        """Whether it has."""
        ...

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

    def lose(self) -> None:
        """End without a record, where recording fails."""
        ...


_Entry = tuple[Endable, float, int]
_entries: deque[_Entry] = deque()
_wakeups: SimpleQueue[None] = SimpleQueue()
_thread: Thread | None = None
_start_lock = Lock()
# Held by whoever records, so that a flush can wait for what another thread took.
# Reentrant: a span processor may ask for a record.
_recording = RLock()
_generation = 0
_steps_before_exit: list[Callable[[], None]] = []

_LONGEST_WAIT_S = 5.0
_HOOK = "recording an abandoned stream"


def generation() -> int:
    """How many forks lie between this process and the one that imported this."""
    return _generation


def put(observation: Endable) -> None:
    """Queue an observation whose stream is being collected. Takes no lock."""
    _entries.append((observation, monotonic_s(), wall_ns()))
    _wakeups.put(None)


def put_unended(observation: Endable) -> None:
    """Queue an observation unless its request has ended. Takes no lock."""
    if not observation.ended:
        put(observation)


def flush() -> None:
    """Record everything that is queued, and wait for what is being recorded.

    Gives up after five seconds, when whoever records hangs.
    """
    if _recording.acquire(timeout=_LONGEST_WAIT_S):
        try:
            attempt(_HOOK, _drain)
        finally:
            _recording.release()


def num_pending() -> int:
    """How many abandoned streams are queued and not recorded yet."""
    return len(_entries)


def before_exit(step: Callable[[], None]) -> None:
    """Have a step taken before the last flush of the process."""
    _steps_before_exit.append(step)


def flush_at_exit() -> None:
    """Record what is queued and what is open when the process ends."""
    for step in _steps_before_exit:
        attempt("ending what is open", step)
    attempt(_HOOK, flush)


def flush_if_idle() -> None:
    """Record what is queued, unless another thread is at it; for every request."""
    if _entries and _recording.acquire(blocking=False):
        try:
            attempt(_HOOK, _drain)
        finally:
            _recording.release()


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
            atexit.register(flush_at_exit)


def _run() -> None:
    while True:
        _wakeups.get()
        with _recording:
            attempt(_HOOK, _drain)


def _drain() -> None:
    while True:
        try:
            observation, ended_at, end_time_ns = _entries.popleft()
        except IndexError:
            return
        attempt_or(
            observation.lose,
            _HOOK,
            observation.end,
            Outcome.ABANDONED,
            ended_at=ended_at,
            end_time_ns=end_time_ns,
        )


def _restart_in_child() -> None:
    global _thread, _start_lock, _recording, _generation  # noqa: PLW0603 (the child's)
    _generation += 1
    _thread = None
    _start_lock, _recording = Lock(), RLock()
    # What the parent had queued is the parent's to record.
    _entries.clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch (not on Windows)
    os.register_at_fork(after_in_child=_restart_in_child)
