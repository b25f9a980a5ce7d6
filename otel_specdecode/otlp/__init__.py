"""Sets up the OpenTelemetry SDK and OTLP export, for programs that have none yet.

Needs the `otlp` extra.
"""

from __future__ import annotations

from otel_specdecode.otlp.setup import configure
from otel_specdecode.otlp.telemetry import Telemetry

__all__ = ["Telemetry", "configure"]
