"""Which server answered, and what it says of its own work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.errors import PayloadError
from otel_specdecode.model import Acceptance, ServerTiming
from otel_specdecode.servers.vllm import VLLM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_specdecode.servers.adapter import Payload, ServerAdapter

ADAPTERS: tuple[ServerAdapter, ...] = (VLLM,)
"""Every adapter. Their signatures are disjoint, so the order decides nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """What an adapter read from one payload.

    Attributes:
        engine: name of the adapter that recognised it.
        acceptance: the counts; `None` when there are none or they are malformed.
        timing: the engine's own clock; `None` where it says nothing.
        malformed: why the counts cannot be used; `None` when they can.
    """

    engine: str
    acceptance: Acceptance | None
    timing: ServerTiming | None
    malformed: PayloadError | None = None


def read_payload(
    payload: Payload, adapters: Sequence[ServerAdapter] = ADAPTERS
) -> EngineReport | None:
    """Read the statistics in a response or chunk.

    Args:
        payload: its root as plain mappings.
        adapters: those to ask.

    Returns:
        `None` when no adapter recognises it.
    """
    for adapter in adapters:
        if adapter.matches(payload):
            return _read(adapter, payload)
    return None


def _read(adapter: ServerAdapter, payload: Payload) -> EngineReport:
    acceptance, malformed = None, None
    try:
        acceptance = adapter.parse_acceptance(payload)
    except PayloadError as error:
        malformed = error
    return EngineReport(
        engine=adapter.name,
        acceptance=acceptance,
        timing=adapter.parse_timing(payload),
        malformed=malformed,
    )
