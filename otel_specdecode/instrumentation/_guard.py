"""The one place that keeps our own failures away from the caller.

Whatever runs inside a client call is called through `attempt()` or `attempt_or()`; the
hot path has an `except Exception` of its own that ends there.
"""

from __future__ import annotations

import logging
import os
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

logger = logging.getLogger("otel_specdecode")

RERAISE_VARIABLE = "OTEL_SPECDECODE_RERAISE"
"""Set to `true` by our own tests, so that no failure of ours stays hidden."""

_seen: set[str] = set()
_failures: dict[str, int] = {}


def attempt(
    hook: str, ours: Callable[..., Result], *args: Any, **kwargs: Any
) -> Result | None:
    """Call a function of ours from inside the caller's; it never raises there.

    Args:
        hook: what is being done.
        ours: the function.
        args: its arguments.
        kwargs: its keywords.

    Returns:
        What it returns; `None` when it failed.
    """
    try:
        return ours(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 (never break the caller)
        failed(hook, error)
        return None


def attempt_or(
    instead: Callable[[], Result],
    hook: str,
    ours: Callable[..., Result],
    *args: Any,
    **kwargs: Any,
) -> Result | None:
    """Call a function of ours as `attempt` does, and another one where it fails.

    Args:
        instead: called after a failure; shall share little with what failed.
        hook: what is being done.
        ours: the function.
        args: its arguments.
        kwargs: its keywords.

    Returns:
        What either of them returns; `None` when both failed.
    """
    try:
        return ours(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 (never break the caller)
        try:
            failed(hook, error)
        finally:
            result = attempt(hook, instead)
        return result


def failed(hook: str, error: Exception) -> None:
    """Log a failure of ours, once for each place that raises, and count it.

    A function that several hooks call is one cause, whichever meets it first.

    Neither the message nor a value is logged: they may quote a prompt.

    Args:
        hook: what was being done.
        error: what went wrong.

    Raises:
        Exception: `error` itself, under our own tests.
    """
    _failures[hook] = _failures.get(hook, 0) + 1
    if os.environ.get(RERAISE_VARIABLE) == "true":
        raise error
    place = _place(error)
    cause = place or hook
    if cause in _seen:
        return
    _seen.add(cause)
    warn(
        "%s failed with %s at %s; the call itself goes on without telemetry."
        " This is logged once.",
        hook,
        type(error).__name__,
        place or "unknown",
    )


def warn_once(cause: str, message: str, *values: object) -> None:
    """Log a warning the first time that its cause is seen.

    Args:
        cause: one of few, since each is remembered.
        message: with `%s` for each value.
        values: nothing of a prompt or an answer.
    """
    if cause not in _seen:
        _seen.add(cause)
        warn(message, *values)


def warn(message: str, *values: object) -> None:
    """Log a warning; a handler that raises is no reason to break a call."""
    with suppress(Exception):
        logger.warning(message, *values)


def failures() -> dict[str, int]:
    """Return how often each hook has failed in this process."""
    return dict(_failures)


def _place(error: Exception) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
