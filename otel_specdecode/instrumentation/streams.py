"""Streams that observe themselves: subclasses of the client's own stream classes.

Only `__stream__` and `close` differ. `__stream__` returns an iterator around the
client's; each step of it reads the clock twice and looks at the chunk once. The
`.stream()` helpers close the HTTP response and not the stream, so that is watched too.
"""

from __future__ import annotations

import weakref
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from otel_specdecode.instrumentation import abandoned, captures
from otel_specdecode.instrumentation._guard import attempt, attempt_or
from otel_specdecode.instrumentation.chunk_reader import READING
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.closing import watch_closing
from otel_specdecode.instrumentation.context import current_observation
from otel_specdecode.instrumentation.unobserved import (
    is_bare_usage,
    spared,
    spared_async,
)
from otel_specdecode.model import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from otel_specdecode.instrumentation.observation import Observation

_ENDING = "ending a stream"
# Of a generator that has not ended.
_FRAMES = ("gi_frame", "ag_frame")
_OBSERVING = "observing a stream"
_UNOBSERVED = "_specdecode_unobserved"


class _ObservedSteps:
    """What the sync and the async iterator share: one observation, ended once."""

    __slots__ = ("_hides", "_observation", "_read", "_returned_at", "_tally")
    _next: Callable[[], Any]

    def __init__(self, observation: Observation, *, hides: bool) -> None:
        self._hides = hides
        self._observation = observation
        self._read: Callable[[Any, float], bool] = observation.chunk_callback()
        self._tally = observation.open_reader().tally
        self._returned_at: float | None = None

    def __del__(self) -> None:
        # Perhaps inside the garbage collector: queue, never record. Where the
        # constructor failed there is nothing to end.
        observation: Observation | None = getattr(self, "_observation", None)
        if observation is not None:
            attempt("collecting a stream", abandoned.put_unended, observation)

    def _end_with(self, error: BaseException) -> None:
        """End with what a step raised, if the stream has ended by it.

        Not if another thread or task was reading: that one reads on, and only this
        step is refused. Nor if a signal was handled before the client read on. A step
        that is thrown away leaves a generator that nobody can ever read on.
        """
        chunks = getattr(self._next, "__self__", None)
        goes_on = any(getattr(chunks, name, None) for name in _FRAMES)
        if not goes_on or isinstance(error, GeneratorExit):
            self._observation.end_with(error)

    def _give_up(self, chunk: Any) -> bool:
        """Read no more, and say whether the caller is spared this chunk."""
        self._read = self._is_spared
        attempt(READING, self._observation.lose)
        return self._is_spared(chunk)

    def _is_spared(self, chunk: Any, at: float | None = None) -> bool:  # noqa: ARG002 (in the place of a reader)
        return self._hides and is_bare_usage(chunk)


class ObservedIterator(_ObservedSteps):
    """Hands on the chunks of a client's iterator and reports their arrival."""

    __slots__ = ("_next",)

    def __init__(
        self, chunks: Iterator[Any], observation: Observation, *, hides: bool
    ) -> None:
        self._next = chunks.__next__
        super().__init__(observation, hides=hides)

    def __iter__(self) -> ObservedIterator:
        return self

    def __next__(self) -> Any:
        returned_at = self._returned_at
        if returned_at is not None:
            self._tally.consumer_s += monotonic_s() - returned_at
        else:
            attempt("finding a consumer", self._observation.note_consumer)
        while True:
            try:
                chunk = self._next()
            except StopIteration:
                observation = self._observation
                attempt_or(
                    observation.lose, _ENDING, observation.end, Outcome.COMPLETED
                )
                raise
            except BaseException as error:
                lose = self._observation.lose
                attempt_or(lose, _ENDING, self._end_with, error)
                raise
            at = monotonic_s()
            try:
                if self._read(chunk, at):
                    continue
            except Exception as error:  # noqa: BLE001 (never break the caller)
                unread = partial(self._give_up, chunk)
                skip = self._observation.pass_over
                if attempt_or(unread, READING, skip, chunk, at, error):
                    continue
            self._returned_at = at
            return chunk


