"""What a client says of itself: host, port, provider. No HTTP library is imported."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from otel_specdecode.instrumentation.request_view import header_of

_AZURE = "BaseAzureClient"
HTTP_CLIENT = "_client"
"""Private to openai: the HTTP client, which may be the caller's own and have headers.
Without it those are not known."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientView:
    """Where a client sends its requests.

    Attributes:
        base_url: scheme, host, port and path, without credentials or query.
        address: host of the base URL; `None` when it has none.
        port: explicit, or that of the scheme; `None` when neither is known.
        provider: `azure.ai.openai` for Azure clients, else `openai`.
        sends_traceparent: whether the client, or its HTTP client, was made with such
            a header.
    """

    base_url: str
    address: str | None
    port: int | None
    provider: str
    sends_traceparent: bool = False


# A client builds its headers anew each time that it is asked for them. By identity:
# a subclass may compare by value, and then has no hash.
_views: dict[int, tuple[weakref.ref[Any], object, ClientView]] = {}


def view_client(client: Any) -> ClientView:
    """Read where a client sends its requests; looked up once for each base URL."""
    url = client.base_url
    key = id(client)
    known = _views.get(key)
    if known is not None:
        reference, its_url, view = known
        if its_url is url and reference() is client:
            return view
    view = _view(client, url)
    _views[key] = (weakref.ref(client, lambda _: _views.pop(key, None)), url, view)
    return view


def _authority(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"


def viewed_clients() -> list[Any]:
    """Return every client that is alive and was looked at."""
    found = (reference() for reference, _, _ in list(_views.values()))
    return [client for client in found if client is not None]


def _view(client: Any, url: Any) -> ClientView:
    scheme, host, port = url.scheme, url.host, url.port
    azure = any(kind.__name__ == _AZURE for kind in type(client).__mro__)
    return ClientView(
        base_url=f"{scheme}://{_authority(host, port)}{url.path}",
        address=host or None,
        port=port or _DEFAULT_PORTS.get(scheme),
        provider="azure.ai.openai" if azure else "openai",
        sends_traceparent=any(
            header_of(headers, "traceparent") is not None
            for headers in _default_headers(client)
        ),
    )


def _default_headers(client: Any) -> tuple[object, object]:
    """Return what goes along with every request, by the client and below it."""
    http_client = getattr(client, HTTP_CLIENT, None)
    return client.default_headers, getattr(http_client, "headers", None)
