"""`traceparent` and `tracestate`, so that the server's own span becomes a child.

W3C trace context only: baggage may hold what a model server should never see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_specdecode.instrumentation.request_view import header_of

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from otel_specdecode.instrumentation.client_view import ClientView
    from otel_specdecode.instrumentation.options import Options

_PROPAGATOR = TraceContextTextMapPropagator()


def trace_headers(
    headers: object,
    client: ClientView,
    options: Options,
    context: Context,
) -> dict[str, str]:
    """Return the headers to add to a request, none where the caller sent his own.

    An HTTP instrumentation overwrites them with those of its own, inner span.

    Args:
        headers: what the caller sends along with the call.
        client: where to, and what it sends along by itself.
        options: whether, and not to which hosts.
        context: holds the span that is to be the parent.
    """
    if not options.propagate_trace or client.sends_traceparent:
        return {}
    if client.address in options.propagation_excluded_hosts:
        return {}
    if header_of(headers, "traceparent") is not None:
        return {}
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context=context)
    return carrier
