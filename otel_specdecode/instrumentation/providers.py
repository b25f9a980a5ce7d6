"""Do spans and metrics leave this process, and if not, why?

The OpenTelemetry API works without an SDK and then throws everything away, silently:
the commonest reason for telemetry that never arrives.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from opentelemetry import metrics, trace

from otel_specdecode.instrumentation.recorders import providers_in_demand

# The API's own, and what stands in for a provider that nobody has set yet.
_NO_OP = frozenset(
    {
        "ProxyTracerProvider",
        "NoOpTracerProvider",
        "_ProxyMeterProvider",
        "NoOpMeterProvider",
    }
)
# Where the SDK keeps what its providers hand over to. Private, and so only read to
# explain: a name that is not there leaves the answer unknown. Older SDKs have
# the readers in their configuration alone.
_OUTLETS = {
    "traces": (("_active_span_processor", "_span_processors"),),
    "metrics": (("_metric_readers",), ("_sdk_config", "metric_readers")),
}


class Signal(StrEnum):
    """What a provider is of."""

    TRACES = "traces"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """One provider that requests are recorded with.

    Attributes:
        signal: what it is of.
        kind: its class, with the module.
        is_global: whether it is the process's and not one that was passed.
        hands_over: whether it has a span processor or metric reader; `None` when
            that cannot be told.
        problem: why nothing leaves it, in words; `None` when it may.
    """

    signal: Signal
    kind: str
    is_global: bool
    hands_over: bool | None
    problem: str | None


def providers_in_use() -> tuple[ProviderState, ...]:
    """Return each provider of each recorder once; the global ones where none is."""
    asked = providers_in_demand()
    traces = [tracer for tracer, _ in asked] or [None]
    meters = [meter for _, meter in asked] or [None]
    return (
        *_distinct(Signal.TRACES, traces, trace.get_tracer_provider()),
        *_distinct(Signal.METRICS, meters, metrics.get_meter_provider()),
    )


def _distinct(
    signal: Signal, given: list[object], shared: object
) -> list[ProviderState]:
    seen = {id(one or shared): one or shared for one in given}
    return [_describe(signal, one, shared) for one in seen.values()]


def _describe(signal: Signal, provider: Any, shared: object) -> ProviderState:
    kind: type = provider.__class__
    found = [_follow(provider, names) for names in _OUTLETS[signal]]
    known = [outlets for outlets in found if outlets is not None]
    hands_over = any(map(bool, known)) if known else None
    return ProviderState(
        signal=signal,
        kind=f"{kind.__module__}.{kind.__qualname__}",
        is_global=provider is shared,
        hands_over=hands_over,
        problem=_problem(signal, provider, hands_over=hands_over),
    )


def _follow(value: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        value = getattr(value, name, None)
    return value


def _problem(signal: Signal, provider: Any, *, hands_over: bool | None) -> str | None:
    if type(provider).__name__ in _NO_OP:
        return (
            "No SDK is set up: the API's own no-op provider takes everything and keeps"
            " nothing. Call otel_specdecode.configure(), run under"
            " opentelemetry-instrument, or set a provider."
        )
    if getattr(provider, "_disabled", False) is True:
        return "OTEL_SDK_DISABLED turns the SDK off, so nothing leaves it."
    if hands_over is False:
        wanted = "span processor" if signal is Signal.TRACES else "metric reader"
        return f"The provider of {signal} has no {wanted}, so nothing is exported."
    return None
