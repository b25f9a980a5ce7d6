"""Which chunk exists only because usage was asked for?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_specdecode.instrumentation.chunk_content import has_content
from otel_specdecode.instrumentation.findings import extras_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What rides along, and what every chunk and choice has; OpenAI pads each chunk with
# a string of its own length, which says nothing.
_OURS = frozenset(
    {
        *("metrics", "usage", "id", "object", "created", "model", "choices"),
        *("service_tier", "system_fingerprint", "obfuscation"),
    }
)
_OF_A_CHOICE = frozenset({"index", "delta", "text", "finish_reason", "logprobs"})


def brings_usage_alone(
    chunk: Any, choices: Any, *, as_ever: Mapping[str, object]
) -> bool:
    """Say whether a chunk brings no content, finish reason or foreign field.

    Args:
        chunk: of a chat or text completion.
        choices: those of it.
        as_ever: fields of somebody else that the first chunk had; the same again
            are nothing new.
    """
    if any(_brings_something(choice) for choice in choices or ()):
        return False
    return all(
        value is None or value == as_ever.get(name)
        for name, value in _foreign_fields(chunk)
    )


def _foreign_fields(chunk: Any) -> Iterable[tuple[str, object]]:
    """Yield what neither rides on usage nor is on every chunk.

    The client's models declare more from release to release, such as the results of
    OpenAI's moderation, which come on a chunk without a choice.
    """
    extras = extras_of(chunk) or {}
    declared = getattr(chunk, "model_fields_set", None) or ()
    for name in {*extras, *declared} - _OURS:
        yield name, extras[name] if name in extras else getattr(chunk, name, None)


def _brings_something(choice: Any) -> bool:
    if choice.finish_reason is not None or has_content(choice):
        return True
    extras = extras_of(choice) or {}
    return any(extras[name] is not None for name in extras.keys() - _OF_A_CHOICE)
