"""A request body, read and checked as vLLM 0.32 does.

Only what changes the answer is read; unknown fields are ignored, as vLLM ignores
them. Source: vLLM 0.32, `entrypoints/openai/*/protocol.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from otel_specdecode.simulator._tools import answer_schema, tool_to_call

Body = Mapping[str, Any]
_NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


class Endpoint(StrEnum):
    """The paths that generate."""

    CHAT = "/v1/chat/completions"
    COMPLETIONS = "/v1/completions"
    RESPONSES = "/v1/responses"


class Refused(Exception):  # noqa: N818 - an HTTP answer, not a failure of ours
    """The request gets an error response."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "BadRequestError",
        param: str | None = None,
    ) -> None:
        # vLLM names the parameter in the text too.
        super().__init__(f"{message} (parameter={param})" if param else message)
        self.status = status
        self.kind = kind
        self.param = param


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """What a request asks for, whichever endpoint it came to.

    Attributes:
        endpoint: path it came to.
        body: the body as it was sent.
        prompts: one text a prompt; chat and responses have one.
        num_prompt_tokens: tokens of each prompt, by the simulator's own rule.
        num_choices_each: n.
        max_tokens: `None` where the request names no limit.
        stop: stop strings.
        ignore_eos: never say the end token.
        key: what the answer's text and draws depend on, beside the prompt.
        stream: whether to stream.
        include_usage: whether a usage chunk was asked for.
        continuous_usage: whether usage was asked for on every chunk.
        return_token_ids: whether chunks carry `token_ids`.
        stream_interval: tokens a chunk waits for; 1 where unasked.
        logprobs: number of alternatives beside each token; `None` for no log
            probabilities at all.
        tool_name: function to call, when the request leaves no other choice.
        may_call_tool: function that the model may call, if it wants to.
        answer_schema: JSON schema that the answer must fit; `None` for free text.
    """

    endpoint: Endpoint
    body: Body
    prompts: tuple[str, ...]
    num_prompt_tokens: tuple[int, ...]
    num_choices_each: int
    max_tokens: int | None
    stop: tuple[str, ...]
    ignore_eos: bool
    key: str
    stream: bool
    include_usage: bool
    continuous_usage: bool
    return_token_ids: bool
    stream_interval: int
    logprobs: int | None
    tool_name: str | None
    may_call_tool: str | None
    answer_schema: Body | None

    @property
    def one_sequence(self) -> bool:
        """Whether acceptance can be told: n = 1 and a single prompt."""
        return self.num_choices_each == 1 and len(self.prompts) == 1


def parse_request(endpoint: Endpoint, raw_body: bytes, model: str) -> GenerationRequest:
    """Read a body.

    Raises:
        Refused: it is not what vLLM accepts.
    """
    body = _load(raw_body)
    try:
        return _read(endpoint, body, model)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Refused(f"a field has a value of the wrong type: {error}") from error


def _read(endpoint: Endpoint, body: Body, model: str) -> GenerationRequest:
    # Refused unless they are numbers, though the text does not depend on them.
    for name in _NUMBERS:
        float(body.get(name) or 0)
    _check_stream_options(body)
    asked_model = body.get("model")
    if asked_model not in (None, "", model):
        raise Refused(
            f"The model `{asked_model}` does not exist. Valid aliases: {model}.",
            status=404,
            kind="NotFoundError",
            param="model",
        )
    prompts, num_tokens = _prompts(endpoint, body)
    options: Body = body.get("stream_options") or {}
    include_usage = bool(options.get("include_usage"))
    tool_name, may_call_tool = tool_to_call(body)
    return GenerationRequest(
        endpoint=endpoint,
        body=body,
        prompts=prompts,
        num_prompt_tokens=num_tokens,
        num_choices_each=_positive(body, "n") or 1,
        max_tokens=_max_tokens(endpoint, body),
        stop=_stop(body),
        ignore_eos=bool(body.get("ignore_eos")),
        key=f"{body.get('seed')}|{bool(body.get('temperature'))}",
        stream=bool(body.get("stream")),
        include_usage=include_usage,
        continuous_usage=include_usage and bool(options.get("continuous_usage_stats")),
        return_token_ids=bool(body.get("return_token_ids")),
        stream_interval=_positive(body, "stream_interval") or 1,
        logprobs=_logprobs(endpoint, body),
        tool_name=tool_name,
        may_call_tool=may_call_tool,
        answer_schema=answer_schema(body),
    )


