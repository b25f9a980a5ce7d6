"""The one place that keeps our own failures away from the caller.

Every hook that runs inside a client call ends in `except Exception` and `failed()`.
"""

from __future__ import annotations

import logging
import os
import traceback
from contextlib import suppress

logger = logging.getLogger("otel_specdecode")

RERAISE_VARIABLE = "OTEL_SPECDECODE_RERAISE"
"""Set to `true` by our own tests, so that no failure of ours stays hidden."""

_seen: set[tuple[str, str]] = set()
_failures: dict[str, int] = {}


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
