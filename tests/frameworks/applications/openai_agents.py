"""openai-agents: a model takes an async client, or uses the default one."""

from __future__ import annotations

import os
from typing import Any

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIProvider,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from application import Program, Setup, to_end
from asked import MAX_TOKENS, QUESTION, Answer, look_up
from openai import AsyncOpenAI
from reading import streamed

TAKES_CLIENT = True

os.environ.setdefault("OPENAI_API_KEY", "unused")
set_tracing_disabled(disabled=True)


LOOK_UP = function_tool(look_up)


def _client(setup: Setup) -> AsyncOpenAI:
    if setup.async_client is not None:
        return setup.async_client
    return AsyncOpenAI(base_url=setup.base_url, api_key="unused")


def _agent(setup: Setup, **options: Any) -> Agent[Any]:
    model = OpenAIChatCompletionsModel(setup.model, _client(setup))
    settings = ModelSettings(max_tokens=MAX_TOKENS, temperature=0)
    return Agent(name="demo", model=model, model_settings=settings, **options)


def _given(result: Any) -> Any:
    return result.final_output, result.raw_responses


def _run(**options: Any) -> Any:
    async def run(setup: Setup) -> Any:
        return _given(await Runner.run(_agent(setup, **options), QUESTION))

    return to_end(run)


def _sync(setup: Setup) -> Any:
    return _given(Runner.run_sync(_agent(setup), QUESTION))


def _stream(**options: Any) -> Any:
    async def run(setup: Setup) -> Any:
        result = Runner.run_streamed(_agent(setup, **options), QUESTION)
        events = [each async for each in result.stream_events()]
        raw = [each.data for each in events if each.type == "raw_response_event"]
        return streamed(raw, _delta), _given(result)

    return to_end(run)


def _delta(event: Any) -> str:
    return event.delta if event.type == "response.output_text.delta" else ""


async def _by_provider(setup: Setup) -> Any:
    # Names alone, as in most programs: the provider makes the client.
    provider = OpenAIProvider(
        base_url=setup.base_url, api_key="unused", use_responses=False
    )
    settings = ModelSettings(max_tokens=MAX_TOKENS, temperature=0)
    agent = Agent(name="demo", model=setup.model, model_settings=settings)
    run_config = RunConfig(model_provider=provider)
    return _given(await Runner.run(agent, QUESTION, run_config=run_config))


async def _responses(setup: Setup) -> Any:
    model = OpenAIResponsesModel(setup.model, _client(setup))
    result = await Runner.run(Agent(name="demo", model=model), QUESTION)
    return result.final_output


async def _left(setup: Setup) -> Any:
    result = Runner.run_streamed(_agent(setup), QUESTION)
    events = result.stream_events()
    while (await anext(events)).type != "raw_response_event":
        pass
    result.cancel()
    return [each.type async for each in events][-1:]


_TOOLS = {"tools": [LOOK_UP]}

PROGRAMS = (
    Program(name="plain", run=_sync, given_client=False),
    Program(name="plain, async", run=_run()),
    Program(name="own client", run=to_end(_by_provider), given_client=False),
    Program(name="stream", run=_stream()),
    Program(name="tool call", run=_run(**_TOOLS), on_vllm=False),
    Program(name="tool call, stream", run=_stream(**_TOOLS), on_vllm=False),
    Program(name="structured output", run=_run(output_type=Answer)),
    Program(name="structured output, stream", run=_stream(output_type=Answer)),
    Program(name="responses", run=to_end(_responses), acceptance=False, on_vllm=False),
    Program(name="stream left early", run=to_end(_left), left="cancelled"),
)
