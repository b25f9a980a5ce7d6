"""Ways to read a stream, of whichever framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterable,
        Callable,
        Generator,
        Iterable,
    )


class Streamed(TypedDict):
    """What a program returns of a stream: `chunks` differ from run to run on vLLM."""

    chunks: list[Any]
    text: str


def streamed(chunks: Iterable[Any], text_of: Callable[[Any], str | None]) -> Streamed:
    """Return what a stream gave, read to its end."""
    read = list(chunks)
    return Streamed(chunks=read, text="".join(text_of(each) or "" for each in read))


async def streamed_async(
    chunks: AsyncIterable[Any], text_of: Callable[[Any], str | None]
) -> Streamed:
    """Return what a stream of asyncio gave, read to its end."""
    return streamed([each async for each in chunks], text_of)


def first_of(stream: Generator[Any, Any, Any]) -> Any:
    """Return the first item of a stream, which is then left."""
    first = next(stream)
    stream.close()
    return first


async def first_of_async(stream: AsyncGenerator[Any, Any]) -> Any:
    """Return the first item of a stream of asyncio, which is then left."""
    first = await anext(stream)
    await stream.aclose()
    return first


def delta_text(chunk: Any) -> str:
    """Return the text of a chunk that has the shape of openai's own."""
    return chunk.choices[0].delta.content or "" if chunk.choices else ""
