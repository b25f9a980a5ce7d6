"""Other GenAI instrumentations that are active on the same call.

Their span is enriched, and the standard metrics that they record are left to them, so
that nothing is counted twice. Token usage that only we saw is handed over, or recorded
by us where they have no way to take it. `docs/neighbours.md` says how each behaves.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from otel_specdecode.instrumentation.request_view import CHAT
from otel_specdecode.model import UsageOrigin
from otel_specdecode.recording import StandardMetrics

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from otel_specdecode.instrumentation.observation import Observation
    from otel_specdecode.instrumentation.request_view import RequestView
    from otel_specdecode.model import RequestRecord, Usage

# Set by opentelemetry-util-genai and everything built on it while a call runs:
# https://github.com/open-telemetry/opentelemetry-python-genai
_GENAI_CONTEXT_KEY = "opentelemetry.genai.client.inference.context"

_INFERENCE = frozenset({"chat", "text_completion", "generate_content"})
_SPAN_MARKS = (
    ("gen_ai.operation.name", _INFERENCE),
    ("openinference.span.kind", frozenset({"LLM"})),
    ("llm.request.type", frozenset({"chat", "completion"})),
)

# Instrumentation scopes, as each release of theirs that we ran names them.
_OPENINFERENCE = "openinference.instrumentation."
_LOGFIRE = "logfire.openai"
_OPENLLMETRY = "opentelemetry.instrumentation.openai.v"
_WITHOUT_METRICS = (_OPENINFERENCE, _LOGFIRE)

_OPENLLMETRY_MODULE = "opentelemetry.instrumentation.openai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Another instrumentation's view of the call that we observe as well.

    Attributes:
        span: the one that it opened, and will end; `None` when it records none.
        data: what util-genai takes from those inside it; `None` for others.
        counts: whether it records the standard metrics of this call.
    """

    span: Span | None
    data: Any = None
    counts: bool = True

    def left_to_us(self, record: RequestRecord) -> StandardMetrics:
        """Say which standard metrics are ours, and hand over what only we saw."""
        usage = record.usage if record.usage_origin is UsageOrigin.FORCED else None
        taken = usage is None or self._take(usage)
        if not self.counts:
            return StandardMetrics.ALL
        return StandardMetrics.NONE if taken else StandardMetrics.TOKENS

    def _take(self, usage: Usage) -> bool:
        """Hand over token counts; return whether its metrics will have them."""
        span = self.span
        if span is not None:
            if not span.is_recording():
                return False
            if _scope_of(span).startswith(_OPENINFERENCE):
                span.set_attributes(_in_openinference_words(usage))
        if not hasattr(self.data, "usage_output_tokens"):
            return False
        self.data.usage_input_tokens = usage.input_tokens
        self.data.usage_output_tokens = usage.output_tokens
        return True


def neighbour_of(
    outer: Observation | None, view: RequestView, here: Context
) -> Neighbour | None:
    """Return the instrumentation that watches this very call, from outside of ours.

    Args:
        outer: our own request that this call is made inside of, by a transport or
            an event hook; its span is no neighbour's.
        view: the call.
        here: the context in which it is made.

    Returns:
        `None` when there is none; spans of agents and workflows around the call
        are no neighbours.
    """
    current = trace.get_current_span(here)
    if outer is not None and outer.span is current:
        return None
    data = here.get(_GENAI_CONTEXT_KEY)
    if not current.is_recording():
        # Not sampled, or no traces at all; its metrics are recorded all the same.
        if data is None and not (_openllmetry_is_on() and _openllmetry_counts(view)):
            return None
        return Neighbour(span=None, data=data)
    if data is not None:
        return Neighbour(span=current, data=data)
    if not _is_inference_span(current):
        return None
    return Neighbour(span=current, counts=_counts(_scope_of(current), view))


def is_suppressed_by_neighbour() -> bool:
    """Say whether instrumentation is suppressed by a neighbour, for its own call.

    Logfire suppresses what is inside of its span, so that no other instrumentation
    makes a second one. Ours makes none there, and its numbers are wanted.
    """
    return _scope_of(trace.get_current_span()) == _LOGFIRE


def _counts(scope: str, view: RequestView) -> bool:
    if scope.startswith(_WITHOUT_METRICS):
        return False
    return not scope.startswith(_OPENLLMETRY) or _openllmetry_counts(view)


def _openllmetry_counts(view: RequestView) -> bool:
    # It has metrics for chat alone, and takes a raw stream for no answer at all.
    return view.endpoint is CHAT and not (view.raw_mode and view.streaming)


def _openllmetry_is_on() -> bool:
    module: Any = sys.modules.get(_OPENLLMETRY_MODULE)
    if module is None:
        return False
    kind = getattr(module, "OpenAIInstrumentor", None)
    # The one that there is: to call the class would set its options anew.
    instrumentor = getattr(kind, "_instance", None)
    return getattr(instrumentor, "is_instrumented_by_opentelemetry", False)


def _scope_of(span: Any) -> str:
    name = getattr(getattr(span, "instrumentation_scope", None), "name", None)
    return name if isinstance(name, str) else ""


def _in_openinference_words(usage: Usage) -> dict[str, int]:
    counts = {
        "llm.token_count.prompt": usage.input_tokens,
        "llm.token_count.completion": usage.output_tokens,
    }
    known = {name: count for name, count in counts.items() if count is not None}
    if len(known) == len(counts):
        known["llm.token_count.total"] = sum(known.values())
    return known


def _is_inference_span(span: Any) -> bool:
    attributes = getattr(span, "attributes", None)
    if not isinstance(attributes, Mapping):
        return False
    if getattr(span, "kind", None) not in {SpanKind.CLIENT, SpanKind.INTERNAL}:
        return False
    known = cast("Mapping[str, object]", attributes)
    return any(known.get(name) in values for name, values in _SPAN_MARKS)
