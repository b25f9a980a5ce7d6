"""Server-sent events of a completion stream, line by line, for raw HTTP.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.instrumentation._guard import warn_once
from otel_specdecode.instrumentation.findings import says_that_it_failed
from otel_specdecode.instrumentation.wire_object import as_wire

if TYPE_CHECKING:
    from collections.abc import Callable

_DONE = "[DONE]"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_MOST_LINE_BYTES = 4 * 1024 * 1024
_MOST_LINES = 1000


class SseReader:
    """Feeds the events of a stream to a chunk reader, and ends where a client would.

    Attributes:
        done: `[DONE]` was seen; what follows is not for clients.
    """

    def __init__(self, read: Callable[[Any, float], bool]) -> None:
        """Start before the first line.

        Args:
            read: takes an event and its arrival, and never raises.
        """
        self._read = read
        self._line = bytearray()
        self._too_long = False
        self._unread: list[str] = []
        self._failed = False
        self._begun = False
        self.done = False

    @property
    def failed(self) -> bool:
        """Whether an error event was seen, or data that is no JSON.

        Nothing is read after it.
        """
        return self._failed or bool(self._unread)

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

        Comments, which keep a connection alive, and fields other than `data` say
        nothing.

        Args:
            line: text, or UTF-8 bytes; of anything else a warning is logged.
            at: when it arrived.
        """
        if self.done or self._failed:
            return
        try:
            text = line.decode() if isinstance(line, bytes | bytearray) else line
        except UnicodeDecodeError:
            self._failed = True
            return
        # The caller's mistake, and no reason to break off his loop.
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            _warn_of_no_line(line)
            return
        if text.startswith("data:"):
            self._feed_data(text[5:].strip(), at)
        elif self._unread and not text.strip():
            data = "\n".join(self._unread)
            self._unread.clear()
            self._failed = not self._take(data, at)
        elif text.startswith("{") and not self._begun:
            self._failed = _is_error_body(text)

    def _feed_data(self, data: str, at: float) -> None:
        self._begun = True
        if self._unread:
            self._unread.append(data)
            self._failed = len(self._unread) > _MOST_LINES
        elif data.startswith(_DONE):
            self.done = True
        elif not self._take(data, at):
            # An event may be spread over lines, though no server is known to do so.
            self._unread.append(data)

    def _take(self, data: str, at: float) -> bool:
        """Read what a whole event says; return whether it is one."""
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return False
        if isinstance(event, Mapping) and cast("Mapping[str, Any]", event).get("error"):
            self._failed = True
        else:
            self._read(as_wire(event), at)
        return True


def _is_error_body(line: str) -> bool:
    """Say whether a line is a whole answer that is an error, in a stream's place.

    Whoever does not look at the status reads it as if it were lines of events.
    """
    try:
        # It begins with a brace, so it is an object or nothing.
        fields: dict[str, object] = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return says_that_it_failed(as_wire(fields), fields)


def _warn_of_no_line(line: object) -> None:
    kind = type(line).__name__
    warn_once(
        f"lines of {kind}",
        "observe_sse() was given %s where it expects lines, text or bytes; they say"
        " nothing. This is logged once.",
        kind,
    )
