"""Which `OTEL_*` variables are set, which of them are wrong, and what may be shown.

Only values of variables that cannot hold a secret are shown; headers, certificates
and whatever is not known here are said to be set, and no more.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from otel_specdecode.cli._server_address import one_line, shown_url
from otel_specdecode.errors import ConfigError
from otel_specdecode.instrumentation import Options
from otel_specdecode.instrumentation._guard import RERAISE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

OURS = "OTEL_SPECDECODE_"
PROTOCOLS = ("grpc", "http/protobuf")
_PREFIX = "OTEL_"
_LONGEST = 60

_PROTOCOL = re.compile(r"OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?PROTOCOL")
_ENDPOINT = re.compile(r"OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?ENDPOINT")
_NUMBER = re.compile(r"OTEL_\w+_(?:INTERVAL|TIMEOUT|LIMIT|DELAY|SIZE)")
_BOOLEAN = re.compile(r"OTEL_SDK_DISABLED|OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?INSECURE")
# Words of the specification, which hold no secret.
_WORDS = re.compile(
    r"OTEL_(?:[A-Z]+_EXPORTER|SERVICE_NAME|TRACES_SAMPLER(?:_ARG)?|PROPAGATORS"
    r"|LOG_LEVEL|PYTHON_DISABLED_INSTRUMENTATIONS|PYTHON_DISTRO|PYTHON_CONFIGURATOR"
    r"|EXPORTER_OTLP_(?:[A-Z]+_)?COMPRESSION|METRICS_EXEMPLAR_FILTER"
    r"|SEMCONV_STABILITY_OPT_IN"
    r"|EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable that is set.

    Attributes:
        name: of the variable.
        value: for people; `None` when it is not to be shown.
        problem: what is wrong with it; `None` when nothing is.
        unknown: whether it is one of ours by its prefix, and does nothing.
    """

    name: str
    value: str | None
    problem: str | None = None
    unknown: bool = False


def set_variables(environ: Mapping[str, str]) -> tuple[Variable, ...]:
    """Return every `OTEL_*` variable with a value, by name."""
    names = sorted(n for n in environ if n.startswith(_PREFIX) and environ[n].strip())
    return tuple(
        _own(name, environ[name]) if name.startswith(OURS) else _standard(name, environ)
        for name in names
    )


def _own(name: str, value: str) -> Variable:
    known = {OURS + field.name.upper() for field in fields(Options)}
    if name == RERAISE_VARIABLE:
        return Variable(
            name=name,
            value=_cut(value),
            problem="is for our own tests: failures of ours reach the caller"
            if value == "true"
            else None,
        )
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"; {near[0]} is meant, perhaps" if near else ""
        return Variable(
            name=name, value=None, problem=f"is no option of ours{meant}", unknown=True
        )
    try:
        Options.of({}, {name: value})
    except ConfigError as error:
        problem = str(error).removeprefix(f"{name}: ")
        return Variable(name=name, value=_cut(value), problem=problem)
    return Variable(name=name, value=_cut(value))


def _standard(name: str, environ: Mapping[str, str]) -> Variable:
    value = environ[name].strip()
    if _ENDPOINT.fullmatch(name):
        return Variable(
            name=name,
            value=_cut(shown_url(value)),
            problem=_endpoint_problem(name, value, environ),
        )
    if _PROTOCOL.fullmatch(name):
        wrong = value not in PROTOCOLS
        problem = f"expected {' or '.join(PROTOCOLS)}, got {_cut(value)!r}"
        return Variable(
            name=name, value=_cut(value), problem=problem if wrong else None
        )
    if _NUMBER.fullmatch(name):
        number = re.fullmatch(r"\d+(?:\.\d+)?", value)
        problem = None if number else f"expected a number, got {_cut(value)!r}"
        return Variable(name=name, value=_cut(value), problem=problem)
    if _BOOLEAN.fullmatch(name):
        known = value.lower() in {"true", "false"}
        problem = None if known else f"expected true or false, got {_cut(value)!r}"
        return Variable(name=name, value=_cut(value), problem=problem)
    return Variable(name=name, value=_cut(value) if _WORDS.fullmatch(name) else None)


def _endpoint_problem(name: str, value: str, environ: Mapping[str, str]) -> str | None:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return "expected a URL such as http://localhost:4317"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        # Without a scheme only gRPC can make something of it.
        return "expected a URL such as http://localhost:4317"
    signal = name.removeprefix("OTEL_EXPORTER_OTLP_").removesuffix("ENDPOINT")
    protocol = protocol_of(signal.rstrip("_"), environ)
    if (protocol, port) in {("grpc", 4318), ("http/protobuf", 4317)}:
        other = "http/protobuf" if protocol == "grpc" else "grpc"
        return f"port {port} is the one of {other}, and the protocol is {protocol}"
    return None


def protocol_of(signal: str, environ: Mapping[str, str]) -> str:
    """Return the OTLP protocol of `TRACES` or `METRICS`, or of all for no name."""
    specific = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "").strip()
    general = environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip()
    return specific or general or PROTOCOLS[0]


def _cut(value: str) -> str:
    return one_line(value, _LONGEST)
