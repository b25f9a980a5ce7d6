"""What was measured, and the arithmetic. No clock, no I/O, standard library only."""

from __future__ import annotations

from otel_specdecode.model.acceptance import Acceptance, CountError, sum_acceptance
from otel_specdecode.model.arrivals import Arrivals, StreamTally
from otel_specdecode.model.call_site import ChunkCountSite
from otel_specdecode.model.chunking import classify_chunking
from otel_specdecode.model.gaps import GAP_BOUNDS_S, ChunkGaps, QuantileBounds
from otel_specdecode.model.kinds import (
    AcceptanceState,
    Chunking,
    FirstChunk,
    Outcome,
    UsageOrigin,
)
from otel_specdecode.model.latency import DecodeSpan, decode_span
from otel_specdecode.model.payoff import amortized_time_per_token_s, kappa, speed_up
from otel_specdecode.model.record import RequestRecord
from otel_specdecode.model.steps import (
    Bounds,
    decode_steps,
    step_coverage,
    tokens_per_step,
)
from otel_specdecode.model.totals import Totals
from otel_specdecode.model.usage import ServerTiming, Usage

__all__ = [
    "GAP_BOUNDS_S",
    "Acceptance",
    "AcceptanceState",
    "Arrivals",
    "Bounds",
    "ChunkCountSite",
    "ChunkGaps",
    "Chunking",
    "CountError",
    "DecodeSpan",
    "FirstChunk",
    "Outcome",
    "QuantileBounds",
    "RequestRecord",
    "ServerTiming",
    "StreamTally",
    "Totals",
    "Usage",
    "UsageOrigin",
    "amortized_time_per_token_s",
    "classify_chunking",
    "decode_span",
    "decode_steps",
    "kappa",
    "speed_up",
    "step_coverage",
    "sum_acceptance",
    "tokens_per_step",
]