def _load(raw_body: bytes) -> Body:
    try:
        body = json.loads(raw_body)
    except ValueError as error:
        raise Refused(f"JSON decode error: {error}") from error
    if not isinstance(body, dict):
        raise Refused("Input should be a valid dictionary")
    return cast("Body", body)


def _check_stream_options(body: Body) -> None:
    if body.get("stream_options") and not body.get("stream"):
        raise Refused(
            "Stream options can only be defined when `stream=True`.",
            param="stream_options",
        )


def _positive(body: Body, name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or value < 1:
        raise Refused(f"{name} must be at least 1, got {value}.", param=name)
    return value


def _max_tokens(endpoint: Endpoint, body: Body) -> int | None:
    if endpoint is Endpoint.RESPONSES:
        return _positive(body, "max_output_tokens")
    if endpoint is Endpoint.CHAT:
        longer_name = _positive(body, "max_completion_tokens")
        return longer_name or _positive(body, "max_tokens")
    # The completions API's own default.
    return _positive(body, "max_tokens") or 16


def _logprobs(endpoint: Endpoint, body: Body) -> int | None:
    asked = body.get("logprobs")
    if endpoint is Endpoint.COMPLETIONS:
        return None if asked is None else int(asked)
    return int(body.get("top_logprobs") or 0) if asked else None


def _stop(body: Body) -> tuple[str, ...]:
    stop: str | list[str] = body.get("stop") or []
    return (stop,) if isinstance(stop, str) else tuple(stop)


def _prompts(endpoint: Endpoint, body: Body) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the prompts as text, and how many tokens each has."""
    if endpoint is Endpoint.CHAT:
        messages = body.get("messages")
        if not isinstance(messages, list):
            raise Refused("Field required", param="messages")
        return _conversation(cast("list[Body]", messages))
    if endpoint is Endpoint.RESPONSES:
        given = body.get("input")
        if given is None:
            raise Refused("Field required", param="input")
        if isinstance(given, list):
            return _conversation(cast("list[Body]", given))
        return _conversation([{"role": "user", "content": given}])
    return _completion_prompts(body.get("prompt"))


def _conversation(messages: list[Body]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    text = "\n".join(_message_text(message.get("content")) for message in messages)
    # A chat template spends a few tokens a message, and some to open the answer.
    return (text,), (_count_tokens(text) + 4 * len(messages) + 3,)


def _message_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = cast("list[Body]", content)
    return "".join(str(part.get("text", "")) for part in parts)


def _completion_prompts(prompt: object) -> tuple[tuple[str, ...], tuple[int, ...]]:
    if prompt is None or prompt in ("", []):
        raise Refused(
            "Either prompt or prompt_embeds must be provided and non-empty.",
            param="prompt",
        )
    given: list[Any] = (
        cast("list[Any]", prompt) if isinstance(prompt, list) else [prompt]
    )
    if isinstance(given[0], int):
        # One prompt, given as its token ids.
        given = [given]
    texts: list[str] = []
    counts: list[int] = []
    for each in given:
        texts.append(each if isinstance(each, str) else str(each))
        counts.append(_count_tokens(each) if isinstance(each, str) else len(each))
    return tuple(texts), tuple(counts)


def _count_tokens(text: str) -> int:
    """Tokens of a text: a token is about four bytes of it."""
    return len(text.encode()) // 4 + 1
