"""Other GenAI instrumentations that are active on the same call.

Their span is enriched and the standard metrics are left to them, so that nothing is
counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

if TYPE_CHECKING:
    from otel_specdecode.instrumentation.observation import Observation

# Set by opentelemetry-util-genai and everything built on it while a call runs:
# https://github.com/open-telemetry/opentelemetry-python-genai
_GENAI_CONTEXT_KEY = "opentelemetry.genai.client.inference.context"

_INFERENCE = frozenset({"chat", "text_completion", "generate_content"})
_SPAN_MARKS = (
    ("gen_ai.operation.name", _INFERENCE),
    ("openinference.span.kind", frozenset({"LLM"})),
    ("llm.request.type", frozenset({"chat", "completion"})),
)


def neighbour_span(outer: Observation | None) -> Span | None:
    """Return the span that another instrumentation has opened for this very call.

    Args:
        outer: our own request that this call is made inside of, by a transport or
            an event hook; its span is no neighbour's.

    Returns:
        `None` when there is none; spans of agents and workflows around the call
        are no such span.
    """
    current = trace.get_current_span()
    if not current.is_recording() or (outer is not None and outer.span is current):
        return None
    if otel_context.get_value(_GENAI_CONTEXT_KEY) is not None:
        return current
    return current if _is_inference_span(current) else None


def _is_inference_span(span: Any) -> bool:
    attributes = getattr(span, "attributes", None)
    if not isinstance(attributes, Mapping):
        return False
    if getattr(span, "kind", None) not in {SpanKind.CLIENT, SpanKind.INTERNAL}:
        return False
    known = cast("Mapping[str, object]", attributes)
    return any(known.get(name) in values for name, values in _SPAN_MARKS)
