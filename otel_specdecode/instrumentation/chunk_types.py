"""What the chunks of a stream are: models of the client's, JSON, or something else.

`client.post(..., cast_to=object, stream_cls=Stream[object])` is the client's documented
way to an endpoint that it does not know, and hands out what the server sent.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Any, get_args, get_origin

DEFAULT_STREAM = "_default_stream_cls"
"""Private to openai: what it makes of a stream whose class the caller leaves open.
Without it such a stream is not observed."""

_OF_MODELS = "construct"


class ChunkType(StrEnum):
    """How a chunk is read."""

    MODEL = "model"
    JSON = "json"
    OTHER = "other"
    """Text, say: nothing in it is found, and no chunk of it could be kept back."""


@lru_cache(maxsize=64)
def chunk_type_of(stream_cls: Any, cast_to: Any) -> ChunkType:
    """Say what a stream class hands out.

    Args:
        stream_cls: such as `Stream[ChatCompletionChunk]`, or a subclass of that.
        cast_to: what the call itself is cast to, where the class does not say.
    """
    kind = _argument_of(stream_cls, cast_to)
    if kind is Any or kind is object or get_origin(kind) is dict:
        return ChunkType.JSON
    if not isinstance(kind, type):
        # A union of models, as the events of the Responses API are.
        return ChunkType.MODEL
    if issubclass(kind, dict):
        return ChunkType.JSON
    return ChunkType.MODEL if hasattr(kind, _OF_MODELS) else ChunkType.OTHER  # pyright: ignore[reportUnknownArgumentType] (a caller's)


@lru_cache(maxsize=64)
def hands_on_response(cast_to: Any) -> bool:
    """Say whether the HTTP response is handed on: `cast_to=httpx.Response`."""
    return isinstance(cast_to, type) and "iter_raw" in dir(cast_to)


def default_stream_class(client: Any, cast_to: Any) -> Any:
    """Return what the client makes of a stream whose class the caller leaves open.

    Returns:
        The class for chunks of this type; `None` where there is none.
    """
    default = getattr(client, DEFAULT_STREAM, None)
    generic = getattr(default, "__parameters__", ())
    return default[cast_to] if default is not None and generic else default


def _argument_of(stream_cls: Any, cast_to: Any) -> Any:
    generics = (stream_cls, *getattr(stream_cls, "__orig_bases__", ()))
    arguments = [argument for each in generics for argument in get_args(each)]
    return arguments[0] if arguments else cast_to
