"""Sends one span and one metric through a running collector, and looks for them.

The span carries a made-up prompt: where it comes out again, the collector lets content
through.
"""

from __future__ import annotations

import http.client
import json
import math
import secrets
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any, cast

from otel_specdecode.collector.probe_payload import (
    PROMPT,
    SERIES,
    metric_payload,
    span_payload,
)
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Longer than any answer to what is asked here.
_MAX_ANSWER_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one step of the probe found.

    Attributes:
        step: what was tried.
        passed: `None` where it was not tried.
        detail: what was seen, for a reader.
    """

    step: str
    passed: bool | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Where to send, where to look, and for how long.

    Attributes:
        endpoint: base URL of the collector's OTLP over HTTP.
        prometheus: base URL of a Prometheus behind it; `None` does not look.
        traces: base URL of a Jaeger query API behind it; `None` does not look.
        token: sent as a bearer token; `None` sends none.
        ca_file: authority of the collector's certificate; `None` is the system's.
        within_s: how long each of the two may take to show what was sent, in seconds.
        answer_within_s: how long one answer of any of them may take, in seconds.
        trace_id: 32 hexadecimal digits, drawn anew for each probe.

    Raises:
        ConfigError: an address, a time, the token or the authority cannot be used.
    """

    endpoint: str
    prometheus: str | None = None
    traces: str | None = None
    token: str | None = None
    ca_file: str | None = None
    within_s: float = 60.0
    answer_within_s: float = 10.0
    trace_id: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        for url in (self.endpoint, self.prometheus, self.traces):
            if url is not None and not is_url(url):
                raise ConfigError(
                    f"{url}: expected a URL such as http://127.0.0.1:4318"
                )
        for seconds in (self.within_s, self.answer_within_s):
            if not (math.isfinite(seconds) and seconds >= 0):
                raise ConfigError(f"expected a number of seconds, got {seconds}")
        if self.token is not None and not (
            self.token and self.token.isascii() and self.token.isprintable()
        ):
            raise ConfigError("expected a token of one line, in plain characters")
        if self.ca_file is not None:
            try:
                ssl.create_default_context(cafile=self.ca_file)
            except OSError as error:
                raise ConfigError(
                    f"{self.ca_file}: expected certificates in PEM form; {error}"
                ) from error

    def run(self) -> tuple[Answer, ...]:
        """Sends, looks, and says what arrived."""
        sent = (
            self._send(
                "span", "v1/traces", span_payload(self.trace_id, time.time_ns())
            ),
            self._send(
                "metric", "v1/metrics", metric_payload(self.trace_id, time.time_ns())
            ),
        )
        looked = (self._look_for_series(), self._look_for_span())
        return (*sent, *(answer for answer in looked if answer))

    def _send(self, what: str, path: str, payload: Mapping[str, Any]) -> Answer:
        url = f"{self.endpoint.rstrip('/')}/{path}"
        step = f"{what} to {url}"
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(
            url, data=json.dumps(payload).encode(), headers=headers
        )
        try:
            body = self._open(request, self.answer_within_s)
        except urllib.error.HTTPError as error:
            return Answer(step=step, passed=False, detail=self._status(error))
        except (OSError, http.client.HTTPException) as error:
            return Answer(step=step, passed=False, detail=self._no_answer(error))
        refused = _refusal(body)
        return Answer(step=step, passed=refused is None, detail=refused or "taken")

    def _look_for_series(self) -> Answer | None:
        if self.prometheus is None:
            return None
        query = f'{SERIES}{{specdecode_probe="{self.trace_id}"}}'
        fields = urllib.parse.urlencode({"query": query})
        url = f"{self.prometheus.rstrip('/')}/api/v1/query?{fields}"
        found, trouble = self._wait_for(url, lambda data: data["data"]["result"])
        step = f"metric in {self.prometheus}"
        if not found:
            return Answer(step=step, passed=False, detail=self._nothing(trouble))
        labels = {
            k: v for k, v in found[0]["metric"].items() if k != "specdecode_probe"
        }
        value = found[0]["value"][1]
        detail = f"{SERIES} = {value}, labels {', '.join(sorted(labels))}"
        return Answer(step=step, passed=value == "1", detail=detail)

    def _look_for_span(self) -> Answer | None:
        if self.traces is None:
            return None
        url = f"{self.traces.rstrip('/')}/api/traces/{self.trace_id}"
        found, trouble = self._wait_for(url, lambda data: data["data"])
        step = f"span in {self.traces}"
        if not found:
            return Answer(step=step, passed=False, detail=self._nothing(trouble))
        leaked = PROMPT in json.dumps(found)
        detail = (
            "it arrived, and with it the prompt: content is not removed"
            if leaked
            else "it arrived, and the prompt that it carried did not"
        )
        return Answer(step=step, passed=not leaked, detail=detail)

    def _nothing(self, trouble: str | None) -> str:
        nothing = f"nothing within {self.within_s:g} s"
        return f"{nothing}: {trouble}" if trouble else nothing

    def _no_answer(self, error: Exception) -> str:
        """One text for every way in which the time runs out: connecting, or reading."""
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return f"no answer within {self.answer_within_s:g} s"
        if isinstance(reason, ConnectionResetError):
            return f"no answer: {reason}; is it the port of gRPC, or https?"
        return f"no answer: {reason}"

    def _status(self, error: urllib.error.HTTPError) -> str:
        elsewhere = error.headers.get("Location")
        if error.code // 100 == 3 and elsewhere:
            return f"refused: sends to {elsewhere}; is that the receiver's address?"
        another = "refused: not this token"
        known = {
            400: "refused: not understood; if the receiver speaks TLS, write https://",
            401: another if self.token else "refused: it wants a bearer token",
            403: another,
            404: "refused: no pipeline for this signal, or another path",
            429: "refused for now: it is full",
            503: "refused for now: out of memory, or its queue is full",
        }
        return known.get(error.code, f"refused: HTTP {error.code}")

    def _wait_for(self, url: str, pick: Callable[[Any], Any]) -> tuple[Any, str | None]:
        """What was found, and else what was wrong with the last answer."""
        deadline = time.monotonic() + self.within_s
        while True:
            # The last try, too, has time for an answer that comes at once.
            left_s = max(1.0, deadline - time.monotonic())
            found, trouble = self._ask(url, pick, min(self.answer_within_s, left_s))
            if found or time.monotonic() >= deadline:
                return found, trouble
            time.sleep(0.5)

    def _ask(
        self, url: str, pick: Callable[[Any], Any], within_s: float
    ) -> tuple[Any, str | None]:
        try:
            body = self._open(urllib.request.Request(url), within_s)
        except urllib.error.HTTPError as error:
            # Jaeger says in this way that a trace is not there yet.
            if error.code == HTTPStatus.NOT_FOUND and _is_json(error):
                return None, None
            return None, f"answers with HTTP {error.code}; is it another port?"
        except (OSError, http.client.HTTPException) as error:
            return None, self._no_answer(error)
        try:
            return pick(json.loads(body)), None
        except (LookupError, ValueError, TypeError):
            return None, "answers, but not as such a store does; is it another port?"

    def _open(self, request: urllib.request.Request, within_s: float) -> bytes:
        """The body of an answer.

        Raises:
            TimeoutError: it did not end in time, however much of it there was.
        """
        handlers: list[urllib.request.BaseHandler] = [_KeepsToItsAddress()]
        if request.full_url.startswith("https://"):
            context = ssl.create_default_context(cafile=self.ca_file)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        opener = urllib.request.build_opener(*handlers)
        deadline = time.monotonic() + within_s
        body = bytearray()
        with opener.open(request, timeout=within_s) as answer:
            # Each part has the whole time for itself, all of them together too.
            while part := answer.read1():
                body += part
                if time.monotonic() >= deadline or len(body) > _MAX_ANSWER_BYTES:
                    raise TimeoutError
        return bytes(body)


class _KeepsToItsAddress(urllib.request.HTTPRedirectHandler):
    """Follows no answer that sends what was posted elsewhere.

    It would go there as a question without its body, with the token in its headers, and
    the page of a login that answers it would look like a receiver that took it.
    """

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Nothing for what was posted, and otherwise what is asked next."""
        if req.data is not None:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_url(text: str) -> bool:
    """Whether a text is a whole address over HTTP, with a port that can be one."""
    try:
        parts = urllib.parse.urlsplit(text)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        return False


def _is_json(error: urllib.error.HTTPError) -> bool:
    try:
        json.loads(error.read(_MAX_ANSWER_BYTES))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    return True


def _refusal(body: bytes) -> str | None:
    """What an answer with status 200 holds against it; `None` where it is a yes."""
    try:
        answer: Any = json.loads(body or "{}")
    except ValueError:
        answer = None
    # Health checks and other pages answer any POST with 200 and words of their own.
    if not isinstance(answer, dict) or set(cast("Any", answer)) - {"partialSuccess"}:
        return "answered, but not as a receiver of OTLP does: is it another port?"
    rejected = cast("dict[str, Any]", answer).get("partialSuccess")
    return f"refused: {rejected}" if rejected else None
