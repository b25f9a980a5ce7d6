"""The options of the instrumentation: keywords, or `OTEL_SPECDECODE_*` variables."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.errors import ConfigError
from otel_specdecode.recording import GenAINames
from otel_specdecode.recording.exportable import exportable_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "OTEL_SPECDECODE_"
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


class UsagePolicy(StrEnum):
    """On which streams `stream_options.include_usage` is asked for."""

    ALWAYS = "always"
    """On every stream, an explicit `False` of the caller included."""
    UNSET = "unset"
    """On every stream whose caller did not set it to `False`."""
    NEVER = "never"
    """On none; what the caller asks for is read all the same."""


class RawUsagePolicy(StrEnum):
    """Whether usage is asked for where the caller reads bytes or lines."""

    NEVER = "never"
    FORCE = "force"
    """The caller sees the usage event among the lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the instrumentation may do. The defaults change nothing a caller sees.

    Attributes:
        usage: on which streams usage is asked for.
        raw_usage: the same for `with_streaming_response`.
        hide_usage_chunk: keep the chunk that only we asked for from the caller.
            False for servers that send usage unasked.
        continuous_usage: also ask vLLM for usage on every chunk, so that the
            tokens of the first chunk are counted; the caller sees it.
        token_ids: also ask vLLM for token ids, to the same end; seen as well.
        propagate_trace: send `traceparent` and `tracestate` along.
        propagation_excluded_hosts: hosts that get neither, without port.
        provider_name: `gen_ai.provider.name`; `None` for `azure.ai.openai` on
            Azure clients and `openai` on all others.
        time_per_output_chunk: record one value a chunk, which costs.
        genai_names: names of the standard GenAI metrics.
        chunk_count_check: look for rates derived from chunks at call sites.
    """

    usage: UsagePolicy = UsagePolicy.ALWAYS
    raw_usage: RawUsagePolicy = RawUsagePolicy.NEVER
    hide_usage_chunk: bool = True
    continuous_usage: bool = False
    token_ids: bool = False
    propagate_trace: bool = True
    propagation_excluded_hosts: tuple[str, ...] = ()
    provider_name: str | None = None
    time_per_output_chunk: bool = False
    genai_names: GenAINames = GenAINames.PUBLISHED
    chunk_count_check: bool = True

    @classmethod
    def of(
        cls, keywords: Mapping[str, object], environ: Mapping[str, str] = os.environ
    ) -> Options:
        """Take each option from its keyword, else from its variable.

        Args:
            keywords: option by name; `None` counts as not given.
            environ: the variables; `OTEL_SPECDECODE_USAGE` for `usage`.

        Raises:
            ConfigError: a name or value that is not known.
        """
        known = {field.name: field.default for field in fields(cls)}
        unknown = sorted(set(keywords) - set(known))
        if unknown:
            raise ConfigError(
                f"expected options out of {', '.join(known)}, got {', '.join(unknown)}"
            )
        chosen: dict[str, Any] = {}
        for name, default in known.items():
            variable = _PREFIX + name.upper()
            if keywords.get(name) is not None:
                chosen[name] = _coerce(name, keywords[name], default)
            elif environ.get(variable):
                chosen[name] = _coerce(variable, environ[variable], default)
        return cls(**chosen)


def _coerce(name: str, value: object, default: object) -> object:
    if isinstance(default, bool):
        return _as_bool(name, value)
    if isinstance(default, StrEnum):
        return _as_member(name, value, type(default))
    if isinstance(default, tuple):
        return _as_hosts(name, value)
    if not isinstance(value, str):
        raise ConfigError(f"{name}: expected a string, got {type(value).__name__}")
    return exportable_text(value)


def _as_bool(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else None
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ConfigError(f"{name}: expected true or false, got {value!r}")


def _as_member(name: str, value: object, kind: type[StrEnum]) -> StrEnum:
    try:
        return kind(value.strip().lower() if isinstance(value, str) else value)
    except ValueError:
        expected = ", ".join(member.value for member in kind)
        raise ConfigError(
            f"{name}: expected one of {expected}, got {value!r}"
        ) from None


def _as_hosts(name: str, value: object) -> tuple[str, ...]:
    parts: Collection[object] | None = None
    if isinstance(value, str):
        parts = value.split(",")
    elif isinstance(value, Collection):
        parts = cast("Collection[object]", value)
    if parts is None or not all(isinstance(part, str) for part in parts):
        raise ConfigError(
            f"{name}: expected host names, or one string with commas, got {value!r}"
        )
    hosts = (_as_host(name, str(part).strip()) for part in parts)
    return tuple(host for host in hosts if host)


def _as_host(name: str, text: str) -> str:
    """Return a host as a base URL's is compared: in any case, without brackets."""
    host = text.removeprefix("[").removesuffix("]").lower()
    # A host of IPv6 has two colons at least, one with a port exactly one.
    if "/" in host or "]" in host or host.count(":") == 1:
        raise ConfigError(
            f"{name}: expected hosts without scheme, port and path, got {text!r}"
        )
    return host
