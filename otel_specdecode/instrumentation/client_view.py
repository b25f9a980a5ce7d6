"""What a client says of itself: host, port, provider. No HTTP library is imported."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from otel_specdecode.instrumentation.request_view import header_of

_AZURE = "BaseAzureClient"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientView:
    """Where a client sends its requests.

    Attributes:
        base_url: scheme, host, port and path, without credentials or query.
        address: host of the base URL; `None` when it has none.
        port: explicit, or that of the scheme; `None` when neither is known.
        provider: `azure.ai.openai` for Azure clients, else `openai`.
        sends_traceparent: whether the client was made with such a header.
    """

    base_url: str
    address: str | None
    port: int | None
    provider: str
    sends_traceparent: bool = False


# A client builds its headers anew each time that it is asked for them.
_views: weakref.WeakKeyDictionary[Any, tuple[object, ClientView]] = (
    weakref.WeakKeyDictionary()
)


def view_client(client: Any) -> ClientView:
    """Read where a client sends its requests; looked up once for each base URL."""
    url = client.base_url
    known = _views.get(client)
    if known is not None and known[0] is url:
        return known[1]
    view = _view(client, url)
    _views[client] = (url, view)
    return view


def _view(client: Any, url: Any) -> ClientView:
    scheme, host, port = url.scheme, url.host, url.port
    azure = any(kind.__name__ == _AZURE for kind in type(client).__mro__)
    return ClientView(
        base_url=f"{scheme}://{host}:{port}{url.path}",
        address=host or None,
        port=port or _DEFAULT_PORTS.get(scheme),
        provider="azure.ai.openai" if azure else "openai",
        sends_traceparent=header_of(client.default_headers, "traceparent") is not None,
    )
