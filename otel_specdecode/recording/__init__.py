"""The model as OpenTelemetry spans and metrics."""

from __future__ import annotations

from otel_specdecode.recording.instruments import StandardMetrics
from otel_specdecode.recording.metering import Metering
from otel_specdecode.recording.recorder import Recorder
from otel_specdecode.recording.semconv import SCOPE, GenAINames

__all__ = ["SCOPE", "GenAINames", "Metering", "Recorder", "StandardMetrics"]
