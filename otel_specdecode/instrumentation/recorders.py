"""One recorder for each pair of providers, so that nothing is registered twice."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from otel_specdecode.recording import GenAINames, Recorder

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

_lock = Lock()
_made: list[tuple[object, object, GenAINames, Recorder]] = []


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
        return recorder


def recorders() -> list[Recorder]:
    """Return every recorder of this process."""
    with _lock:
        return [recorder for *_, recorder in _made]
