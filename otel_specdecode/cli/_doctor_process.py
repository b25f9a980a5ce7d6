"""What would this environment do: packages, instrumentors, and where telemetry goes."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from urllib.parse import urlsplit

from opentelemetry.instrumentation.dependencies import get_dependency_conflicts

from otel_specdecode.cli._doctor_http import within
from otel_specdecode.cli._doctor_variables import (
    Variable,
    protocol_of,
    set_variables,
)
from otel_specdecode.cli._server_address import shown_url
from otel_specdecode.instrumentation import SpecDecodeInstrumentor

PACKAGES = (
    "otel-specdecode",
    "openai",
    "opentelemetry-api",
    "opentelemetry-sdk",
    "opentelemetry-exporter-otlp-proto-grpc",
    "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry-distro",
)
_GROUP = "opentelemetry_instrumentor"
_SIGNALS = ("traces", "metrics")
_DEFAULT_ENDPOINTS = {
    "grpc": "http://localhost:4317",
    "http/protobuf": "http://localhost:4318",
}
_LONGEST_CONNECT_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrumentor:
    """One entry point that `opentelemetry-instrument` would load.

    Attributes:
        name: of the entry point.
        distribution: the package that it comes from.
        version: of that package.
        ours: whether it is this package's.
        disabled: whether a variable keeps it from being loaded.
    """

    name: str
    distribution: str
    version: str
    ours: bool
    disabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlet:
    """Where one signal would go.

    Attributes:
        signal: `traces` or `metrics`.
        exporter: what the variables choose; `otlp` by default.
        protocol: of OTLP.
        endpoint: for people, without credentials.
        is_default: whether no variable names the endpoint.
        reachable: whether something listens there; `None` when it was not tried.
    """

    signal: str
    exporter: str
    protocol: str
    endpoint: str
    is_default: bool
    reachable: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """What a program started with this Python and these variables would find.

    Attributes:
        python: version of the interpreter.
        packages: version by name; `None` where one is not installed.
        openai_conflict: why the openai that is installed is not supported; `None`
            when it is, or when there is none.
        instrumentors: entry points, ours first.
        variables: `OTEL_*` that are set.
        sdk_disabled: whether a variable turns the SDK off.
        has_base_url: whether `OPENAI_BASE_URL` names a server.
        outlets: where telemetry would go, one a signal.
    """

    python: str
    packages: Mapping[str, str | None]
    openai_conflict: str | None
    instrumentors: tuple[Instrumentor, ...]
    variables: tuple[Variable, ...]
    sdk_disabled: bool
    has_base_url: bool
    outlets: tuple[Outlet, ...]


def examine_process(environ: Mapping[str, str], timeout_s: float) -> ProcessReport:
    """Look at this interpreter, its packages and variables.

    Args:
        environ: the variables.
        timeout_s: the longest that one try to connect takes, seconds.
    """
    packages = {name: _installed(name) for name in PACKAGES}
    return ProcessReport(
        python=platform.python_version(),
        packages=packages,
        openai_conflict=_conflict() if packages["openai"] else None,
        instrumentors=_instrumentors(environ),
        variables=set_variables(environ),
        sdk_disabled=environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true",
        has_base_url=bool(environ.get("OPENAI_BASE_URL")),
        outlets=_outlets(environ, min(timeout_s, _LONGEST_CONNECT_S)),
    )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _conflict() -> str | None:
    wanted = SpecDecodeInstrumentor().instrumentation_dependencies()
    conflict = get_dependency_conflicts(wanted)
    if conflict is None:
        return None
    return f"expected {conflict.required}, found {conflict.found}"


def _instrumentors(environ: Mapping[str, str]) -> tuple[Instrumentor, ...]:
    named = environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(",")
    disabled = {name.strip() for name in named}
    found = {
        Instrumentor(
            name=entry.name,
            distribution="unknown" if entry.dist is None else entry.dist.name,
            version="unknown" if entry.dist is None else entry.dist.version,
            ours=entry.value.partition(".")[0] == "otel_specdecode",
            disabled=entry.name in disabled or "*" in disabled,
        )
        for entry in entry_points(group=_GROUP)
    }
    return tuple(sorted(found, key=lambda one: (not one.ours, one.name)))


def _outlets(environ: Mapping[str, str], timeout_s: float) -> tuple[Outlet, ...]:
    @cache  # most often both signals go to one place
    def is_reachable(endpoint: str) -> bool:
        return bool(within(timeout_s, lambda: _listens(endpoint, timeout_s)))

    return tuple(_outlet(signal, environ, is_reachable) for signal in _SIGNALS)


def _outlet(
    signal: str, environ: Mapping[str, str], is_reachable: Callable[[str], bool]
) -> Outlet:
    upper = signal.upper()
    exporter = environ.get(f"OTEL_{upper}_EXPORTER", "").strip() or "otlp"
    protocol = protocol_of(upper, environ)
    given = (
        environ.get(f"OTEL_EXPORTER_OTLP_{upper}_ENDPOINT", "").strip()
        or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    )
    endpoint = given or _DEFAULT_ENDPOINTS.get(protocol, _DEFAULT_ENDPOINTS["grpc"])
    return Outlet(
        signal=signal,
        exporter=exporter,
        protocol=protocol,
        endpoint=shown_url(endpoint),
        is_default=not given,
        reachable=is_reachable(endpoint) if exporter.startswith("otlp") else None,
    )


def _listens(endpoint: str, timeout_s: float) -> bool:
    """Say whether a connection can be made; nothing is sent over it."""
    try:
        parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout_s):
            return True
    except (OSError, ValueError):
        return False
