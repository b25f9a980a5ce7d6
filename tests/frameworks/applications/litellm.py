"""litellm: `openai/` goes through an openai client, `hosted_vllm/` does not."""

from __future__ import annotations

from typing import Any

import litellm
from application import Program, Setup, to_end
from asked import CALL, MAX_TOKENS, QUESTION, Answer
from reading import delta_text, streamed, streamed_async

TAKES_CLIENT = True

litellm.telemetry = False
litellm.suppress_debug_info = True
_STREAM: dict[str, Any] = {"stream": True}


def _request(setup: Setup, provider: str, **options: Any) -> dict[str, Any]:
    return {
        "model": f"{provider}/{setup.model}",
        "api_base": setup.base_url,
        "api_key": "unused",
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        **options,
    }


def _ask(provider: str = "openai", **options: Any) -> Any:
    def run(setup: Setup) -> Any:
        request = _request(setup, provider, **options)
        if provider == "openai" and setup.client is not None:
            request["client"] = setup.client
        answer = litellm.completion(**request)
        return streamed(answer, delta_text) if options.get("stream") else answer

    return run


def _ask_async(provider: str = "openai", **options: Any) -> Any:
    async def run(setup: Setup) -> Any:
        request = _request(setup, provider, **options)
        if provider == "openai" and setup.async_client is not None:
            request["client"] = setup.async_client
        answer = await litellm.acompletion(**request)
        streams = options.get("stream")
        return await streamed_async(answer, delta_text) if streams else answer

    return to_end(run)


def _completions(setup: Setup) -> Any:
    request = _request(setup, "text-completion-openai")
    request["prompt"] = request.pop("messages")[0]["content"]
    return litellm.text_completion(**request)


def _responses(setup: Setup) -> Any:
    request = _request(setup, "openai")
    request["input"] = request.pop("messages")[0]["content"]
    request["max_output_tokens"] = request.pop("max_tokens")
    return litellm.responses(**request)


def _left(setup: Setup) -> Any:
    request = _request(setup, "openai", **_STREAM)
    if setup.client is not None:
        request["client"] = setup.client
    # Dropped and not closed, it lives until litellm's logging thread lets go of it.
    with litellm.completion(**request) as stream:
        return next(iter(stream))


async def _left_async(setup: Setup) -> Any:
    request = _request(setup, "openai", **_STREAM)
    if setup.async_client is not None:
        request["client"] = setup.async_client
    async with await litellm.acompletion(**request) as stream:
        return await anext(stream)


_STRUCTURED: dict[str, Any] = {"response_format": Answer}
_VLLM = "hosted_vllm"
_WITH_USAGE = {**_STREAM, "stream_options": {"include_usage": True}}
_APART: dict[str, Any] = {"given_client": False}
_UNSEEN: dict[str, Any] = {"observed": False, **_APART}

PROGRAMS = (
    Program(name="plain", run=_ask()),
    Program(name="plain, async", run=_ask_async()),
    Program(name="stream", run=_ask(**_STREAM)),
    Program(name="stream with usage", run=_ask(**_WITH_USAGE)),
    Program(name="stream, async", run=_ask_async(**_STREAM)),
    Program(name="tool call", run=_ask(**CALL)),
    Program(name="tool call, async", run=_ask_async(**CALL)),
    Program(name="tool call, stream, async", run=_ask_async(**CALL, **_STREAM)),
    Program(name="structured output", run=_ask(**_STRUCTURED)),
    Program(name="structured output, async", run=_ask_async(**_STRUCTURED)),
    Program(name="n = 2", run=_ask(n=2), acceptance=False, on_vllm=False),
    Program(name="completions", run=_completions, **_APART),
    Program(name="stream left early", run=_left, left="abandoned"),
    Program(name="stream left early, async", run=to_end(_left_async), left="abandoned"),
    Program(name="hosted_vllm", run=_ask(_VLLM), **_UNSEEN),
    Program(name="hosted_vllm, async", run=_ask_async(_VLLM), **_UNSEEN),
    Program(name="hosted_vllm, stream", run=_ask(_VLLM, **_STREAM), **_UNSEEN),
    Program(name="responses", run=_responses, **_UNSEEN),
)
