"""The request that this thread or task is making right now."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_specdecode.instrumentation.observation import Observation

_current: ContextVar[Observation | None] = ContextVar(
    "otel_specdecode_request", default=None
)


def current_observation() -> Observation | None:
    """Return the observation of the request under way, if any."""
    return _current.get()


def enter(observation: Observation) -> Token[Observation | None]:
    """Make an observation the current one; undo with `leave`."""
    return _current.set(observation)


def leave(token: Token[Observation | None]) -> bool:
    """Make the observation before the current one again.

    Returns:
        False in another context than the one that was entered.
    """
    try:
        _current.reset(token)
    except ValueError:
        return False
    return True
