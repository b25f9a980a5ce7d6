"""One small exchange with a server: bounded in time and size, and never a surprise.

The standard library alone, so that the doctor works where no client is installed.
Redirects are not followed: the key is for the server that was named.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from otel_specdecode.cli._server_address import HIDDEN, shown_url

if TYPE_CHECKING:
    from otel_specdecode.cli._server_address import Address

Result = TypeVar("Result")

_MOST_BYTES = 8 * 1024 * 1024
_AT_A_TIME = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back.

    Attributes:
        status: the HTTP status; `None` when no answer came.
        headers: names in lower case.
        body: as far as it came.
        location: where a redirect leads, for people; `None` when it is none.
        failure: why there is no answer, or no more of it; `None` when it is whole.
        error: what was raised in its place; `None` when nothing was.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    location: str | None = None
    failure: str | None = None
    error: Exception | None = field(default=None, repr=False)

    @property
    def succeeded(self) -> bool:
        """Whether the server did what it was asked for, and said it to the end."""
        return self.status == http.client.OK and self.failure is None

    def json(self) -> Any:
        """Return the decoded body; `None` when it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Exchanges:
    """Asks one server, and counts how often.

    Attributes:
        num_requests: requests sent so far.
    """

    def __init__(self, address: Address, timeout_s: float) -> None:
        """Send nothing yet.

        Args:
            address: the server.
            timeout_s: the longest that one exchange takes, seconds.
        """
        self._address = address
        self._timeout_s = timeout_s
        # Only ends the thread: `within` alone says that an answer took too long.
        self._abandoned_s = 2 * timeout_s
        self._opener = urllib.request.build_opener(_AsItCame)
        self.num_requests = 0

    def get(self, url: str) -> Reply:
        """Fetch a page."""
        return self._exchange(url, None)

    def post(self, url: str, body: Mapping[str, object]) -> Reply:
        """Send JSON, and read what is answered to its end."""
        return self._exchange(url, json.dumps(body).encode())

    def _exchange(self, url: str, data: bytes | None) -> Reply:
        self.num_requests += 1
        reply = within(self._timeout_s, lambda: self._send(url, data))
        if reply is None:
            return Reply(failure=f"no whole answer within {self._timeout_s:g} s")
        return reply

    def _send(self, url: str, data: bytes | None) -> Reply:
        headers = {"Accept": "*/*", "User-Agent": "otel-specdecode-doctor"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if self._address.authorization is not None:
            headers["Authorization"] = self._address.authorization
        request = urllib.request.Request(url, data=data, headers=headers)  # noqa: S310 (`Address.of` checks the scheme)
        try:
            with self._opener.open(request, timeout=self._abandoned_s) as response:
                return self._read(response, url)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None)
            cause = reason if isinstance(reason, OSError) else error
            return Reply(failure=self._why(error), error=cause)

    def _read(self, response: Any, url: str) -> Reply:
        body, failure = bytearray(), None
        gives_up_at = time.monotonic() + self._abandoned_s
        try:
            while part := response.read1(_AT_A_TIME):
                body += part
                if len(body) > _MOST_BYTES or time.monotonic() > gives_up_at:
                    failure = "the answer does not end"
                    break
        except (OSError, http.client.HTTPException) as error:
            failure = self._why(error)
        headers = {name.lower(): text for name, text in response.headers.items()}
        moved = response.status in range(300, 400) and "location" in headers
        return Reply(
            status=response.status,
            headers=headers,
            body=bytes(body),
            location=_target(url, headers["location"]) if moved else None,
            failure=failure,
        )

    def _why(self, error: Exception) -> str:
        reason = getattr(error, "reason", None) or error
        return self._address.blot(str(reason) or type(reason).__name__)


def _target(url: str, location: str) -> str:
    """Return where a redirect leads, for people."""
    try:
        return shown_url(urllib.parse.urljoin(url, location))
    except ValueError:
        return HIDDEN


def within(timeout_s: float, work: Callable[[], Result]) -> Result | None:
    """Return what a function returns; `None` when that takes longer.

    A socket's own time-out starts anew with every byte, and looking up a name has
    none at all.
    """
    results: SimpleQueue[Result] = SimpleQueue()
    Thread(
        target=lambda: results.put(work()), name="otel-specdecode-doctor", daemon=True
    ).start()
    try:
        return results.get(timeout=timeout_s)
    except Empty:
        return None


class _AsItCame(urllib.request.HTTPErrorProcessor):
    """Hands on every status as it is, redirects and errors included."""

    def http_response(self, request: Any, response: Any) -> Any:
        del request
        return response

    https_response = http_response
