"""What an adapter is: a name, a signature, and two pure functions over mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from otel_specdecode.model import Acceptance, ServerTiming

Payload = Mapping[str, object]
"""The root of a response or chunk as plain mappings, unknown fields included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAdapter:
    """Reads the statistics of one server's wire format.

    Attributes:
        name: the server, as it stands in `specdecode.engine`.
        matches: cheap test of keys that no other server sends.
        parse_acceptance: the counts, `None` where this response has none; raises
            `PayloadError` where they contradict themselves.
        parse_timing: the engine's own clock, `None` where it says nothing.
    """

    name: str
    matches: Callable[[Payload], bool]
    parse_acceptance: Callable[[Payload], Acceptance | None]
    parse_timing: Callable[[Payload], ServerTiming | None]
