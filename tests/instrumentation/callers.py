"""One way to write a caller for both the sync and the async client.

Scenarios are coroutines; with the sync client their steps run in place. Steps, and
not loops, are shared, so that nothing stands between a test and the stream.
"""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openai import AsyncOpenAI, OpenAI
from scripted_wire import BASE_URL, MODEL, Wire, answer

import otel_specdecode
from otel_specdecode.instrumentation import consumers

if TYPE_CHECKING:
    from telemetry import Telemetry

END = object()


@dataclass(frozen=True)
class Caller:
    """A caller of one endpoint, with one kind of client.

    Attributes:
        mode: `sync` or `async`.
        endpoint: `chat` or `completions`.
    """

    mode: str
    endpoint: str = "chat"

    def __str__(self) -> str:
        return f"{self.mode}-{self.endpoint}"

    @property
    def is_async(self) -> bool:
        return self.mode == "async"

    def bare(self, wire: Wire, **settings: Any) -> Any:
        kind = AsyncOpenAI if self.is_async else OpenAI
        http_client = wire.async_client if self.is_async else wire.sync_client
        settings = {"base_url": BASE_URL, "max_retries": 0} | settings
        return kind(api_key="sk-test", http_client=http_client, **settings)

    def wrapped(self, wire: Wire, telemetry: Telemetry, **options: Any) -> Any:
        return otel_specdecode.wrap(self.bare(wire), **telemetry.providers, **options)

    def resource(self, client: Any) -> Any:
        return (
            client.chat.completions if self.endpoint == "chat" else client.completions
        )

    def request(self, **more: Any) -> dict[str, Any]:
        content: dict[str, Any] = (
            {"messages": [{"role": "user", "content": "count"}]}
            if self.endpoint == "chat"
            else {"prompt": "count"}
        )
        return {"model": MODEL, **content, **more}

    async def create(self, client: Any, **more: Any) -> Any:
        return await self.done(self.resource(client).create(**self.request(**more)))

    async def stream(self, client: Any, **more: Any) -> Any:
        return await self.create(client, stream=True, **more)

    async def done(self, result: Any) -> Any:
        """Await what the async client returns; the sync one has returned already."""
        return await result if self.is_async else result

    def iterate(self, stream: Any) -> Any:
        return aiter(stream) if self.is_async else iter(stream)

    async def step(self, iterator: Any) -> Any:
        """Take one item, or `END`."""
        if self.is_async:
            return await anext(iterator, END)
        return next(iterator, END)

    async def read(self, stream: Any, most: int = 1000) -> list[Any]:
        """Take up to so many items, and leave the loop as `break` does."""
        iterator = self.iterate(stream)
        items: list[Any] = []
        while len(items) < most and (item := await self.step(iterator)) is not END:
            items.append(item)
        return items

    async def enter(self, manager: Any) -> Any:
        return await manager.__aenter__() if self.is_async else manager.__enter__()

    async def leave(self, manager: Any, error: BaseException | None = None) -> None:
        details = (None, None, None) if error is None else (type(error), error, None)
        if self.is_async:
            await manager.__aexit__(*details)
        else:
            manager.__exit__(*details)


CALLERS = [
    Caller(mode, endpoint)
    for mode in ("sync", "async")
    for endpoint in ("chat", "completions")
]
CHAT_CALLERS = [Caller("sync"), Caller("async")]


def shown(error: BaseException) -> tuple[str, str, str]:
    """What a caller can tell of an exception."""
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    return kind, str(error), type(error.__cause__).__name__


def freeze_what_the_client_built() -> None:
    """Leave what the imports made out of every collection; tests make many."""
    # The client imports most of itself, and builds its models, when first used.
    client, ask = Caller("sync").bare(Wire(answer)), Caller("sync").request()
    assert list(client.chat.completions.create(stream=True, **ask))
    with client.chat.completions.stream(**ask) as stream:
        assert list(stream)
    assert list(client.completions.create(model="m", prompt="count", stream=True))
    if hasattr(client, "responses"):
        assert list(client.responses.create(model="m", input="count", stream=True))
    gc.collect()
    gc.freeze()


def collect() -> None:
    """Collect, with no thread of ours at it: Python does nothing in the second one."""
    for thread in consumers._threads:
        thread.join()
    gc.collect()


async def collect_garbage() -> None:
    """Collect what was dropped, and let the loop finish its generators."""
    collect()
    # The loop closes a generator in a turn of its own, and then the one that it read:
    # as many as the client and its HTTP library have put around each other.
    for _ in range(20):
        await asyncio.sleep(0)
    collect()
    otel_specdecode.record_of(None)


__all__ = [
    "CALLERS",
    "CHAT_CALLERS",
    "END",
    "Caller",
    "collect",
    "collect_garbage",
    "shown",
]
