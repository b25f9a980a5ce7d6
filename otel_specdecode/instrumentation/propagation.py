"""`traceparent` and `tracestate`, so that the server's own span becomes a child.

W3C trace context only: baggage may hold what a model server should never see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_specdecode.instrumentation.request_view import header_of

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from otel_specdecode.instrumentation.options import Options

_PROPAGATOR = TraceContextTextMapPropagator()


def trace_headers(
    headers: tuple[object, ...],
    address: str | None,
    options: Options,
    context: Context,
) -> dict[str, str]:
    """Return the headers to add to a request, none where the caller sent his own.

    An HTTP instrumentation overwrites them with those of its own, inner span.

    Args:
        headers: what the caller sends along, with the call or with the client.
        address: host of the request.
        options: whether, and not to which hosts.
        context: holds the span that is to be the parent.
    """
    if not options.propagate_trace or address in options.propagation_excluded_hosts:
        return {}
    if any(header_of(given, "traceparent") is not None for given in headers):
        return {}
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context=context)
    return carrier
