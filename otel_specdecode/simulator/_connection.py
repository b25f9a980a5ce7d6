"""One HTTP/1.1 connection: requests in, and their events played by the clock.

A protocol on httptools with one timer, and no task or queue: an answer is pulled
from its generator when its next event is due, and everything that is due at one
instant leaves in one write.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import httptools

from otel_specdecode.simulator._faults import ConnectionDropped, TimedBytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.simulator.responder import Responder, Response

_EARLY_S = 0.0005
"""Loop timers have millisecond ticks: an event so close is due now."""
_MAX_EVENTS_A_TURN = 512
"""An answer without waits must not keep the loop from the other connections."""
_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class _Incoming:
    """A request while it is being read."""

    method: str = ""
    target: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)
    keep_alive: bool = True
    chunked_allowed: bool = True


class Connection(asyncio.Protocol):
    """Server side of one client connection.

    Args:
        responder: the simulated server.
        loop: the loop that runs this connection.
        open_connections: the set that this one is in while it is open.
        write_each: write each event by itself, also those due at one instant.
    """

    def __init__(
        self,
        responder: Responder,
        loop: asyncio.AbstractEventLoop,
        open_connections: set[Connection],
        *,
        write_each: bool = False,
    ) -> None:
        self._responder = responder
        self._loop = loop
        self._open_connections = open_connections
        self._write_each = write_each
        self._parser = httptools.HttpRequestParser(self)
        self._incoming = _Incoming()
        self._waiting: deque[_Incoming] = deque()
        self._answering: _Incoming | None = None
        self._paused = False
        self._transport: asyncio.Transport
        self._events: Iterator[TimedBytes] | None = None
        self._next: TimedBytes | None = None
        self._response: Response
        self._started_at = 0.0
        self._whole = bytearray()
        self._outgoing: list[bytes] = []
        self._timer: asyncio.Handle | None = None

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._open_connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell the engine that the client left."""
        self._open_connections.discard(self)
        self._waiting.clear()
        self._end_answer()

    def pause_writing(self) -> None:
        """The client does not keep up."""
        self._paused = True

    def resume_writing(self) -> None:
        """The client caught up."""
        self._paused = False

    def data_received(self, data: bytes) -> None:
        """Parse; complete requests start or wait their turn."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # An offer of HTTP/2, which may be ignored: the request is complete.
            return
        except httptools.HttpParserError:
            self._transport.write(
                b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n"
                b"connection: close\r\n\r\n"
            )
            self._transport.close()

    def close(self) -> None:
        """Drop the connection, with whatever it is doing."""
        self._transport.abort()

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Start a fresh request."""
        self._incoming = _Incoming()

    def on_url(self, url: bytes) -> None:
        """Collect the target, which may come in pieces."""
        self._incoming.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header."""
        text = value.decode("latin-1")
        self._incoming.headers[name.decode("latin-1").lower()] = text

    def on_headers_complete(self) -> None:
        """Let a careful client go on with its body."""
        if self._incoming.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Collect the body."""
        self._incoming.body += body

    def on_message_complete(self) -> None:
        """Start to answer, or wait for the answer before."""
        request = self._incoming
        request.method = self._parser.get_method().decode("ascii")
        request.keep_alive = self._parser.should_keep_alive()
        request.chunked_allowed = self._parser.get_http_version() != "1.0"
        self._waiting.append(request)
        if self._answering is None:
            self._start_next()

    # Playing an answer.

    def _start_next(self) -> None:
        if self._answering or not self._waiting or self._transport.is_closing():
            return
        request = self._waiting.popleft()
        self._answering = request
        self._started_at = time.perf_counter()
        try:
            self._response = self._responder.respond(
                request.method,
                request.target.decode("latin-1"),
                request.headers,
                bytes(request.body),
                lagging=self._is_paused,
            )
        except ConnectionDropped:
            self._transport.close()
            return
        self._events = self._response.events
        if self._response.streamed:
            framing = b"transfer-encoding: chunked\r\n"
            self._write_head(framing if request.chunked_allowed else b"")
        self._play()

    def _is_paused(self) -> bool:
        return self._paused

    def _play(self) -> None:
        """Send what is due, then wait for the next event."""
        events = self._events
        if events is None:
            return
        self._timer = None
        due: list[bytes] = []
        elapsed_s = time.perf_counter() - self._started_at + _EARLY_S
        try:
            for _ in range(_MAX_EVENTS_A_TURN):
                item = self._next or next(events, None)
                self._next = None
                if item is None:
                    self._finish(due)
                    return
                at_s, data = item
                if at_s > elapsed_s:
                    elapsed_s = time.perf_counter() - self._started_at + _EARLY_S
                if at_s > elapsed_s:
                    self._next = item
                    wait_s = at_s - elapsed_s + _EARLY_S
                    self._timer = self._loop.call_later(wait_s, self._play)
                    break
                if data:
                    due.append(data)
                    if self._write_each:
                        self._send(due)
                        self._flush()
                        due.clear()
            else:
                self._timer = self._loop.call_soon(self._play)
        except ConnectionDropped:
            self._drop(due)
            return
        self._send(due)
        self._flush()

    def _send(self, due: list[bytes]) -> None:
        """Put the bytes of events into the framing that this answer has."""
        if not due:
            return
        data = b"".join(due)
        if not self._response.streamed:
            self._whole += data
        elif self._answering is not None and self._answering.chunked_allowed:
            self._outgoing += (b"%x\r\n" % len(data), data, b"\r\n")
        else:
            self._outgoing.append(data)

    def _flush(self) -> None:
        """Write everything that is due, at once: a write costs more than a chunk."""
        if self._outgoing:
            self._transport.write(b"".join(self._outgoing))
            self._outgoing.clear()

    def _finish(self, due: list[bytes]) -> None:
        """End the answer in the way that its framing wants."""
        request = self._answering
        assert request is not None  # noqa: S101 - only called while answering
        self._send(due)
        if not self._response.streamed:
            self._write_head(b"content-length: %d\r\n" % len(self._whole))
            self._outgoing.append(bytes(self._whole))
        elif request.chunked_allowed:
            self._outgoing.append(b"0\r\n\r\n")
        self._flush()
        self._end_answer()
        if not request.keep_alive or (
            self._response.streamed and not request.chunked_allowed
        ):
            self._transport.close()
        elif self._waiting:
            # Not from here: many requests may have been sent together.
            self._loop.call_soon(self._start_next)

    def _drop(self, due: list[bytes]) -> None:
        """Deliver what was sent so far, then close in the middle of the answer."""
        self._send(due)
        if not self._response.streamed:
            self._write_head(b"content-length: %d\r\n" % (2 * len(self._whole) + 1))
            self._outgoing.append(bytes(self._whole))
        self._flush()
        self._transport.close()

    def _end_answer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        events, self._events = self._events, None
        close = getattr(events, "close", None)
        if close is not None:
            close()
        self._next = None
        self._answering = None
        self._whole = bytearray()

    def _write_head(self, framing: bytes) -> None:
        response = self._response
        reason = _REASONS.get(response.status, "Unknown")
        lines = [f"HTTP/1.1 {response.status} {reason}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in response.headers]
        if self._answering is not None and not self._answering.keep_alive:
            lines.append("connection: close\r\n")
        head = "".join(lines).encode("latin-1")
        # The server that vLLM itself runs on.
        self._outgoing.append(head + b"server: uvicorn\r\n" + framing + b"\r\n")
