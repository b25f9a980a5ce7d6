"""LlamaIndex: `OpenAI` and `OpenAILike` make their own clients, or take them."""

from __future__ import annotations

from typing import Any

from application import Program, Setup, to_end
from asked import MAX_TOKENS, QUESTION, Answer, look_up
from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from reading import first_of, first_of_async, streamed, streamed_async

TAKES_CLIENT = True


def _model(setup: Setup, **options: Any) -> OpenAILike:
    settings = {"is_chat_model": True, "is_function_calling_model": True, **options}
    return OpenAILike(
        model=setup.model,
        api_base=setup.base_url,
        api_key="unused",
        max_tokens=MAX_TOKENS,
        temperature=0,
        openai_client=setup.client,
        async_openai_client=setup.async_client,
        **settings,
    )


def _messages() -> list[ChatMessage]:
    return [ChatMessage(role="user", content=QUESTION)]


def _plain(setup: Setup) -> Any:
    return _model(setup).chat(_messages())


async def _plain_async(setup: Setup) -> Any:
    return await _model(setup).achat(_messages())


def _complete(setup: Setup) -> Any:
    return _model(setup, is_chat_model=False).complete(QUESTION)


def _text(chunk: Any) -> str:
    return str(chunk.delta or "")


def _stream(setup: Setup) -> Any:
    return streamed(_model(setup).stream_chat(_messages()), _text)


async def _stream_async(setup: Setup) -> Any:
    stream = await _model(setup).astream_chat(_messages())
    return await streamed_async(stream, _text)


def _stream_complete(setup: Setup) -> Any:
    stream = _model(setup, is_chat_model=False).stream_complete(QUESTION)
    return streamed(stream, _text)


def _tool(setup: Setup) -> Any:
    tool = FunctionTool.from_defaults(look_up, fn_schema=Answer)
    model = _model(setup)
    response = model.chat_with_tools([tool], QUESTION, tool_required=True)
    calls = model.get_tool_calls_from_response(response, error_on_no_tool_call=False)
    return response, [(call.tool_name, call.tool_kwargs) for call in calls]


async def _tool_async(setup: Setup) -> Any:
    tool = FunctionTool.from_defaults(look_up, fn_schema=Answer)
    return await _model(setup).achat_with_tools([tool], QUESTION, tool_required=True)


def _tool_stream(setup: Setup) -> Any:
    tool = FunctionTool.from_defaults(look_up, fn_schema=Answer)
    stream = _model(setup).stream_chat_with_tools([tool], QUESTION, tool_required=True)
    return streamed(stream, _text)


def _structured(setup: Setup) -> Any:
    model = _model(setup, should_use_structured_outputs=True)
    return model.structured_predict(Answer, PromptTemplate(QUESTION))


async def _structured_async(setup: Setup) -> Any:
    model = _model(setup, should_use_structured_outputs=True)
    return await model.astructured_predict(Answer, PromptTemplate(QUESTION))


def _structured_by_tool(setup: Setup) -> Any:
    return _model(setup).structured_predict(Answer, PromptTemplate(QUESTION))


def _left(setup: Setup) -> Any:
    return first_of(_model(setup).stream_chat(_messages()))


async def _left_async(setup: Setup) -> Any:
    return await first_of_async(await _model(setup).astream_chat(_messages()))


PROGRAMS = (
    Program(name="plain", run=_plain),
    Program(name="plain, async", run=to_end(_plain_async)),
    Program(name="completions", run=_complete),
    Program(name="stream", run=_stream),
    Program(name="stream, async", run=to_end(_stream_async)),
    Program(name="stream of completions", run=_stream_complete),
    Program(name="tool call", run=_tool),
    Program(name="tool call, async", run=to_end(_tool_async)),
    Program(name="tool call, stream", run=_tool_stream),
    Program(name="structured output", run=_structured),
    Program(name="structured output, async", run=to_end(_structured_async)),
    Program(name="structured output by a tool", run=_structured_by_tool, on_vllm=False),
    Program(name="stream left early", run=_left, left="abandoned"),
    Program(name="stream left early, async", run=to_end(_left_async), left="abandoned"),
)
