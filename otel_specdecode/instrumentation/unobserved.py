"""Streams that could not be observed, for a fault of ours.

Usage was asked for in the caller's name by then, so the chunk that exists for it
alone is still kept from a caller who would trip over `chunk.choices[0]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_specdecode.model import UsageOrigin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from otel_specdecode.instrumentation.observation import Observation


def unobserved(chunks: Iterator[Any], observation: Observation | None) -> Iterator[Any]:
    """Return the chunks of a stream as their caller expects them."""
    return _spared(chunks) if _give_up(observation) else chunks


def unobserved_async(
    chunks: AsyncIterator[Any], observation: Observation | None
) -> AsyncIterator[Any]:
    """Return the same of an asynchronous stream."""
    return _spared_async(chunks) if _give_up(observation) else chunks


def is_bare_usage(chunk: Any) -> bool:
    """Say whether a chunk carries usage and no choice."""
    choices = getattr(chunk, "choices", None)
    return choices == [] and getattr(chunk, "usage", None) is not None


def _give_up(observation: Observation | None) -> bool:
    """Count the loss, and say whether there is a chunk to hide."""
    if observation is None:
        return False
    observation.count_lost()
    forced = observation.asked is UsageOrigin.FORCED
    return forced and observation.setting.options.hide_usage_chunk


def _spared(chunks: Iterator[Any]) -> Iterator[Any]:
    for chunk in chunks:
        if not is_bare_usage(chunk):
            yield chunk


async def _spared_async(chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for chunk in chunks:
        if not is_bare_usage(chunk):
            yield chunk
