"""smolagents: `OpenAIModel` makes its own client, and has no asyncio."""

from __future__ import annotations

from typing import Any

from application import Program, Setup
from asked import MAX_TOKENS, QUESTION, Answer, look_up
from reading import first_of, streamed
from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool

TAKES_CLIENT = True  # after the fact: the model's client is replaced


LOOK_UP = tool(look_up)


def _model(setup: Setup) -> OpenAIModel:
    model = OpenAIModel(
        setup.model,
        api_base=setup.base_url,
        api_key="unused",
        max_tokens=MAX_TOKENS,
        temperature=0,
    )
    if setup.client is not None:
        model.client = setup.client
    return model


def _messages() -> list[Any]:
    content = [{"type": "text", "text": QUESTION}]
    return [{"role": "user", "content": content}]


def _plain(setup: Setup) -> Any:
    return _model(setup).generate(_messages())


def _stream(setup: Setup) -> Any:
    return streamed(_model(setup).generate_stream(_messages()), _text)


def _text(delta: Any) -> str:
    return delta.content or ""


def _tool(setup: Setup) -> Any:
    return _model(setup).generate(_messages(), tools_to_call_from=[LOOK_UP])


def _tool_stream(setup: Setup) -> Any:
    model = _model(setup)
    stream = model.generate_stream(_messages(), tools_to_call_from=[LOOK_UP])
    return streamed(stream, _text)


def _structured(setup: Setup) -> Any:
    schema = {"name": "answer", "schema": Answer.model_json_schema()}
    form: Any = {"type": "json_schema", "json_schema": schema}
    return _model(setup).generate(_messages(), response_format=form)


def _stopped(setup: Setup) -> Any:
    return _model(setup).generate(_messages(), stop_sequences=["e"])


def _agent(*, stream: bool) -> Any:
    def run(setup: Setup) -> Any:
        agent = ToolCallingAgent([], _model(setup), stream_outputs=stream, max_steps=2)
        return agent.run(QUESTION)

    return run


def _code_agent(setup: Setup) -> Any:
    agent = CodeAgent(
        [],
        _model(setup),
        max_steps=1,
        use_structured_outputs_internally=True,
        verbosity_level=0,
    )
    return agent.run(QUESTION)


def _left(setup: Setup) -> Any:
    return first_of(_model(setup).generate_stream(_messages()))


PROGRAMS = (
    Program(name="plain", run=_plain),
    Program(name="stream", run=_stream),
    Program(name="tool call", run=_tool),
    Program(name="tool call, stream", run=_tool_stream),
    Program(name="structured output", run=_structured),
    Program(name="stop string", run=_stopped, acceptance=False),
    Program(name="agent that calls tools", run=_agent(stream=False), on_vllm=False),
    Program(name="the same, stream", run=_agent(stream=True), on_vllm=False),
    Program(name="agent that writes code", run=_code_agent, on_vllm=False),
    Program(name="stream left early", run=_left, left="abandoned"),
)
