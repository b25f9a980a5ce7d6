"""Other GenAI instrumentations that are active on the same call.

Their span is enriched and the standard metrics are left to them, so that nothing is
counted twice. Token usage that only we saw is handed over, or recorded by us where
they have no way to take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

if TYPE_CHECKING:
    from otel_specdecode.instrumentation.observation import Observation
    from otel_specdecode.model import Usage

# Set by opentelemetry-util-genai and everything built on it while a call runs:
# https://github.com/open-telemetry/opentelemetry-python-genai
_GENAI_CONTEXT_KEY = "opentelemetry.genai.client.inference.context"

_INFERENCE = frozenset({"chat", "text_completion", "generate_content"})
_SPAN_MARKS = (
    ("gen_ai.operation.name", _INFERENCE),
    ("openinference.span.kind", frozenset({"LLM"})),
    ("llm.request.type", frozenset({"chat", "completion"})),
)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another instrumentation's view of the call that we observe as well.

    Attributes:
        span: the one that it opened, and will end.
        data: what util-genai takes from those inside it; `None` for others.
    """

    span: Span
    data: Any = None

    def take(self, usage: Usage) -> bool:
        """Hand over token counts that the neighbour could not see.

        Returns:
            Whether it has a way to take them.
        """
        if not hasattr(self.data, "usage_output_tokens"):
            return False
        self.data.usage_input_tokens = usage.input_tokens
        self.data.usage_output_tokens = usage.output_tokens
        return True


def neighbour_of(outer: Observation | None) -> Neighbour | None:
    """Return the instrumentation that has opened a span for this very call.

    Args:
        outer: our own request that this call is made inside of, by a transport or
            an event hook; its span is no neighbour's.

    Returns:
        `None` when there is none; spans of agents and workflows around the call
        are no neighbours.
    """
    current = trace.get_current_span()
    if not current.is_recording() or (outer is not None and outer.span is current):
        return None
    data = otel_context.get_value(_GENAI_CONTEXT_KEY)
    if data is not None:
        return Neighbour(current, data)
    return Neighbour(current) if _is_inference_span(current) else None


def _is_inference_span(span: Any) -> bool:
    attributes = getattr(span, "attributes", None)
    if not isinstance(attributes, Mapping):
        return False
    if getattr(span, "kind", None) not in {SpanKind.CLIENT, SpanKind.INTERNAL}:
        return False
    known = cast("Mapping[str, object]", attributes)
    return any(known.get(name) in values for name, values in _SPAN_MARKS)
