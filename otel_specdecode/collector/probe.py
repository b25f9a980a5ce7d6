"""Sends one span and one metric through a running collector, and looks for them.

OTLP is written as JSON with the standard library, so that the probe needs neither the
SDK nor gRPC. The span carries a made-up prompt: where it comes out again, the collector
lets content through.
"""

from __future__ import annotations

import json
import secrets
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

METRIC = "specdecode.probe.sent"
SERIES = "specdecode_probe_sent_total"
_PROMPT = "made-up prompt of otel-specdecode probe"


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
        trace_id: 32 hexadecimal digits, drawn anew for each probe.
    """

    endpoint: str
    prometheus: str | None = None
    traces: str | None = None
    token: str | None = None
    ca_file: str | None = None
    within_s: float = 60.0
    trace_id: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        for url in (self.endpoint, self.prometheus, self.traces):
            if url is not None and not url.startswith(("http://", "https://")):
                raise ConfigError(
                    f"{url}: expected a URL such as http://127.0.0.1:4318"
                )

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
        step = f"{what} to {self.endpoint}/{path}"
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(
            f"{self.endpoint.rstrip('/')}/{path}",
            data=json.dumps(payload).encode(),
            headers=headers,
        )
        try:
            body = self._open(request)
        except urllib.error.HTTPError as error:
            return Answer(step=step, passed=False, detail=_status(error.code))
        except OSError as error:
            return Answer(step=step, passed=False, detail=f"no answer: {error}")
        rejected: Any = json.loads(body or "{}").get("partialSuccess")
        if rejected:
            return Answer(step=step, passed=False, detail=f"refused: {rejected}")
        return Answer(step=step, passed=True, detail="taken")

    def _look_for_series(self) -> Answer | None:
        if self.prometheus is None:
            return None
        query = f'{SERIES}{{specdecode_probe="{self.trace_id}"}}'
        fields = urllib.parse.urlencode({"query": query})
        url = f"{self.prometheus.rstrip('/')}/api/v1/query?{fields}"
        found = self._wait_for(url, lambda data: data["data"]["result"])
        step = f"metric in {self.prometheus}"
        if not found:
            return Answer(step=step, passed=False, detail=self._nothing())
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
        found = self._wait_for(url, lambda data: data["data"])
        step = f"span in {self.traces}"
        if not found:
            return Answer(step=step, passed=False, detail=self._nothing())
        leaked = _PROMPT in json.dumps(found)
        detail = (
            "it arrived, and with it the prompt: content is not removed"
            if leaked
            else "it arrived, and the prompt that it carried did not"
        )
        return Answer(step=step, passed=not leaked, detail=detail)

    def _nothing(self) -> str:
        return f"nothing within {self.within_s:g} s"

    def _wait_for(self, url: str, pick: Callable[[Any], Any]) -> Any:
        deadline = time.monotonic() + self.within_s
        while True:
            try:
                found = pick(json.loads(self._open(urllib.request.Request(url))))
            except (OSError, KeyError, ValueError):
                found = None  # not there yet: a store answers 404 until it is
            if found or time.monotonic() >= deadline:
                return found
            time.sleep(0.5)

    def _open(self, request: urllib.request.Request) -> bytes:
        context = (
            ssl.create_default_context(cafile=self.ca_file)
            if request.full_url.startswith("https://")
            else None
        )
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            body: bytes = answer.read()
            return body


def _status(code: int) -> str:
    known = {
        401: "refused: it wants a bearer token",
        403: "refused: not this token",
        404: "refused: no pipeline for this signal, or another path",
        429: "refused for now: it is full",
        503: "refused for now: out of memory, or its queue is full",
    }
    return known.get(code, f"refused: HTTP {code}")


def _text(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


_RESOURCE = {
    "attributes": [
        _text("service.name", "otel-specdecode-probe"),
        _text("service.instance.id", "probe"),
    ]
}
_SCOPE = {"name": "otel_specdecode.collector.probe"}


def span_payload(trace_id: str, now_ns: int) -> dict[str, Any]:
    """One span of a millisecond, as OTLP's JSON; times are strings of nanoseconds."""
    span = {
        "traceId": trace_id,
        "spanId": trace_id[:16],
        "name": "otel-specdecode probe",
        "kind": 3,
        "startTimeUnixNano": str(now_ns - 1_000_000),
        "endTimeUnixNano": str(now_ns),
        "attributes": [
            _text("gen_ai.operation.name", "chat"),
            _text("gen_ai.input.messages", _PROMPT),
        ],
    }
    scopes = [{"scope": _SCOPE, "spans": [span]}]
    return {"resourceSpans": [{"resource": _RESOURCE, "scopeSpans": scopes}]}


def metric_payload(trace_id: str, now_ns: int) -> dict[str, Any]:
    """One cumulative counter at 1, as OTLP's JSON, marked with the probe's id."""
    point = {
        "attributes": [_text("specdecode.probe", trace_id)],
        "startTimeUnixNano": str(now_ns - 1_000_000_000),
        "timeUnixNano": str(now_ns),
        "asInt": "1",
    }
    total = {"dataPoints": [point], "aggregationTemporality": 2, "isMonotonic": True}
    scopes = [{"scope": _SCOPE, "metrics": [{"name": METRIC, "sum": total}]}]
    return {"resourceMetrics": [{"resource": _RESOURCE, "scopeMetrics": scopes}]}
