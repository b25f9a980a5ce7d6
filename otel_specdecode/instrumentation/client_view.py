"""What a client says of itself: host, port, provider. No HTTP library is imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    """

    base_url: str
    address: str | None
    port: int | None
    provider: str


def view_client(client: Any) -> ClientView:
    """Read where a client sends its requests."""
    url = client.base_url
    scheme, host, port = url.scheme, url.host, url.port
    azure = any(kind.__name__ == _AZURE for kind in type(client).__mro__)
    return ClientView(
        base_url=f"{scheme}://{host}:{port}{url.path}",
        address=host or None,
        port=port or _DEFAULT_PORTS.get(scheme),
        provider="azure.ai.openai" if azure else "openai",
    )
