"""The one place that keeps our own failures away from the caller.

Whatever runs inside a client call is called through `attempt()`, or on the hot path
ends in `except Exception` and `failed()`.
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

_seen: set[tuple[str, str]] = set()
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


def failed(hook: str, error: Exception) -> None:
    """Log a failure of ours, once for each hook and place, and count it.

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
    if (hook, place) in _seen:
        return
    _seen.add((hook, place))
    warn(
        "%s failed with %s at %s; the call itself goes on without telemetry."
        " This is logged once.",
        hook,
        type(error).__name__,
        place,
    )


def warn_once(cause: str, message: str, *values: object) -> None:
    """Log a warning the first time that its cause is seen.

    Args:
        cause: one of few, since each is remembered.
        message: with `%s` for each value.
        values: nothing of a prompt or an answer.
    """
    if ("warning", cause) not in _seen:
        _seen.add(("warning", cause))
        warn(message, *values)


def warn(message: str, *values: object) -> None:
    """Log a warning; a handler that raises is no reason to break a call."""
    with suppress(Exception):
        logger.warning(message, *values)


def failures() -> dict[str, int]:
    """Return how often each hook has failed in this process."""
    return dict(_failures)


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
