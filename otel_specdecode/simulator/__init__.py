"""An embedded, vLLM-shaped server that speculates, for tests, demos and examples.

`simulate(profile)` serves on a loopback port, `Responder` and `respond` answer
without a network, and `ledger` is the exact truth about what was generated.
"""

from __future__ import annotations

from otel_specdecode.simulator._faults import ConnectionDropped
from otel_specdecode.simulator.ledger import Entry, Ledger, Totals
from otel_specdecode.simulator.profile import (
    PayloadLevel,
    Profile,
    Speculation,
    StepTime,
    UsagePlacement,
)
from otel_specdecode.simulator.profiles import PROFILES, named_profile
from otel_specdecode.simulator.responder import Responder, Response, respond

try:
    from otel_specdecode.simulator.server import Simulator, serve, simulate
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"otel_specdecode.simulator needs the package {error.name!r};"
        " install it with: pip install 'otel-specdecode[simulator]'",
        name=error.name,
    ) from error

__all__ = [
    "PROFILES",
    "ConnectionDropped",
    "Entry",
    "Ledger",
    "PayloadLevel",
    "Profile",
    "Responder",
    "Response",
    "Simulator",
    "Speculation",
    "StepTime",
    "Totals",
    "UsagePlacement",
    "named_profile",
    "respond",
    "serve",
    "simulate",
]
