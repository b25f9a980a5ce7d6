"""Responses whose body the caller reads by itself, watched from the side.

The HTTP response is left as it is, but for four methods that are wrapped on this one
object: those that hand out the bytes, and those that close it. Nothing is read ahead,
and no HTTP library is imported.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.instrumentation import abandoned
from otel_specdecode.instrumentation._guard import attempt, attempt_or
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.findings import STREAM_ERROR
from otel_specdecode.instrumentation.response_methods import put_back, replace
from otel_specdecode.instrumentation.sse_reader import SseReader
from otel_specdecode.instrumentation.wire_object import WireObject
from otel_specdecode.model import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from otel_specdecode.instrumentation.observation import Observation

_METHODS = ("iter_raw", "aiter_raw", "close", "aclose")
_MOST_JSON_BYTES = 4 * 1024 * 1024
_HOOK = "reading a raw body"
_EVENT_STREAM = "text/event-stream"


class RawBody:
    """Sees the bytes of one response pass, and its end."""

    def __init__(self, observation: Observation, response: Any) -> None:
        self._observation = observation
        headers = response.headers
        self._events: SseReader | None = None
        self._json: list[bytes] | None = None
        # Compressed bytes say nothing here; usage stays unknown.
        if headers.get("content-encoding", "identity") == "identity":
            if _EVENT_STREAM in headers.get("content-type", ""):
                self._events = SseReader(observation.guarded_callback())
            else:
                self._json = []
        self._num_bytes = 0
        self._returned_at: float | None = None
        self._pulling = False
        self._closed = False

    def __del__(self) -> None:
        # The response was collected, perhaps inside the garbage collector.
        observation: Observation | None = getattr(self, "_observation", None)
        # A stream that reads it goes by itself.
        if observation is not None and not observation.read_as_stream:
            attempt(_HOOK, abandoned.put_unended, observation)

    def see(self, data: bytes) -> None:
        """Look at bytes that are on their way to the caller."""
        if self._observation.read_as_stream or self._observation.ended:
            return
        if self._events is not None:
            self._events.feed_bytes(data, monotonic_s())
            self._returned_at = monotonic_s()
        elif self._json is not None:
            self._keep(self._json, data)

    def begin_read(self) -> None:
        """Note that the body is read on; the client closes it inside the last read.

        Such a closing says nothing. What the read itself comes to does.
        """
        self._pulling = True
        if self._returned_at is not None:
            tally = self._observation.open_reader().tally
            tally.consumer_s += monotonic_s() - self._returned_at
            self._returned_at = None

    def end_read(self, error: BaseException | None = None) -> None:
        """Note what a read came to."""
        self._pulling = False
        if self._observation.read_as_stream:
            return
        if error is not None:
            self._observation.end_with(error)
        elif self._closed:
            self._finish()

    def close(self) -> None:
        """Note that the response was closed, by its reader or by its last read."""
        self._closed = True
        if self._pulling or self._observation.read_as_stream:
            return
        done = self._events is not None and self._events.done
        self._observation.end(Outcome.COMPLETED if done else Outcome.ABANDONED)

    def _finish(self) -> None:
        if self._json:
            read_json(self._observation, b"".join(self._json))
        if self._events is not None and self._events.failed:
            self._observation.end(Outcome.ERROR, error_type=STREAM_ERROR)
        else:
            self._observation.end(Outcome.COMPLETED)

    def _keep(self, parts: list[bytes], data: bytes) -> None:
        self._num_bytes += len(data)
        if self._num_bytes > _MOST_JSON_BYTES:
            self._json = None
        else:
            parts.append(data)


def read_json(observation: Observation, content: bytes) -> None:
    """Read a whole JSON body into an observation; anything else says nothing."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return
    if isinstance(body, dict):
        observation.read_response(WireObject(cast("dict[str, Any]", body)))


def watch(response: Any, observation: Observation) -> None:
    """Watch the body of an HTTP response that the caller reads by itself."""
    abandoned.ensure_thread()
    body = RawBody(observation, response)
    note = partial(attempt_or, observation.lose, _HOOK)
    done = partial(_done, response, body)
    _watch_sync(response, body, note, done)
    _watch_async(response, body, note, done)


def _watch_sync(
    response: Any,
    body: RawBody,
    note: Callable[..., object],
    done: Callable[[], None],
) -> None:
    iter_raw, close = response.iter_raw, response.close

    def watched_iter_raw(*args: Any, **kwargs: Any) -> Iterator[bytes]:
        source = iter_raw(*args, **kwargs)
        try:
            while True:
                note(body.begin_read)
                try:
                    data = next(source, None)
                except BaseException as error:
                    note(body.end_read, error)
                    raise
                note(body.end_read)
                if data is None:
                    return
                note(body.see, data)
                yield data
        finally:
            source.close()

    def watched_close() -> None:
        try:
            close()
        finally:
            note(done)

    replace(response, "iter_raw", watched_iter_raw, body)
    replace(response, "close", watched_close, body)


def _watch_async(
    response: Any,
    body: RawBody,
    note: Callable[..., object],
    done: Callable[[], None],
) -> None:
    aiter_raw, aclose = response.aiter_raw, response.aclose

    async def watched_aiter_raw(*args: Any, **kwargs: Any) -> AsyncIterator[bytes]:
        source = aiter_raw(*args, **kwargs)
        try:
            while True:
                note(body.begin_read)
                try:
                    data = await anext(source, None)
                except BaseException as error:
                    note(body.end_read, error)
                    raise
                note(body.end_read)
                if data is None:
                    return
                note(body.see, data)
                yield data
        finally:
            await source.aclose()

    async def watched_aclose() -> None:
        try:
            await aclose()
        finally:
            note(done)

    replace(response, "aiter_raw", watched_aiter_raw, body)
    replace(response, "aclose", watched_aclose, body)


def _done(response: Any, body: RawBody) -> None:
    for name in _METHODS:
        put_back(response, name, body)
    body.close()
