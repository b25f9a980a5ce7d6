"""The OpenAI client, observed: calls, streams, and the usage that they ask for."""

from __future__ import annotations

from otel_specdecode.instrumentation.captures import capture, record_of
from otel_specdecode.instrumentation.diagnosis import Diagnosis, diagnose
from otel_specdecode.instrumentation.instrumentor import SpecDecodeInstrumentor
from otel_specdecode.instrumentation.options import (
    Options,
    RawUsagePolicy,
    UsagePolicy,
)
from otel_specdecode.instrumentation.raw_http import observe_sse, record_from
from otel_specdecode.instrumentation.tags import tag
from otel_specdecode.instrumentation.wrapping import wrap

__all__ = [
    "Diagnosis",
    "Options",
    "RawUsagePolicy",
    "SpecDecodeInstrumentor",
    "UsagePolicy",
    "capture",
    "diagnose",
    "observe_sse",
    "record_from",
    "record_of",
    "tag",
    "wrap",
]
