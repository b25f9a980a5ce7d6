"""A framework's use of a model as data: programs that run with and without us."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from typing import Any

import openai

_TURNS = 50  # frameworks put more generators around a stream than clients do


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a program is given.

    Attributes:
        base_url: the server, with `/v1`.
        model: the served model name.
        client: passed to a framework that takes one; `None` lets it make its own.
        async_client: the same for asyncio.
    """

    base_url: str
    model: str
    client: openai.OpenAI | None = None
    async_client: openai.AsyncOpenAI | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One use of a framework.

    Attributes:
        name: a few words.
        run: returns all that the framework gave, so that two runs can be compared.
        observed: whether its requests pass through an openai client at all.
        acceptance: whether the server says R, D and C for what it asks.
        left: outcome of its one stream, which it leaves before the end; `None` where
            it reads to the end.
        given_client: whether a client can be passed to it.
        on_vllm: whether a tiny real model, of random weights, gets it done.
    """

    name: str
    run: Callable[[Setup], Any]
    observed: bool = True
    acceptance: bool = True
    left: str | None = None
    given_client: bool = True
    on_vllm: bool = True


def to_end(
    run: Callable[[Setup], Coroutine[Any, Any, Any]],
) -> Callable[[Setup], Any]:
    """Make a program of a coroutine function.

    All run in one event loop: some frameworks keep a client for good, and with it
    the connections of the loop that it was first used in.
    """

    async def closing(setup: Setup) -> Any:
        try:
            return await run(setup)
        finally:
            if setup.async_client is not None:
                await setup.async_client.close()
            # A generator that was thrown away is closed by the loop, in a later turn.
            gc.collect()
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    return lambda setup: _loop().run_until_complete(closing(setup))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()
