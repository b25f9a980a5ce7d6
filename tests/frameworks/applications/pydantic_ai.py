"""pydantic-ai: a provider takes an async client, or makes one of its own."""

from __future__ import annotations

from typing import Any

from application import Program, Setup, to_end
from asked import MAX_TOKENS, QUESTION, Answer, look_up
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from reading import streamed

TAKES_CLIENT = True


def _provider(setup: Setup) -> OpenAIProvider:
    if setup.async_client is not None:
        return OpenAIProvider(openai_client=setup.async_client)
    return OpenAIProvider(base_url=setup.base_url, api_key="unused")


def _agent(setup: Setup, **options: Any) -> Agent[Any, Any]:
    model = OpenAIChatModel(setup.model, provider=_provider(setup))
    settings: Any = {"max_tokens": MAX_TOKENS, "temperature": 0}
    return Agent(model, model_settings=settings, **options)


def _given(result: Any) -> Any:
    return result.output, result.all_messages(), result.usage


def _sync(**options: Any) -> Any:
    return lambda setup: _given(_agent(setup, **options).run_sync(QUESTION))


def _async(**options: Any) -> Any:
    async def run(setup: Setup) -> Any:
        return _given(await _agent(setup, **options).run(QUESTION))

    return to_end(run)


async def _stream(setup: Setup) -> Any:
    async with _agent(setup).run_stream(QUESTION) as result:
        texts = result.stream_text(delta=True, debounce_by=None)
        deltas = [each async for each in texts]
        return streamed(deltas, str), _given_stream(result)


def _given_stream(result: Any) -> Any:
    return result.all_messages(), result.usage


async def _structured_stream(setup: Setup) -> Any:
    agent = _agent(setup, output_type=Answer)
    async with agent.run_stream(QUESTION) as result:
        return [each async for each in result.stream_output(debounce_by=None)]


async def _events(setup: Setup) -> Any:
    stream = _agent(setup, tools=[look_up]).run_stream_events(QUESTION)
    async with stream as events:
        return {"chunks": [each async for each in events]}


async def _responses(setup: Setup) -> Any:
    model = OpenAIResponsesModel(setup.model, provider=_provider(setup))
    settings: Any = {"max_tokens": MAX_TOKENS, "temperature": 0}
    return (await Agent(model, model_settings=settings).run(QUESTION)).output


async def _left(setup: Setup) -> Any:
    async with _agent(setup).run_stream(QUESTION) as result:
        return await anext(result.stream_text(delta=True, debounce_by=None))


_TOOLS = {"tools": [look_up]}
_NATIVE = {"output_type": NativeOutput(Answer)}

PROGRAMS = (
    Program(name="plain", run=_sync(), given_client=False),
    Program(name="plain, async", run=_async()),
    Program(name="stream", run=to_end(_stream)),
    Program(name="tool call", run=_async(**_TOOLS), on_vllm=False),
    Program(name="tool call, stream", run=to_end(_events), on_vllm=False),
    Program(
        name="structured output by a tool",
        run=_async(output_type=Answer),
        on_vllm=False,
    ),
    Program(name="structured output", run=_async(**_NATIVE)),
    Program(
        name="tool call, structured output",
        run=_async(**_TOOLS, **_NATIVE),
        on_vllm=False,
    ),
    Program(
        name="structured output, stream", run=to_end(_structured_stream), on_vllm=False
    ),
    Program(name="responses", run=to_end(_responses), acceptance=False),
    Program(name="stream left early", run=to_end(_left), left="abandoned"),
)
