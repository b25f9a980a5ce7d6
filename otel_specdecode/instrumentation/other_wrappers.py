"""Who else has put hooks on the OpenAI client in this process?"""

from __future__ import annotations

import sys
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

# Where instrumentations patch, as public names; openai is looked at if it is loaded.
_PATCHED = (
    ("openai", "OpenAI", "request"),
    ("openai", "AsyncOpenAI", "request"),
    ("openai.resources.chat.completions", "Completions", "create"),
    ("openai.resources.chat.completions", "AsyncCompletions", "create"),
    ("openai.resources.completions", "Completions", "create"),
    ("openai.resources.completions", "AsyncCompletions", "create"),
    ("openai.resources.responses", "Responses", "create"),
    ("openai.resources.responses", "AsyncResponses", "create"),
)
_NOT_OTHERS = frozenset({"openai", "otel_specdecode"})
_MOST_LAYERS = 20
_SHOWN_PARTS = 3


def other_wrappers() -> tuple[str, ...]:
    """Return the modules whose wrappers lie around calls of the OpenAI client."""
    found: set[str] = set()
    for module, kind, method in _PATCHED:
        owner = getattr(sys.modules.get(module), kind, None)
        found.update(_layers(getattr(owner, method, None)))
    return tuple(sorted(found))


def other_instrumentors() -> tuple[str, ...]:
    """Return the OpenTelemetry instrumentors that are on, ours left out."""
    found: set[str] = set()
    pending: list[type] = [BaseInstrumentor]
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        # Not by calling it, which would make one where there is none.
        made = vars(kind).get("_instance")
        if getattr(made, "is_instrumented_by_opentelemetry", False):
            found.add(kind.__module__)
    return tuple(sorted(_shown(name) for name in found if _is_other(name)))


def _layers(function: Any) -> set[str]:
    """Return the modules of the wrappers round a function, from outside in."""
    found: set[str] = set()
    for _ in range(_MOST_LAYERS):
        if function is None:
            break
        module = _module_of(function)
        if module is not None and _is_other(module):
            found.add(_shown(module))
        function = getattr(function, "__wrapped__", None)
    return found


def _module_of(function: Any) -> str | None:
    """Return where a wrapper was written; `functools.wraps` lies about that."""
    # wrapt's proxies show the attributes of what they wrap, and these of their own.
    wrapper = getattr(function, "_self_wrapper", None)
    layer = function if wrapper is None else wrapper
    layer = getattr(layer, "__func__", layer)
    names = getattr(layer, "__globals__", None)
    module = None if names is None else names.get("__name__")
    return module if isinstance(module, str) else None


def _is_other(module: str) -> bool:
    return module.partition(".")[0] not in _NOT_OTHERS


def _shown(module: str) -> str:
    return ".".join(module.split(".")[:_SHOWN_PARTS])
