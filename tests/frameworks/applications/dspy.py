"""DSPy: speaks HTTP itself, unless `engine="litellm"` sends it through a client."""

from __future__ import annotations

from typing import Any

import dspy
from application import Program, Setup, to_end
from asked import CALL, MAX_TOKENS, QUESTION

TAKES_CLIENT = False


class Ask(dspy.Signature):
    """Answer a question."""

    question: str = dspy.InputField()
    query: str = dspy.OutputField()
    limit: int = dspy.OutputField()


def _model(setup: Setup, engine: Any) -> dspy.LM:
    return dspy.LM(
        f"openai/{setup.model}",
        api_base=setup.base_url,
        api_key="unused",
        engine=engine,
        cache=False,
        max_tokens=MAX_TOKENS,
        temperature=0,
    )


def _plain(engine: str) -> Any:
    return lambda setup: _model(setup, engine)(QUESTION)


def _plain_async(engine: str) -> Any:
    async def run(setup: Setup) -> Any:
        return await _model(setup, engine).acall(QUESTION)

    return to_end(run)


def _predict(setup: Setup) -> Any:
    with dspy.context(lm=_model(setup, "litellm"), adapter=dspy.JSONAdapter()):
        return dspy.Predict(Ask)(question=QUESTION).toDict()


async def _predict_async(setup: Setup) -> Any:
    with dspy.context(lm=_model(setup, "litellm"), adapter=dspy.JSONAdapter()):
        return (await dspy.Predict(Ask).acall(question=QUESTION)).toDict()


def _tool(setup: Setup) -> Any:
    # Its agents describe their tools in the prompt, and parse the answer themselves.
    return _model(setup, "litellm")(QUESTION, **CALL)


async def _tool_async(setup: Setup) -> Any:
    return await _model(setup, "litellm").acall(QUESTION, **CALL)


async def _stream(setup: Setup) -> Any:
    with dspy.context(lm=_model(setup, "litellm"), adapter=dspy.JSONAdapter()):
        listeners = [dspy.streaming.StreamListener("query")]
        program = dspy.streamify(dspy.Predict(Ask), stream_listeners=listeners)
        given = [each async for each in program(question=QUESTION)]
    return {"chunks": given[:-1], "last": given[-1].toDict()}


PROGRAMS = (
    Program(name="plain", run=_plain("litellm")),
    Program(name="plain, async", run=_plain_async("litellm")),
    Program(name="tool call", run=_tool),
    Program(name="tool call, async", run=to_end(_tool_async)),
    Program(name="structured output", run=_predict, on_vllm=False),
    Program(name="structured output, async", run=to_end(_predict_async), on_vllm=False),
    Program(name="structured output, stream", run=to_end(_stream), on_vllm=False),
    Program(name="by itself", run=_plain("auto"), observed=False),
    Program(name="by itself, async", run=_plain_async("auto"), observed=False),
)
