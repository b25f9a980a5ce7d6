"""One recorder for each pair of providers, so that nothing is registered twice."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from otel_specdecode.recording import GenAINames, Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

_lock = Lock()
_made: list[tuple[object, object, GenAINames, Recorder]] = []

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
        for tracer, meter, genai, recorder in _made:
            same = tracer is tracer_provider and meter is meter_provider
            if same and genai is genai_names:
                return recorder
        recorder = Recorder(tracer_provider, meter_provider, genai_names)
        _made.append((tracer_provider, meter_provider, genai_names, recorder))
        _keep_apart(meter_provider, recorder)
        return recorder


def keep_ours_apart(shared: MeterProvider, ours: Callable[[], MeterProvider]) -> None:
    """Record into a provider of our own wherever the global one is meant.

    Args:
        shared: the global provider.
        ours: returns the provider of this process, a new one in a forked child.
    """
    global _apart  # noqa: PLW0603 (the global provider is the process's too)
    with _lock:
        _apart = shared, ours
        for _, meter_provider, _, recorder in _made:
            _keep_apart(meter_provider, recorder)


def _keep_apart(meter_provider: object, recorder: Recorder) -> None:
    if _apart is None:
        return
    shared, ours = _apart
    if meter_provider is None or meter_provider is shared:
        recorder.use_meter_provider(ours())
        recorder.renew = ours
