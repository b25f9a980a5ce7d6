"""Server-sent events of a completion stream, line by line, for raw HTTP.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.instrumentation.wire_object import as_wire

if TYPE_CHECKING:
    from collections.abc import Callable

STREAM_ERROR = "stream_error"
"""`error.type` of a stream in which the server said that it failed."""

_DONE = "[DONE]"
_LINE_END = re.compile(rb"[\r\n]")
_MOST_LINE_BYTES = 4 * 1024 * 1024


class SseReader:
    """Feeds the events of a stream to a chunk reader, and ends where a client would.

    Attributes:
        done: `[DONE]` was seen; what follows is not for clients.
        failed: an error event was seen, or data that is no JSON; nothing is read
            after it.
    """

    def __init__(self, read: Callable[[Any, float], bool]) -> None:
        """Start before the first line.

        Args:
            read: takes an event and its arrival, and never raises.
        """
        self._read = read
        self._line = bytearray()
        self._too_long = False
        self.done = False
        self.failed = False

    def feed_bytes(self, data: bytes, at: float) -> None:
        """Read the lines that are whole; keep the rest for the next bytes."""
        *ends, rest = _LINE_END.split(data)
        for end in ends:
            self._keep(end)
            if not self._too_long:
                self.feed_line(bytes(self._line), at)
            self._line.clear()
            self._too_long = False
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        """Keep a part of a line, but nothing of one too long for an event."""
        if self._too_long or len(self._line) + len(part) > _MOST_LINE_BYTES:
            self._too_long = True
            self._line.clear()
        else:
            self._line += part

    def feed_line(self, line: str | bytes, at: float) -> None:
        """Read one line, with or without its end.

        Args:
            line: text, or UTF-8 bytes.
            at: when it arrived.
        """
        if self.done or self.failed:
            return
        try:
            text = line.decode() if isinstance(line, bytes) else line
        except UnicodeDecodeError:
            self.failed = True
            return
        # One event is one line on every server; comments keep a connection alive.
        if text.startswith("data:"):
            self._feed_data(text[5:].strip(), at)

    def _feed_data(self, data: str, at: float) -> None:
        if data.startswith(_DONE):
            self.done = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self.failed = True
            return
        if isinstance(event, Mapping) and cast("Mapping[str, Any]", event).get("error"):
            self.failed = True
            return
        self._read(as_wire(event), at)
