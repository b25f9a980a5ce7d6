"""Servers that refuse `stream_options`: recognised, remembered for a while.

Source: the refusals seen on Azure, relays, Azure AI Foundry and pydantic servers;
https://github.com/BerriAI/litellm/issues/11696
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any, cast

from otel_specdecode.instrumentation._guard import warn

REMEMBER_S = 3600.0
"""How long a refusal is remembered. Servers are upgraded."""

_FIELDS = ("stream_options", "include_usage", "continuous_usage_stats")
# Validation errors echo the request; our option in an echo refuses nothing.
_ECHO_KEYS = frozenset({"input", "body", "ctx", "request", "url"})
_ECHO = re.compile(r"""['"]?(?:input|input_value)['"]?\s*[:=]\s*""")
_MOST_NODES = 500
_MOST_ENTRIES = 1000


class Refusals:
    """Which (base URL, model) refused the option, and until when that holds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._until: dict[tuple[str, str | None], float] = {}

    def holds(self, base_url: str, model: str | None, now: float) -> bool:
        """Say whether asking again would be refused again."""
        until = self._until.get((base_url, model))
        return until is not None and now < until

    def remembered(self, now: float) -> list[tuple[str, str | None, float]]:
        """Return base URL, model and seconds left of every refusal that holds."""
        with self._lock:
            entries = list(self._until.items())
        return [(*key, until - now) for key, until in entries if now < until]

    def remember(self, base_url: str, model: str | None, now: float) -> None:
        """Note a refusal whose second try worked, and log it once."""
        key = (base_url, model)
        with self._lock:
            first = key not in self._until
            if len(self._until) >= _MOST_ENTRIES:
                self._until.clear()
            self._until[key] = now + REMEMBER_S
        if first:
            warn(
                "The server refuses stream_options for model %s, so its streams carry"
                " no usage: tokens and acceptance stay unknown there."
                " Asked again in an hour.",
                model,
            )


def is_refusal(error: BaseException) -> bool:
    """Say whether a client error is a server's refusal of `stream_options`.

    True for an error status whose structured `param` or `loc`, or whose message,
    names the option. An echo of the request in the message does not count. A 5xx is
    one too: a server that falls over an argument that it does not know answers so.
    """
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not 400 <= status < 600:
        return False
    body = getattr(error, "body", None)
    return any(_names_option(text) for text in _texts(body))


def _texts(node: Any) -> Iterator[str]:
    """Yield the strings of an error body, echoes of the request left out."""
    pending: list[Any] = [node]
    for _ in range(_MOST_NODES):
        if not pending:
            return
        node = pending.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, Mapping):
            fields = cast("Mapping[object, object]", node)
            pending.extend(v for k, v in fields.items() if k not in _ECHO_KEYS)
        elif isinstance(node, list | tuple):
            pending.extend(cast("list[object]", node))


def _names_option(text: str) -> bool:
    return any(field in _without_echoes(text) for field in _FIELDS)


def _without_echoes(text: str) -> str:
    kept: list[str] = []
    position = 0
    while (echo := _ECHO.search(text, position)) is not None:
        kept.append(text[position : echo.start()])
        position = _end_of_value(text, echo.end())
    kept.append(text[position:])
    return "".join(kept)


def _end_of_value(text: str, start: int) -> int:
    """Return where a bracketed value ends; without brackets, where its word does."""
    depth = 0
    for position in range(start, len(text)):
        character = text[position]
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        if depth <= 0 and character in "}]),":
            return position + 1
    return len(text)
