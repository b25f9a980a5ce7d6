"""`traceparent` and `tracestate`, so that the server's own span becomes a child.

W3C trace context only: baggage may hold what a model server should never see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_specdecode.instrumentation.request_view import has_header

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from otel_specdecode.instrumentation.client_view import ClientView
    from otel_specdecode.instrumentation.options import Options

PREPARE_REQUEST = "_prepare_request"
"""The one private name of openai that is hooked: a callback, made to be overridden,
that the client calls before each attempt. Without it retries are unknown."""
ADDS_HEADERS = "__otel_specdecode_adds_headers__"
"""Marks a form of that callback that adds headers to the request."""

_PROPAGATOR = TraceContextTextMapPropagator()
_TRACEPARENT = "traceparent"


def trace_headers(
    headers: object,
    client: ClientView,
    options: Options,
    context: Context,
) -> dict[str, str]:
    """Return the headers to add to a request, none where the caller decided.

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
    if has_header(headers, _TRACEPARENT):
        return {}
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context=context)
    return carrier


def adds_headers(client: Any) -> bool:
    """Say whether a client's callback adds headers to what is sent.

    That costs half of what headers in the client's options do. A subclass may have a
    callback of its own, which nobody hooked.
    """
    callback = getattr(client, PREPARE_REQUEST, None)
    return getattr(callback, ADDS_HEADERS, False)
