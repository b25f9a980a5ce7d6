"""What of a chunk the model generated: text, reasoning, tool calls, and the like."""

from __future__ import annotations

from typing import Any

from otel_specdecode.instrumentation.findings import extras_of

# By name where the client's models declare it, since that is quick.
_DECLARED_CONTENT = ("tool_calls", "refusal", "function_call")
_UNDECLARED_CONTENT = (
    *("reasoning_content", "reasoning", "reasoning_details"),
    *("audio", "images"),
)


def has_content(choice: Any) -> bool:
    """Say whether a choice carries anything that the model generated."""
    if getattr(choice, "text", None):
        return True
    delta = getattr(choice, "delta", None)
    return bool(getattr(delta, "content", None)) or has_other_content(delta)


def has_other_content(delta: Any) -> bool:
    """Say whether a delta carries any of it that is no text."""
    if any(getattr(delta, name, None) for name in _DECLARED_CONTENT):
        return True
    extras = extras_of(delta)
    if extras and any(extras.get(name) for name in _UNDECLARED_CONTENT):
        return True
    # Declared from some release on, and slow to ask for in those before.
    declared = getattr(delta, "model_fields_set", None) or ()
    return "audio" in declared and bool(delta.audio)


def is_role_chunk(choice: Any, delta: Any) -> bool:
    """Say whether a chunk without content is the one that names the role."""
    return getattr(delta, "role", None) is not None and choice.finish_reason is None