class AsyncObservedIterator(_ObservedSteps):
    """The same for an asynchronous iterator."""

    __slots__ = ("_next",)

    def __init__(
        self, chunks: AsyncIterator[Any], observation: Observation, *, hides: bool
    ) -> None:
        self._next = chunks.__anext__
        super().__init__(observation, hides=hides)

    def __aiter__(self) -> AsyncObservedIterator:
        return self

    async def __anext__(self) -> Any:
        returned_at = self._returned_at
        if returned_at is not None:
            self._tally.consumer_s += monotonic_s() - returned_at
        else:
            attempt("finding a consumer", self._observation.note_consumer)
        while True:
            try:
                chunk = await self._next()
            except StopAsyncIteration:
                observation = self._observation
                attempt_or(
                    observation.lose, _ENDING, observation.end, Outcome.COMPLETED
                )
                raise
            except BaseException as error:
                lose = self._observation.lose
                attempt_or(lose, _ENDING, self._end_with, error)
                raise
            at = monotonic_s()
            try:
                if self._read(chunk, at):
                    continue
            except Exception as error:  # noqa: BLE001 (never break the caller)
                unread = partial(self._give_up, chunk)
                skip = self._observation.pass_over
                if attempt_or(unread, READING, skip, chunk, at, error):
                    continue
            self._returned_at = at
            return chunk


@lru_cache(maxsize=64)
def observing(stream_cls: Any, *, hides: bool) -> Any:
    """Return a subclass of a client's stream class whose streams are observed.

    Args:
        stream_cls: such as `Stream[ChatCompletionChunk]`.
        hides: whether its streams carry a usage chunk that their caller did not ask
            for. The class knows it, so that a stream whose observation is not found
            still keeps that chunk back.
    """
    original = getattr(stream_cls, "__origin__", stream_cls)
    asynchronous = hasattr(original, "__anext__")
    make = _async_class if asynchronous else _sync_class
    return make(stream_cls, hides=hides)


def _sync_class(stream_cls: Any, *, hides: bool) -> Any:
    class ObservedStream(stream_cls):
        def __stream__(self) -> Iterator[Any]:
            parent: Any = super()
            chunks: Iterator[Any] = parent.__stream__()
            observe = partial(ObservedIterator, chunks, hides=hides)
            observed = attempt(_OBSERVING, _observed, self, chunks, observe)
            if observed is not None:
                return observed
            setattr(self, _UNOBSERVED, True)
            return spared(chunks) if hides else chunks

        def close(self) -> None:
            parent: Any = super()
            try:
                parent.close()
            finally:
                attempt("closing a stream", _end_closed, self)

    return _named_like(ObservedStream, stream_cls)


def _async_class(stream_cls: Any, *, hides: bool) -> Any:
    class ObservedAsyncStream(stream_cls):
        def __stream__(self) -> AsyncIterator[Any]:
            parent: Any = super()
            chunks: AsyncIterator[Any] = parent.__stream__()
            observe = partial(AsyncObservedIterator, chunks, hides=hides)
            observed = attempt(_OBSERVING, _observed, self, chunks, observe)
            if observed is not None:
                return observed
            setattr(self, _UNOBSERVED, True)
            return spared_async(chunks) if hides else chunks

        async def close(self) -> None:
            parent: Any = super()
            try:
                await parent.close()
            finally:
                attempt("closing a stream", _end_closed, self)

    return _named_like(ObservedAsyncStream, stream_cls)


def await_first_step(stream: Any, observation: Observation) -> None:
    """Let a stream find its observation at its first step, when nobody has begun it.

    A client's stream makes its iterator at once, and is observed by then. Another
    instrumentation's subclass may have a generator for `__stream__`, which comes to
    ours when the first chunk is asked for, long after the call.
    """
    if getattr(stream, _UNOBSERVED, False):
        # Begun, and its request was not found.
        observation.lose()
        return
    captures.remember(stream, observation)
    captures.remember(stream.response, observation)
    # It may be thrown away unread.
    queue = attempt, "collecting a stream", abandoned.put_unended, observation
    weakref.finalize(stream, *queue).atexit = False
    abandoned.ensure_thread()


def _observed(stream: Any, chunks: Any, observe: Callable[[Observation], Any]) -> Any:
    """Return a stream's chunks observed; `None` where no request is known for it."""
    response = stream.response
    # That of the response, or the one under way.
    observation = captures.observation_of(response) or current_observation()
    if observation is None:
        return None
    try:
        observation.read_as_stream = True
        abandoned.ensure_thread()
        captures.remember(stream, observation)
        captures.remember(response, observation)
        watch_closing(response, chunks, observation)
        return observe(observation)
    except Exception:
        observation.lose()
        raise


def _end_closed(stream: Any) -> None:
    observation = captures.observation_of(stream)
    if observation is not None:
        observation.end(Outcome.ABANDONED)


def _named_like(observed: Any, stream_cls: Any) -> Any:
    """Let the class look like the client's in messages and reprs."""
    original = getattr(stream_cls, "__origin__", stream_cls)
    observed.__name__ = original.__name__
    observed.__qualname__ = original.__qualname__
    observed.__module__ = original.__module__
    observed.__doc__ = original.__doc__
    if original is not stream_cls:
        # `Stream[Chunk](...)` says so of itself.
        observed.__orig_class__ = stream_cls
    return observed
