"""One recorder for each pair of providers, so that nothing is registered twice.

Providers are not kept alive: a process may make and drop many, as tests do.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from opentelemetry import metrics

from otel_specdecode.recording import GenAINames, Metering, Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    Found = Callable[[], object]

# In the place of the global provider, whichever that is by then.
_GLOBAL = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metered:
    """What is counted with one meter provider.

    Attributes:
        meter_provider: finds it; `None` when it is gone.
        metering: its sums and instruments.
    """

    meter_provider: Found
    metering: Metering


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A recorder, and what it was asked for with.

    Attributes:
        tracer_provider: finds it; `None` when it is gone.
        meter_provider: finds it; `None` when it is gone.
        genai_names: names of the standard GenAI metrics.
        recorder: what was made of them.
    """

    tracer_provider: Found
    meter_provider: Found
    genai_names: GenAINames
    recorder: Recorder

    @property
    def is_alive(self) -> bool:
        """Whether both providers are there still."""
        return self.tracer_provider() is not None and self.meter_provider() is not None

    def is_for(self, tracer: object, meter: object, genai_names: GenAINames) -> bool:
        """Say whether it was asked for with these; `None` is the global provider."""
        return (
            _given(self.tracer_provider()) is tracer
            and _given(self.meter_provider()) is meter
            and self.genai_names is genai_names
        )


_lock = Lock()
_metered: list[_Metered] = []
_made: list[_Made] = []

# What `configure` set up: the global provider, and how to get the one of our metrics.
_apart: tuple[object, Callable[[], MeterProvider]] | None = None


def recorder_for(
    tracer_provider: TracerProvider | None,
    meter_provider: MeterProvider | None,
    genai_names: GenAINames,
) -> Recorder:
    """Return the recorder of these providers, made when first asked for.

    Args:
        tracer_provider: `None` for the global one.
        meter_provider: `None` for the global one.
        genai_names: names of the standard GenAI metrics.
    """
    with _lock:
        _forget_dead()
        for made in _made:
            if made.is_for(tracer_provider, meter_provider, genai_names):
                return made.recorder
        recorder = Recorder(tracer_provider, _metering_of(meter_provider), genai_names)
        _made.append(
            _Made(
                tracer_provider=_finding(tracer_provider),
                meter_provider=_finding(meter_provider),
                genai_names=genai_names,
                recorder=recorder,
            )
        )
        return recorder


def providers_in_demand() -> list[tuple[object, object]]:
    """Return the providers of each recorder, as asked for; `None` is the global one."""
    with _lock:
        _forget_dead()
        pairs = [(made.tracer_provider(), made.meter_provider()) for made in _made]
    return [(_given(tracer), _given(meter)) for tracer, meter in pairs]


def meterings_in_use() -> list[Metering]:
    """Return what is counted, once for each meter provider."""
    with _lock:
        _forget_dead()
        return [metered.metering for metered in _metered]


def keep_ours_apart(shared: MeterProvider, ours: Callable[[], MeterProvider]) -> None:
    """Record into a provider of our own wherever the global one is meant.

    Args:
        shared: the global provider.
        ours: returns the provider of this process, a new one in a forked child.
    """
    global _apart  # noqa: PLW0603 (the global provider is the process's too)
    with _lock:
        _apart = shared, ours
        for metered in _metered:
            _keep_apart(metered)


def _keep_apart(metered: _Metered) -> None:
    if _apart is None:
        return
    shared, ours = _apart
    if metered.meter_provider() in (_GLOBAL, shared):
        metered.metering.use_meter_provider(ours())
        metered.metering.renew = ours


def _metering_of(meter_provider: MeterProvider | None) -> Metering:
    """Return the sums of a provider; the global one has the same under `None`."""
    meant = _meant(meter_provider)
    for metered in _metered:
        if _meant(_given(metered.meter_provider())) is meant:
            return metered.metering
    metering = Metering(meter_provider)
    metered = _Metered(meter_provider=_finding(meter_provider), metering=metering)
    _metered.append(metered)
    _keep_apart(metered)
    return metering


def _meant(meter_provider: object) -> object:
    return metrics.get_meter_provider() if meter_provider is None else meter_provider


def _finding(provider: object) -> Found:
    """Return what finds a provider without keeping it alive."""
    if provider is None:
        return lambda: _GLOBAL
    try:
        return weakref.ref(provider)
    except TypeError:
        # One with slots, say. It stays.
        return lambda: provider


def _given(found: object) -> object:
    return None if found is _GLOBAL else found


def _forget_dead() -> None:
    # Here and not when a provider dies: that may be inside the garbage collector.
    _made[:] = [made for made in _made if made.is_alive]
    _metered[:] = [one for one in _metered if one.meter_provider() is not None]
