"""Requests of every kind that the programs beside this file make."""

from __future__ import annotations

import asyncio
import os
from threading import Thread

from openai import AsyncOpenAI, OpenAI

import otel_specdecode

MODEL = os.environ["SIMULATOR_MODEL"]
BASE_URL = os.environ["SIMULATOR_URL"]
MESSAGES = [{"role": "user", "content": "hi"}]


def client() -> OpenAI:
    return otel_specdecode.wrap(OpenAI(base_url=BASE_URL, api_key="unused"))


def talk(openai: OpenAI) -> None:
    """One stream and one plain request, tagged with the process that makes them."""
    ask = {"model": MODEL, "messages": MESSAGES, "max_tokens": 12}
    with otel_specdecode.tag(pid=str(os.getpid())):
        for _ in openai.chat.completions.create(**ask, stream=True):
            pass
        openai.chat.completions.create(**ask)


def talk_in_threads(openai: OpenAI, num_threads: int = 8) -> None:
    threads = [Thread(target=talk, args=(openai,)) for _ in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def talk_async() -> None:
    ask = {"model": MODEL, "messages": MESSAGES, "max_tokens": 12}
    made = AsyncOpenAI(base_url=BASE_URL, api_key="unused")
    async with otel_specdecode.wrap(made) as openai:
        with otel_specdecode.tag(pid=str(os.getpid())):
            async for _ in await openai.chat.completions.create(**ask, stream=True):
                pass
            await openai.chat.completions.create(**ask)


def talk_once() -> None:
    """For children: a client of their own, since connections are not to be shared."""
    with client() as openai:
        talk(openai)


def run_async() -> None:
    asyncio.run(talk_async())
