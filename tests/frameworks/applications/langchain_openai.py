"""langchain-openai: `ChatOpenAI` makes its own clients, or takes their resources."""

from __future__ import annotations

from typing import Any

from application import Program, Setup, to_end
from asked import MAX_TOKENS, QUESTION, Answer, look_up
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI
from reading import first_of, first_of_async, streamed, streamed_async

TAKES_CLIENT = True


LOOK_UP = tool(look_up)


def _model(setup: Setup, **options: Any) -> ChatOpenAI:
    given = {}
    if setup.client is not None and setup.async_client is not None:
        given = {
            "client": setup.client.chat.completions,
            "async_client": setup.async_client.chat.completions,
            "root_client": setup.client,
            "root_async_client": setup.async_client,
        }
    settings = {"max_tokens": MAX_TOKENS, "temperature": 0, "seed": 7, **options}
    return ChatOpenAI(
        model=setup.model,
        base_url=setup.base_url,
        api_key="unused",
        **settings,
        **given,
    )


def _plain(setup: Setup) -> Any:
    return _model(setup).invoke(QUESTION)


async def _plain_async(setup: Setup) -> Any:
    return await _model(setup).ainvoke(QUESTION)


def _text(chunk: Any) -> str:
    return str(chunk.content)


def _stream(setup: Setup) -> Any:
    return streamed(_model(setup).stream(QUESTION), _text)


def _stream_with_usage(setup: Setup) -> Any:
    return streamed(_model(setup, stream_usage=True).stream(QUESTION), _text)


async def _stream_async(setup: Setup) -> Any:
    return await streamed_async(_model(setup).astream(QUESTION), _text)


def _tool(setup: Setup) -> Any:
    return _model(setup).bind_tools([LOOK_UP], tool_choice="any").invoke(QUESTION)


async def _tool_stream_async(setup: Setup) -> Any:
    model = _model(setup).bind_tools([LOOK_UP], tool_choice="any")
    return await streamed_async(model.astream(QUESTION), _text)


def _structured(setup: Setup) -> Any:
    return _model(setup).with_structured_output(Answer).invoke(QUESTION)


def _structured_by_tool(setup: Setup) -> Any:
    model = _model(setup).with_structured_output(Answer, method="function_calling")
    return model.invoke(QUESTION)


async def _structured_async(setup: Setup) -> Any:
    return await _model(setup).with_structured_output(Answer).ainvoke(QUESTION)


def _structured_stream(setup: Setup) -> Any:
    # Its chunks are states of one growing object.
    return list(_model(setup).with_structured_output(Answer).stream(QUESTION))[-1]


def _batch(setup: Setup) -> Any:
    return _model(setup).batch([QUESTION, "another", "a third"])


def _several(setup: Setup) -> Any:
    return _model(setup, n=2).generate([[HumanMessage(QUESTION)]])


def _completion_model(setup: Setup) -> OpenAI:
    given = {}
    if setup.client is not None and setup.async_client is not None:
        given = {
            "client": setup.client.completions,
            "async_client": setup.async_client.completions,
        }
    return OpenAI(
        model=setup.model,
        base_url=setup.base_url,
        api_key="unused",
        max_tokens=MAX_TOKENS,
        temperature=0,
        **given,
    )


def _completions(setup: Setup) -> Any:
    return _completion_model(setup).invoke(QUESTION)


def _completion_batch(setup: Setup) -> Any:
    # Other than a chat model's: one request, with every prompt in it.
    return _completion_model(setup).batch([QUESTION, "another", "a third"])


def _responses(setup: Setup) -> Any:
    return _model(setup, use_responses_api=True, seed=None).invoke(QUESTION)


def _left(setup: Setup) -> Any:
    return first_of(_model(setup).stream(QUESTION))


async def _left_async(setup: Setup) -> Any:
    return await first_of_async(_model(setup).astream(QUESTION))


PROGRAMS = (
    Program(name="plain", run=_plain),
    Program(name="plain, async", run=to_end(_plain_async)),
    Program(name="stream", run=_stream),
    Program(name="stream with usage", run=_stream_with_usage),
    Program(name="stream, async", run=to_end(_stream_async)),
    Program(name="tool call", run=_tool),
    Program(name="tool call, stream, async", run=to_end(_tool_stream_async)),
    Program(name="structured output", run=_structured),
    Program(name="structured output by a tool", run=_structured_by_tool),
    Program(name="structured output, async", run=to_end(_structured_async)),
    Program(name="structured output, stream", run=_structured_stream),
    Program(name="batch", run=_batch),
    Program(name="n = 2", run=_several, acceptance=False, on_vllm=False),
    Program(name="completions", run=_completions),
    Program(
        name="batch of completions",
        run=_completion_batch,
        acceptance=False,
        on_vllm=False,
    ),
    Program(name="responses", run=_responses, acceptance=False),
    Program(name="stream left early", run=_left, left="abandoned"),
    Program(name="stream left early, async", run=to_end(_left_async), left="abandoned"),
)
