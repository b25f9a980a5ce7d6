"""Server-sent events of a completion stream, line by line, for raw HTTP.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from otel_specdecode.instrumentation.request_view import mapping_or_empty
from otel_specdecode.instrumentation.wire_object import WireObject

if TYPE_CHECKING:
    from collections.abc import Callable

_DONE = "[DONE]"


class SseReader:
    """Feeds the events of a stream to a chunk reader.

    Attributes:
        done: `[DONE]` was seen.
        failed: an error event was seen, or data that is no JSON object.
    """

    def __init__(self, read: Callable[[Any, float], bool]) -> None:
        self._read = read
        self._rest = b""
        self.done = False
        self.failed = False

    def feed_bytes(self, data: bytes, at: float) -> None:
        """Read the lines that are whole; keep the rest for the next bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self.feed_line(line, at)

    def feed_line(self, line: str | bytes, at: float) -> None:
        """Read one line, with or without its end.

        Args:
            line: text, or UTF-8 bytes.
            at: when it arrived.
        """
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        # One event is one line on every server; comments keep a connection alive.
        if text.startswith("data:"):
            self._feed_data(text[5:].strip(), at)

    def _feed_data(self, data: str, at: float) -> None:
        if data.startswith(_DONE):
            self.done = True
            return
        try:
            event = json.loads(data)
        except ValueError:
            self.failed = True
            return
        fields = mapping_or_empty(event)
        if not fields or fields.get("error"):
            self.failed = True
            return
        self._read(WireObject(fields), at)
