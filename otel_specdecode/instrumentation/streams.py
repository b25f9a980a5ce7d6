"""Streams that observe themselves: subclasses of the client's own stream classes.

Only `__stream__` and `close` differ. `__stream__` returns an iterator around the
client's; each step of it reads the clock twice and looks at the chunk once. The
`.stream()` helpers close the HTTP response and not the stream, so that is watched too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from otel_specdecode.instrumentation import abandoned, captures
from otel_specdecode.instrumentation._guard import attempt, failed
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.closing import watch_closing
from otel_specdecode.instrumentation.context import current_observation
from otel_specdecode.instrumentation.unobserved import unobserved, unobserved_async
from otel_specdecode.model import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from otel_specdecode.instrumentation.observation import Observation


class _ObservedSteps:
    """What the sync and the async iterator share: one observation, ended once."""

    __slots__ = ("_observation", "_read", "_returned_at", "_tally")

    def __init__(self, observation: Observation) -> None:
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

    def _note_unread(self, chunk: Any, at: float, error: Exception) -> bool | None:
        observation = self._observation
        return attempt(
            "passing over a chunk", observation.note_unread, chunk, at, error
        )

    def _end_with(self, error: BaseException) -> None:
        attempt("ending a stream", self._observation.end_with, error)

    def _complete(self) -> None:
        attempt("ending a stream", self._observation.end, Outcome.COMPLETED)


class ObservedIterator(_ObservedSteps):
    """Hands on the chunks of a client's iterator and reports their arrival."""

    __slots__ = ("_next",)

    def __init__(self, chunks: Iterator[Any], observation: Observation) -> None:
        self._next = chunks.__next__
        super().__init__(observation)

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
                self._complete()
                raise
            except BaseException as error:
                self._end_with(error)
                raise
            at = monotonic_s()
            try:
                if self._read(chunk, at):
                    continue
            except Exception as error:  # noqa: BLE001 (never break the caller)
                if self._note_unread(chunk, at, error):
                    continue
            self._returned_at = at
            return chunk


class AsyncObservedIterator(_ObservedSteps):
    """The same for an asynchronous iterator."""

    __slots__ = ("_next",)

    def __init__(self, chunks: AsyncIterator[Any], observation: Observation) -> None:
        self._next = chunks.__anext__
        super().__init__(observation)

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
                self._complete()
                raise
            except BaseException as error:
                self._end_with(error)
                raise
            at = monotonic_s()
            try:
                if self._read(chunk, at):
                    continue
            except Exception as error:  # noqa: BLE001 (never break the caller)
                if self._note_unread(chunk, at, error):
                    continue
            self._returned_at = at
            return chunk


@lru_cache(maxsize=64)
def observing(stream_cls: Any) -> Any:
    """Return a subclass of a client's stream class whose streams are observed.

    Args:
        stream_cls: such as `Stream[ChatCompletionChunk]`.
    """
    original = getattr(stream_cls, "__origin__", stream_cls)
    asynchronous = hasattr(original, "__anext__")
    return _async_class(stream_cls) if asynchronous else _sync_class(stream_cls)


def _sync_class(stream_cls: Any) -> Any:
    class ObservedStream(stream_cls):
        def __stream__(self) -> Iterator[Any]:
            parent: Any = super()
            chunks: Iterator[Any] = parent.__stream__()
            return _observed(self, chunks, ObservedIterator, unobserved)

        def close(self) -> None:
            parent: Any = super()
            try:
                parent.close()
            finally:
                attempt("closing a stream", _end_closed, self)

    return _named_like(ObservedStream, stream_cls)


def _async_class(stream_cls: Any) -> Any:
    class ObservedAsyncStream(stream_cls):
        def __stream__(self) -> AsyncIterator[Any]:
            parent: Any = super()
            chunks: AsyncIterator[Any] = parent.__stream__()
            return _observed(self, chunks, AsyncObservedIterator, unobserved_async)

        async def close(self) -> None:
            parent: Any = super()
            try:
                await parent.close()
            finally:
                attempt("closing a stream", _end_closed, self)

    return _named_like(ObservedAsyncStream, stream_cls)


def _observed(
    stream: Any,
    chunks: Any,
    observe: Callable[[Any, Observation], Any],
    give_up: Callable[[Any, Observation | None], Any],
) -> Any:
    """Return a stream's chunks observed, or as they are where nobody observes them."""
    observation = None
    try:
        observation = _observation_for(stream)
        if observation is None:
            return chunks
        _take_over(stream, chunks, observation)
        return observe(chunks, observation)
    except Exception as error:  # noqa: BLE001 (never break the caller)
        failed("observing a stream", error)
        return give_up(chunks, observation)


def _observation_for(stream: Any) -> Observation | None:
    """Find the request that a stream answers: the response's, or the one under way."""
    return captures.observation_of(stream.response) or current_observation()


def _take_over(stream: Any, chunks: Any, observation: Observation) -> None:
    observation.parsed = True
    response = stream.response
    abandoned.ensure_thread()
    captures.remember(stream, observation)
    captures.remember(response, observation)
    watch_closing(response, chunks, observation)


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
