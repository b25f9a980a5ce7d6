"""Haystack: a generator makes its own clients when it is warmed up."""

from __future__ import annotations

from typing import Any

from application import Program, Setup, to_end
from asked import MAX_TOKENS, QUESTION, Answer, look_up
from haystack import Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret

TAKES_CLIENT = True  # after the fact: `warm_up()` leaves alone what is there


_TOOL = Tool(
    name=look_up.__name__,
    description="Look something up.",
    parameters=Answer.model_json_schema(),
    function=look_up,
)


def _generator(setup: Setup, **options: Any) -> OpenAIChatGenerator:
    extra = options.pop("generation_kwargs", {})
    generator = OpenAIChatGenerator(
        api_key=Secret.from_token("unused"),
        model=setup.model,
        api_base_url=setup.base_url,
        generation_kwargs={"max_tokens": MAX_TOKENS, "temperature": 0, **extra},
        **options,
    )
    generator.client = setup.client
    generator.async_client = setup.async_client
    return generator


def _messages() -> list[ChatMessage]:
    return [ChatMessage.from_user(QUESTION)]


def _sync(**options: Any) -> Any:
    return lambda setup: _generator(setup, **options).run(_messages())


def _async(**options: Any) -> Any:
    async def run(setup: Setup) -> Any:
        return await _generator(setup, **options).run_async(_messages())

    return to_end(run)


def _stream(**options: Any) -> Any:
    def run(setup: Setup) -> Any:
        chunks: list[Any] = []
        generator = _generator(setup, streaming_callback=chunks.append, **options)
        reply = generator.run(_messages())["replies"][0]
        return {"chunks": [*chunks, reply], "text": reply.text}

    return run


async def _stream_async(setup: Setup) -> Any:
    chunks: list[Any] = []

    async def keep(chunk: Any) -> None:
        chunks.append(chunk)

    generator = _generator(setup, streaming_callback=keep)
    reply = (await generator.run_async(_messages()))["replies"][0]
    return {"chunks": [*chunks, reply], "text": reply.text}


def _pipeline(setup: Setup) -> Any:
    pipeline = Pipeline()
    pipeline.add_component("prompt", ChatPromptBuilder(template=_messages()))
    pipeline.add_component("llm", _generator(setup))
    pipeline.connect("prompt.prompt", "llm.messages")
    return pipeline.run({"prompt": {}})


def _left(setup: Setup) -> Any:
    # The only way out of a stream: the callback raises.
    def leave(chunk: Any) -> None:
        raise _LeftError

    try:
        _generator(setup, streaming_callback=leave).run(_messages())
    except _LeftError:
        return "left"


class _LeftError(Exception):
    pass


_CALL = {"tools": [_TOOL], "generation_kwargs": {"tool_choice": "required"}}
_STRUCTURED: Any = {"generation_kwargs": {"response_format": Answer}}
_TWO = {"generation_kwargs": {"n": 2}}

PROGRAMS = (
    Program(name="plain", run=_sync()),
    Program(name="plain, async", run=_async()),
    Program(name="pipeline", run=_pipeline),
    Program(name="stream", run=_stream()),
    Program(name="stream, async", run=to_end(_stream_async)),
    Program(name="tool call", run=_sync(**_CALL)),
    Program(name="tool call, stream", run=_stream(**_CALL)),
    Program(name="tool call, async", run=_async(**_CALL)),
    Program(name="structured output", run=_sync(**_STRUCTURED)),
    Program(name="structured output, async", run=_async(**_STRUCTURED)),
    Program(name="n = 2", run=_sync(**_TWO), acceptance=False, on_vllm=False),
    Program(name="stream left early", run=_left, left="abandoned"),
)
