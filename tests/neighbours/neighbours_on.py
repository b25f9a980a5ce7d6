"""How each neighbour is switched on and off, as its own documentation says.

Run inside that neighbour's environment; the providers are the global ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from telemetry_kept import Kept

Off = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One neighbour.

    Attributes:
        on: switches it on, and returns what switches it off.
        sets_providers: whether it makes the global providers by itself.
    """

    on: Callable[[Kept], Off]
    sets_providers: Callable[[Kept], None] | None = None


def _genai(kept: Kept) -> Off:
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    return OpenAIInstrumentor().uninstrument


def _openllmetry(kept: Kept) -> Off:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    return OpenAIInstrumentor().uninstrument


def _openinference(kept: Kept) -> Off:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    return OpenAIInstrumentor().uninstrument


def _httpx(kept: Kept) -> Off:
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor

    HTTPXClientInstrumentor().instrument()
    return HTTPXClientInstrumentor().uninstrument


def _httpx2(kept: Kept) -> Off:
    from opentelemetry.instrumentation.httpx import HTTPX2ClientInstrumentor

    HTTPX2ClientInstrumentor().instrument()
    return HTTPX2ClientInstrumentor().uninstrument


def _langfuse(kept: Kept) -> Off:
    from langfuse import Langfuse
    from langfuse.span_filter import is_default_export_span

    Langfuse(
        public_key="pk",
        secret_key="sk",
        span_exporter=kept.theirs,
        should_export_span=lambda span: (  # as docs/neighbours.md says
            is_default_export_span(span)
            and span.instrumentation_scope.name != "otel_specdecode"
        ),
    )
    import langfuse.openai  # noqa: F401 (importing it is what switches it on)

    return lambda: None


def _logfire_providers(kept: Kept) -> None:
    import logfire

    logfire.configure(
        send_to_logfire=False,
        console=False,
        inspect_arguments=False,
        sampling=logfire.SamplingOptions(head=1.0 if kept.sampled else 0.0),
        additional_span_processors=[kept.span_processor],
        metrics=logfire.MetricsOptions(additional_readers=[kept.reader]),
    )


def _logfire(kept: Kept) -> Off:
    return _logfire_with()


def _logfire_beside(kept: Kept) -> Off:
    return _logfire_with(suppress_other_instrumentation=False)


def _logfire_with(**options: Any) -> Off:
    import logfire

    manager = logfire.instrument_openai(**options)

    def off() -> None:
        with manager:
            pass

    return off


def _ddtrace(kept: Kept) -> Off:
    os.environ |= {
        "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
        "DD_REMOTE_CONFIGURATION_ENABLED": "false",
        "DD_TRACE_STARTUP_LOGS": "false",
        "DD_TRACE_AGENT_URL": "http://127.0.0.1:9",
    }
    from ddtrace import patch
    from ddtrace.contrib.internal.httpx2.patch import unpatch as unpatch_httpx2
    from ddtrace.contrib.internal.openai.patch import unpatch
    from ddtrace.trace import TraceFilter, tracer

    class Keeping(TraceFilter):
        def process_trace(self, trace: Any) -> None:
            kept.datadog += [span.name for span in trace]

    tracer.configure(trace_processors=[Keeping()])
    patch(openai=True, httpx2=True)

    def off() -> None:
        unpatch()
        unpatch_httpx2()

    return off


NEIGHBOURS: dict[str, Switch] = {
    "bare": Switch(on=lambda kept: lambda: None),
    "genai": Switch(on=_genai),
    "openllmetry": Switch(on=_openllmetry),
    "openinference": Switch(on=_openinference),
    "langfuse": Switch(on=_langfuse),
    "logfire": Switch(on=_logfire, sets_providers=_logfire_providers),
    "logfire-beside": Switch(on=_logfire_beside, sets_providers=_logfire_providers),
    "httpx": Switch(on=_httpx),
    "httpx2": Switch(on=_httpx2),
    "ddtrace": Switch(on=_ddtrace),
}
