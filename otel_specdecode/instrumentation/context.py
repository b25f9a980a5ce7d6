"""The request that this thread or task is making right now."""

from __future__ import annotations

import types
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from otel_specdecode.instrumentation._guard import attempt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from otel_specdecode.instrumentation.observation import Observation

Result = TypeVar("Result")

_current: ContextVar[Observation | None] = ContextVar(
    "otel_specdecode_request", default=None
)


def current_observation() -> Observation | None:
    """Return the observation of the request under way, if any."""
    return _current.get()


def enter(observation: Observation | None) -> Token[Observation | None]:
    """Make an observation the current one, or none; undo with `leave`."""
    return _current.set(observation)


def leave(token: Token[Observation | None]) -> None:
    """Make the observation before the current one again."""
    _current.reset(token)


class Place(Protocol):
    """What is the current request while it is entered."""

    def enter(self) -> None:
        """Make it the current one."""
        ...

    def leave(self) -> None:
        """Undo that."""
        ...


class Apart:
    """A request that is not observed, made inside of one that is; entered when made.

    A transport may ask for embeddings, say. Its attempts are none of the other's.
    """

    def __init__(self) -> None:
        self.enter()

    def enter(self) -> None:
        """Make no observation the current one."""
        self._token = enter(None)

    def leave(self) -> None:
        """Undo that."""
        leave(self._token)


def apart_from_another(request_options: Any) -> Apart | None:
    """Step out of the request that an unobserved one is made inside of.

    Args:
        request_options: what the client is given to send.

    Returns:
        What to leave when it is done; `None` where there is no other request.
    """
    outer = _current.get()
    if outer is None or outer.sent_options is request_options:
        return None
    return Apart()


@types.coroutine
def in_turns(place: Place, awaitable: Awaitable[Result]) -> Generator[Any, Any, Result]:
    """Await something, and be in a place only while it runs.

    Tasks may share one context: whoever runs while this one waits is not to be taken
    for it. A coroutine that is thrown away may be closed in another context as well.

    Args:
        place: entered already, and entered again at the end.
        awaitable: what to await.
    """
    steps = _awaited(awaitable).__await__()
    step: Callable[[Any], Any] = steps.send
    value: Any = None
    while True:
        try:
            waiting = step(value)
        except StopIteration as done:
            return done.value
        finally:
            # An error would be held by this frame, which its traceback holds.
            value = None
        attempt("leaving a request", place.leave)
        try:
            value = yield waiting
            step = steps.send
        except BaseException as error:  # noqa: BLE001 (it is thrown into what waits)
            step, value = steps.throw, error
        finally:
            attempt("entering a request", place.enter)


async def _awaited(awaitable: Awaitable[Result]) -> Result:
    """Give whatever can be awaited the methods of a coroutine."""
    return await awaitable
