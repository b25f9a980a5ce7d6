"""instructor: patches a client that it is given, or makes one of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import instructor
from application import Program, Setup, to_end
from asked import MAX_TOKENS, QUESTION, Answer
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from reading import first_of_async

TAKES_CLIENT = True


class Unbounded(BaseModel):
    """What is asked for in words, where no schema reaches the server."""

    query: str
    limit: int


def _client(setup: Setup, mode: instructor.Mode) -> Any:
    given = setup.client or OpenAI(base_url=setup.base_url, api_key="unused")
    return instructor.from_openai(given, mode=mode)


def _async_client(setup: Setup, mode: instructor.Mode) -> Any:
    options = {"base_url": setup.base_url, "api_key": "unused"}
    given = setup.async_client or AsyncOpenAI(**options)
    return instructor.from_openai(given, mode=mode)


def _request(setup: Setup, **options: Any) -> dict[str, Any]:
    return {
        "model": setup.model,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        "max_retries": 0,
        **options,
    }


def _structured(mode: instructor.Mode, model: type[BaseModel] = Answer) -> Any:
    def run(setup: Setup) -> Any:
        request = _request(setup, response_model=model)
        create = _client(setup, mode).chat.completions.create_with_completion
        return create(**request)

    return run


def _structured_async(mode: instructor.Mode) -> Any:
    async def run(setup: Setup) -> Any:
        client = _async_client(setup, mode)
        return await client.chat.completions.create(
            **_request(setup, response_model=Answer)
        )

    return to_end(run)


def _partial(setup: Setup) -> Any:
    create = _client(setup, instructor.Mode.TOOLS).chat.completions.create_partial
    return {"chunks": list(create(**_request(setup, response_model=Answer)))}


async def _partial_async(setup: Setup) -> Any:
    client = _async_client(setup, instructor.Mode.TOOLS)
    stream = client.chat.completions.create_partial(
        **_request(setup, response_model=Answer)
    )
    return {"chunks": [each async for each in stream]}


def _several(setup: Setup) -> Any:
    client = _client(setup, instructor.Mode.TOOLS)
    request = _request(setup, response_model=Iterable[Answer], stream=True)
    return list(client.chat.completions.create(**request))


def _plain(setup: Setup) -> Any:
    client = _client(setup, instructor.Mode.TOOLS)
    return client.chat.completions.create(**_request(setup, response_model=None))


def _stream(setup: Setup) -> Any:
    client = _client(setup, instructor.Mode.TOOLS)
    request = _request(setup, response_model=None, stream=True)
    return {"chunks": list(client.chat.completions.create(**request))}


async def _left_async(setup: Setup) -> Any:
    client = _async_client(setup, instructor.Mode.TOOLS)
    create = client.chat.completions.create_partial
    return await first_of_async(create(**_request(setup, response_model=Answer)))


PROGRAMS = (
    Program(name="plain", run=_plain),
    Program(name="stream", run=_stream),
    Program(
        name="structured output", run=_structured(instructor.Mode.TOOLS), on_vllm=False
    ),
    Program(
        name="structured output, async",
        run=_structured_async(instructor.Mode.TOOLS),
        on_vllm=False,
    ),
    Program(
        name="structured output by a schema",
        run=_structured(instructor.Mode.JSON_SCHEMA),
    ),
    Program(
        name="structured output as JSON",
        run=_structured(instructor.Mode.JSON, Unbounded),
        on_vllm=False,
    ),
    Program(name="partial objects", run=_partial, on_vllm=False),
    Program(name="partial objects, async", run=to_end(_partial_async), on_vllm=False),
    Program(name="several objects", run=_several, on_vllm=False),
    Program(name="stream left early, async", run=to_end(_left_async), left="abandoned"),
)
