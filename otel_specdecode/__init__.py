"""OpenTelemetry for OpenAI clients whose server speculates.

    client = otel_specdecode.wrap(OpenAI())

A streamed chunk is not a token: this package asks for the true numbers, keeps the
chunk that carries them from the caller, and records them. Names load when they are
first used, so that importing this imports neither openai nor the OpenTelemetry SDK.
"""

from __future__ import annotations

from importlib import import_module

# Type checkers know it by its name; importing `typing` for it would be a third of what
# `otel-specdecode lint --help` takes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from otel_specdecode.errors import (
        ChunkCountWarning,
        ConfigError,
        PayloadError,
        SpecDecodeError,
    )
    from otel_specdecode.instrumentation import (
        SpecDecodeInstrumentor,
        capture,
        diagnose,
        observe_sse,
        record_from,
        record_of,
        tag,
        wrap,
    )
    from otel_specdecode.model import RequestRecord, Totals
    from otel_specdecode.otlp import configure

__all__ = [
    "ChunkCountWarning",
    "ConfigError",
    "PayloadError",
    "RequestRecord",
    "SpecDecodeError",
    "SpecDecodeInstrumentor",
    "Totals",
    "capture",
    "configure",
    "diagnose",
    "observe_sse",
    "record_from",
    "record_of",
    "tag",
    "wrap",
]

_HOMES = {
    "ChunkCountWarning": "otel_specdecode.errors",
    "ConfigError": "otel_specdecode.errors",
    "PayloadError": "otel_specdecode.errors",
    "RequestRecord": "otel_specdecode.model",
    "SpecDecodeError": "otel_specdecode.errors",
    "SpecDecodeInstrumentor": "otel_specdecode.instrumentation",
    "Totals": "otel_specdecode.model",
    "capture": "otel_specdecode.instrumentation",
    "configure": "otel_specdecode.otlp",
    "diagnose": "otel_specdecode.instrumentation",
    "observe_sse": "otel_specdecode.instrumentation",
    "record_from": "otel_specdecode.instrumentation",
    "record_of": "otel_specdecode.instrumentation",
    "tag": "otel_specdecode.instrumentation",
    "wrap": "otel_specdecode.instrumentation",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
