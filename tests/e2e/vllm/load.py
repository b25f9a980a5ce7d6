"""The requests that the end-to-end tests send, and four ways of sending them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Any

from openai import AsyncOpenAI, OpenAI
from served_model import MODEL

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROMPTS = (
    "def read(self, size=-1):",
    "def parse_args(self, args=None, namespace=None):",
    "def __init__(self, name):",
    "def close(self):",
    "def getvalue(self):",
)
# The prefill's token alone, cuts inside a step, and long enough to end by itself.
_MAX_TOKENS = (1, 22, 23, 24, 40, 80)
_CONCURRENCY = 8


class Way(StrEnum):
    """How requests are sent: by which client, and how many at once."""

    SYNC_1 = "sync, one at a time"
    SYNC_8 = "sync, eight at once"
    ASYNC_1 = "async, one at a time"
    ASYNC_8 = "async, eight at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of the OpenAI client: ``chat`` or a completion, and its options."""

    chat: bool
    options: dict[str, Any]

    @property
    def body(self) -> dict[str, Any]:
        """The same request as the JSON body of a raw one, usage asked for."""
        usage = {"stream_options": {"include_usage": True}}
        return {**self.options, **(usage if self.options["stream"] else {})}


def mixed_requests(num: int) -> list[Request]:
    """Return ``num`` requests that cover every combination as evenly as they can."""
    kinds = product((True, False), (True, False), (0.0, 1.0), _MAX_TOKENS)
    return [
        request(prompt, chat=chat, stream=stream, temperature=heat, max_tokens=limit)
        for (chat, stream, heat, limit), prompt in islice(
            zip(_shuffled(kinds), cycle(_PROMPTS)), num
        )
    ]


def request(
    prompt: str | list[str] = _PROMPTS[0], *, chat: bool = True, **options: Any
) -> Request:
    """Return one request; greedy, not streamed, unless ``options`` say else."""
    content: dict[str, Any] = {"prompt": _as_chat(prompt)}
    if chat:
        content = {"messages": [{"role": "user", "content": prompt}]}
    defaults = {"model": MODEL, "stream": False, "temperature": 0, "max_tokens": 40}
    return Request(chat=chat, options={**content, **defaults, **options})


def _as_chat(prompt: str | list[str]) -> str | list[str]:
    """Write a completion's prompt as the chat that the models were trained on.

    After a bare line of source they end at once.
    """
    if isinstance(prompt, list):
        return prompt
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def send(url: str, requests: list[Request], way: Way, **options: bool) -> None:
    """Send every request to the server at ``url``; read every stream to its end.

    ``options`` are those of ``otel_specdecode.wrap``.
    """
    match way:
        case Way.SYNC_1 | Way.SYNC_8:
            concurrency = 1 if way is Way.SYNC_1 else _CONCURRENCY
            with sync_client(url, **options) as client:
                _send_sync(client, requests, concurrency)
        case Way.ASYNC_1 | Way.ASYNC_8:
            concurrency = 1 if way is Way.ASYNC_1 else _CONCURRENCY
            asyncio.run(
                _send_async(async_client(url, **options), requests, concurrency)
            )


def sync_client(url: str, **options: bool) -> OpenAI:
    """Return a wrapped client of the server at ``url`` that does not retry."""
    return otel_specdecode.wrap(
        OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0),
        **options,
    )


def async_client(url: str, **options: bool) -> AsyncOpenAI:
    """Return a wrapped asynchronous client that does not retry."""
    return otel_specdecode.wrap(
        AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0),
        **options,
    )


def _send_sync(client: OpenAI, requests: list[Request], concurrency: int) -> None:
    with ThreadPoolExecutor(concurrency) as pool:

        def one(wanted: Request) -> None:
            resource = client.chat.completions if wanted.chat else client.completions
            answer = resource.create(**wanted.options)
            if wanted.options["stream"]:
                for _ in answer:
                    pass

        list(pool.map(one, requests))


async def _send_async(
    client: AsyncOpenAI, requests: list[Request], concurrency: int
) -> None:
    limit = asyncio.Semaphore(concurrency)
    async with client:

        async def one(wanted: Request) -> None:
            resource = client.chat.completions if wanted.chat else client.completions
            async with limit:
                answer = await resource.create(**wanted.options)
                if wanted.options["stream"]:
                    async for _ in answer:
                        pass

        await asyncio.gather(*map(one, requests))


def _shuffled(
    kinds: Iterator[tuple[bool, bool, float, int]],
) -> Iterator[tuple[bool, bool, float, int]]:
    """Repeat the combinations in a fixed order in which neighbours differ."""
    every = list(kinds)
    # 48 combinations; a stride without a common divisor visits each of them once.
    return cycle(every[(17 * i) % len(every)] for i in range(len(every)))
