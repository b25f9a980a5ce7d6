"""The same numbers for code that speaks raw HTTP: requests, httpx, aiohttp.

The caller sends `stream_options={"include_usage": True}` himself; nothing can be
asked for here, since the request is already out.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from math import inf
from typing import Any, overload

from otel_specdecode.errors import ConfigError, PayloadError
from otel_specdecode.instrumentation._guard import attempt_or
from otel_specdecode.instrumentation.client_view import ClientView
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.findings import STREAM_ERROR
from otel_specdecode.instrumentation.observation import Observation, Setting
from otel_specdecode.instrumentation.options import Options
from otel_specdecode.instrumentation.request_view import (
    CHAT,
    COMPLETIONS,
    Endpoint,
    RequestView,
)
from otel_specdecode.instrumentation.sse_reader import SseReader
from otel_specdecode.instrumentation.tags import current_tags
from otel_specdecode.instrumentation.wire_object import WireObject
from otel_specdecode.model import Outcome, RequestRecord, UsageOrigin

_SETTING = Setting(recorder=None, options=Options())
_NOBODY = ClientView(base_url="", address=None, port=None, provider="openai")
_COMPLETION_OBJECT = "text_completion"
_OPERATIONS = {endpoint.operation: endpoint for endpoint in (CHAT, COMPLETIONS)}


class ObservedLines:
    """Lines of a response, handed on as they come, and the record at their end.

    Iterate it once, with `for` or with `async for`, as the lines it was given.
    """

    def __init__(self, lines: Any, observation: Observation) -> None:
        self._lines = lines
        self._observation = observation
        self._tally = observation.open_reader().tally
        self._reader = SseReader(observation.guarded_callback())
        self._note = partial(attempt_or, observation.lose, "reading lines")

    @property
    def record(self) -> RequestRecord | None:
        """What was measured; `None` until the lines ended or iteration stopped."""
        return self._observation.record

    def __iter__(self) -> Iterator[Any]:
        try:
            for line in self._lines:
                self._note(self._reader.feed_line, line, monotonic_s())
                returned_at = monotonic_s()
                yield line
                self._tally.consumer_s += monotonic_s() - returned_at
        except BaseException as error:
            self._note(self._end_early, error)
            raise
        self._note(self._end)

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            async for line in self._lines:
                self._note(self._reader.feed_line, line, monotonic_s())
                returned_at = monotonic_s()
                yield line
                self._tally.consumer_s += monotonic_s() - returned_at
        except BaseException as error:
            self._note(self._end_early, error)
            raise
        self._note(self._end)

    def _end(self) -> None:
        if self._reader.failed:
            self._observation.end(Outcome.ERROR, error_type=STREAM_ERROR)
        else:
            self._observation.end(Outcome.COMPLETED)

    def _end_early(self, error: BaseException) -> None:
        if isinstance(error, GeneratorExit):
            done = self._reader.done
            self._observation.end(Outcome.COMPLETED if done else Outcome.ABANDONED)
        else:
            self._observation.end_with(error)


@overload
def observe_sse(
    lines: Iterable[str | bytes],
    *,
    request: Mapping[str, Any] | None = None,
    sent_at: float | None = None,
    operation: str = "chat",
) -> ObservedLines: ...


@overload
def observe_sse(
    lines: AsyncIterable[str | bytes],
    *,
    request: Mapping[str, Any] | None = None,
    sent_at: float | None = None,
    operation: str = "chat",
) -> ObservedLines: ...


def observe_sse(
    lines: Iterable[str | bytes] | AsyncIterable[str | bytes],
    *,
    request: Mapping[str, Any] | None = None,
    sent_at: float | None = None,
    operation: str = "chat",
) -> ObservedLines:
    """Measure a streamed completion that is read line by line.

    Args:
        lines: the lines of a `text/event-stream` body, text or UTF-8 bytes, as
            `iter_lines()` of requests and httpx gives them, or as aiohttp's
            content does; `async for` where they come asynchronously.
        request: the JSON body that was sent; tells n, tools and the model. `None`
            for one choice without tools.
        sent_at: `time.perf_counter()` just before the request was sent. `None`
            leaves every time since the request unknown; TPOT needs none.
        operation: `chat`, or `text_completion` for `/v1/completions`.

    Returns:
        Iterate it instead of `lines`; its `record` is there at the end.

    Raises:
        ConfigError: an argument is none of these, such as a whole body for its
            lines, or `sent_at` is yet to come, as a reading of `time.time()` is.
    """
    if not _are_lines(lines):
        raise ConfigError(
            "lines: expected an iterable of lines, such as response.iter_lines(),"
            f" got {type(lines).__name__}"
        )
    endpoint = _OPERATIONS.get(operation)
    if endpoint is None:
        raise ConfigError(
            f"operation: expected one of {', '.join(_OPERATIONS)}, got {operation!r}"
        )
    now = monotonic_s()
    if sent_at is not None and not (_is_number(sent_at) and 0 <= now - sent_at < now):
        raise ConfigError(
            "sent_at: expected a reading of time.perf_counter() before this call,"
            f" {now:.3f} or less, got {sent_at!r}"
        )
    return ObservedLines(lines, _observe(endpoint, request, sent_at, streaming=True))


def record_from(
    payload: Mapping[str, Any],
    *,
    request: Mapping[str, Any] | None = None,
    duration_s: float | None = None,
) -> RequestRecord:
    """Read a whole, not streamed, completion.

    Args:
        payload: the decoded JSON body of `/v1/chat/completions` or
            `/v1/completions`.
        request: the JSON body that was sent, as for `observe_sse`.
        duration_s: seconds from the request to the whole answer; `None` leaves the
            output token rate unknown.

    Returns:
        What it says. An answer that is an error has outcome `error`.

    Raises:
        PayloadError: `payload` is no object.
        ConfigError: `duration_s` is no length of time, or `request` no object.
    """
    if not isinstance(payload, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] (decoded JSON is anything)
        raise PayloadError(
            "payload", f"expected an object, got {type(payload).__name__}"
        )
    endpoint = COMPLETIONS if payload.get("object") == _COMPLETION_OBJECT else CHAT
    if duration_s is not None and not (
        _is_number(duration_s) and 0 <= duration_s < inf
    ):
        raise ConfigError(f"duration_s: expected 0 s or more, got {duration_s!r}")
    sent_at = None if duration_s is None else monotonic_s() - duration_s
    observation = _observe(endpoint, request, sent_at, streaming=False)
    observation.read_response(WireObject(payload))
    ended_at = None if sent_at is None or duration_s is None else sent_at + duration_s
    observation.end(Outcome.COMPLETED, ended_at=ended_at)
    if observation.record is None:
        raise PayloadError("payload", "expected a completion, got one we cannot read")
    return observation.record


def _are_lines(value: object) -> bool:
    # A whole body is an iterable too: of characters.
    whole = isinstance(value, str | bytes | bytearray | Mapping)
    return not whole and isinstance(value, Iterable | AsyncIterable)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _observe(
    endpoint: Endpoint,
    request: Mapping[str, Any] | None,
    sent_at: float | None,
    *,
    streaming: bool,
) -> Observation:
    if not isinstance(request, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance] (a body may be bytes)
        raise ConfigError(
            f"request: expected the JSON object sent, got {type(request).__name__}"
        )
    view = RequestView(
        endpoint=endpoint, streaming=streaming, raw_mode=None, body=request or {}
    )
    observation = Observation(
        _SETTING,
        view,
        _NOBODY,
        current_tags(),
        requested_at=sent_at,
        request_seen=sent_at is not None,
    )
    observation.asked = UsageOrigin.REQUESTED
    return observation
