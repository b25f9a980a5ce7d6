"""Wire formats of inference servers, read into the model. One file a server."""

from __future__ import annotations

from otel_specdecode.servers.adapter import Payload, ServerAdapter
from otel_specdecode.servers.report import ADAPTERS, EngineReport, read_payload
from otel_specdecode.servers.vllm import VLLM

__all__ = [
    "ADAPTERS",
    "VLLM",
    "EngineReport",
    "Payload",
    "ServerAdapter",
    "read_payload",
]
