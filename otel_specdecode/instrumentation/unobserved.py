"""Streams that are not observed any more, for a fault of ours.

Usage was asked for in the caller's name by then, so the chunk that exists for it
alone is still kept from a caller who would trip over `chunk.choices[0]`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


def is_bare_usage(chunk: Any) -> bool:
    """Say whether a chunk carries usage and no choice."""
    # By itself, since what reads chunks may be what failed.
    as_sent = isinstance(chunk, dict)
    look: Any = cast("Any", chunk).get if as_sent else partial(getattr, chunk)
    return look("choices", None) == [] and look("usage", None) is not None


def spared(chunks: Iterator[Any]) -> Iterator[Any]:
    """Hand on the chunks of a stream as a caller expects them who asked for none."""
    for chunk in chunks:
        if not is_bare_usage(chunk):
            yield chunk


async def spared_async(chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Hand on those of an asynchronous stream."""
    async for chunk in chunks:
        if not is_bare_usage(chunk):
            yield chunk
