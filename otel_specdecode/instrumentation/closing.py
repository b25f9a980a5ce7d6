"""HTTP responses that are closed from outside, over the head of their stream."""

from __future__ import annotations

import sys
import weakref
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from otel_specdecode.instrumentation._guard import attempt, attempt_or
from otel_specdecode.instrumentation.response_methods import put_back, replace
from otel_specdecode.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from otel_specdecode.instrumentation.observation import Observation

    Reading = weakref.ref[Any]


_HOOK = "closing a response"


def watch_closing(response: Any, chunks: Any, observation: Observation) -> None:
    """End a request when its response is closed before its stream came to an end.

    Args:
        response: the HTTP response, of which one method is replaced until then.
        chunks: the generator that reads it. While it runs, it closes the response
            itself and then says how the stream ended.
        observation: what to end.
    """
    try:
        # Weakly: whoever keeps the response alone does not keep the stream open.
        reading = weakref.ref(chunks)
    except TypeError:
        # No generator, so a stream class of the caller's own.
        return
    if hasattr(chunks, "ag_running"):
        _watch_async(response, reading, observation)
    else:
        _watch_sync(response, reading, observation)


def _is_running(reading: Reading, name: str) -> bool:
    """Say whether the generator closes the response itself, or is being collected."""
    chunks = reading()
    return chunks is None or getattr(chunks, name, True)


def _is_shut_down(reading: Reading) -> bool:
    """Say whether somebody else closes the generator, which closes the response.

    `asyncio.run` does with what it leaves open. Whoever reads on in another loop is
    shown no error and nothing more, which is not the end of the answer.
    """
    chunks, error = reading(), sys.exception()
    if chunks is None or not isinstance(error, GeneratorExit):
        return False
    # A caller who is closed himself may read the rest first: whose exit is it?
    return any(frame is chunks.ag_frame for frame, _ in walk_tb(error.__traceback__))


def _watch_sync(response: Any, reading: Reading, observation: Observation) -> None:
    close: Callable[[], None] = response.close
    is_first = True

    def closed() -> None:
        # Whatever closes it again says nothing: the end is under way.
        nonlocal is_first
        attempt(_HOOK, put_back, response, "close", observation)
        ends = is_first and attempt(_HOOK, _is_running, reading, "gi_running") is False
        is_first = False
        try:
            close()
        finally:
            if ends:
                attempt_or(observation.lose, _HOOK, observation.end, Outcome.ABANDONED)

    replace(response, "close", closed, observation)


def _watch_async(response: Any, reading: Reading, observation: Observation) -> None:
    aclose: Callable[[], Awaitable[None]] = response.aclose
    is_first = True

    async def closed() -> None:
        nonlocal is_first
        attempt(_HOOK, put_back, response, "aclose", observation)
        ends = is_first and attempt(_HOOK, _is_running, reading, "ag_running") is False
        if is_first and attempt(_HOOK, _is_shut_down, reading):
            attempt(_HOOK, observation.end_later)
        is_first = False
        try:
            await aclose()
        finally:
            if ends:
                attempt_or(observation.lose, _HOOK, observation.end, Outcome.ABANDONED)

    replace(response, "aclose", closed, observation)
