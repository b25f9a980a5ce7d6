"""One span and one counter as OTLP, for the probe.

It is written as JSON with the standard library, so that the probe needs neither the SDK
nor gRPC.
"""

from __future__ import annotations

from typing import Any

METRIC = "specdecode.probe.sent"
SERIES = "specdecode_probe_sent_total"
PROMPT = "made-up prompt of otel-specdecode probe"


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
            _text("gen_ai.input.messages", PROMPT),
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
