"""Sets up the OpenTelemetry SDK and OTLP export, for programs that have none yet.

Needs the `otlp` extra.
"""

from __future__ import annotations

try:
    from otel_specdecode.otlp.setup import configure
    from otel_specdecode.otlp.telemetry import Telemetry
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"otel_specdecode.configure() needs the package {error.name!r};"
        " install it with: pip install 'otel-specdecode[otlp]'",
        name=error.name,
    ) from error

__all__ = ["Telemetry", "configure"]
