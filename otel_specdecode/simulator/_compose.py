"""From a request to the sequences that answer it: text, end and drafter."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from otel_specdecode.simulator._engine import Choice, Drafter
from otel_specdecode.simulator._request import Endpoint, GenerationRequest, Refused
from otel_specdecode.simulator._schema import Schema, fitting_json
from otel_specdecode.simulator._script import (
    Ending,
    ReasoningScript,
    Script,
    StopStringScript,
    TextScript,
    ToolCallScript,
)
from otel_specdecode.simulator._tape import (
    Passage,
    Tape,
    code_tape,
    holds_code,
    prose_tape,
)
from otel_specdecode.simulator._tools import tool_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.simulator.directives import Directives
    from otel_specdecode.simulator.profile import Profile, Speculation


def answer_key(profile: Profile, directives: Directives, request: object) -> str:
    """Seed of all draws for a request; the same for streamed and whole answers."""
    seed = profile.seed if directives.seed is None else directives.seed
    return f"{seed}|{request}"


def compose(
    profile: Profile, directives: Directives, request: GenerationRequest, key: str
) -> list[Choice]:
    """Decide everything that the choices will say, before the first step.

    Raises:
        Refused: a prompt leaves no room for an answer.
    """
    return list(_choices(profile, directives, request, key))


def _choices(
    profile: Profile, directives: Directives, request: GenerationRequest, key: str
) -> Iterator[Choice]:
    for at, prompt in enumerate(request.prompts):
        speculation = effective_speculation(profile, directives, prompt)
        limit = _limit(profile, request, request.num_prompt_tokens[at])
        for number in range(request.num_choices_each):
            choice_key = f"{key}|{number}|{prompt}"
            script = _script(profile, directives, request, choice_key, limit)
            yield Choice(
                index=at * request.num_choices_each + number,
                script=script,
                drafter=Drafter(speculation, choice_key) if speculation else None,
            )


def effective_speculation(
    profile: Profile, directives: Directives, prompt: str
) -> Speculation | None:
    """The profile's speculation, as this prompt and these directives change it."""
    speculation = profile.speculation
    if speculation is None:
        return None
    factor = 1.0 if holds_code(prompt) else speculation.open_text_ratio
    rates = tuple(rate * factor for rate in speculation.acceptance_by_position)
    coverage = speculation.coverage
    if coverage < 1:
        coverage *= factor
    if directives.acceptance is not None:
        chance = directives.acceptance
        rates = tuple(chance ** (at + 1) for at in range(len(rates)))
    if directives.coverage is not None:
        coverage = directives.coverage
    return replace(speculation, acceptance_by_position=rates, coverage=coverage)


def _limit(profile: Profile, request: GenerationRequest, num_prompt_tokens: int) -> int:
    if request.max_tokens is not None and request.max_tokens > profile.max_model_len:
        raise Refused(
            f"max_tokens={request.max_tokens} cannot be greater than "
            f"max_model_len={profile.max_model_len}. Please request fewer output "
            "tokens.",
            param="max_tokens",
        )
    room = profile.max_model_len - num_prompt_tokens
    if room < 1:
        raise Refused(
            f"This model's maximum context length is {profile.max_model_len} tokens. "
            f"However, your request has {num_prompt_tokens} input tokens. Please "
            "reduce the length of the input messages."
        )
    return min(request.max_tokens or profile.default_max_tokens, room)


def _script(
    profile: Profile,
    directives: Directives,
    request: GenerationRequest,
    key: str,
    limit: int,
) -> Script:
    if (name := _called_tool(profile, request)) is not None:
        required = request.tool_name is not None
        arguments = _fitting(tool_schema(request.body, name), key)
        return _tool_call(profile, name, arguments, key, limit, required=required)
    if request.answer_schema is not None:
        return _passage(request, _fitting(request.answer_schema, key), limit)
    tape = code_tape() if holds_code(key) else prose_tape()
    start = tape.start_of(zlib.crc32(key.encode()))
    ending = _ending(profile, directives, request, limit)
    if request.stop:
        return _until_stop_string(tape, start, ending, request.stop)
    num_reasoning = directives.num_reasoning_tokens
    if num_reasoning is None:
        num_reasoning = profile.num_reasoning_tokens
    if num_reasoning and request.endpoint is Endpoint.CHAT:
        return ReasoningScript(tape, start, ending, num_reasoning_tokens=num_reasoning)
    return TextScript(tape, start, ending)


def _ending(
    profile: Profile, directives: Directives, request: GenerationRequest, limit: int
) -> Ending:
    """The end token's place if the model says one in time, else the limit."""
    says_end_at = directives.end_after_tokens or profile.end_after_tokens
    if says_end_at is None or says_end_at > limit or request.ignore_eos:
        return Ending(num_tokens=limit, finish_reason="length")
    return Ending(num_tokens=says_end_at, finish_reason="stop")


def _until_stop_string(
    tape: Tape | Passage, start: int, ending: Ending, stop: tuple[str, ...]
) -> TextScript:
    """Find the first stop string, and the token that completes it."""
    text = tape.text(start, start + ending.num_tokens)
    found = min(
        ((at, each) for each in stop if (at := text.find(each)) >= 0), default=None
    )
    # Text that might begin a stop string is held back until it is sure.
    held_back = max(map(len, stop)) - 1
    if found is None:
        return StopStringScript(
            tape, start, ending, num_chars=len(text), held_back=held_back
        )
    at, stop_string = found
    stopped = Ending(
        num_tokens=_tokens_for(tape, start, at + len(stop_string)),
        finish_reason="stop",
        stop_reason=stop_string,
        keeps_whole_step=True,
    )
    return StopStringScript(tape, start, stopped, num_chars=at, held_back=held_back)


def _tokens_for(tape: Tape | Passage, start: int, num_chars: int) -> int:
    """How many tokens it takes until so many characters are said."""
    at = start
    while num_chars > 0:
        num_chars -= len(tape.token_text(at))
        at += 1
    return at - start


def _called_tool(profile: Profile, request: GenerationRequest) -> str | None:
    if request.endpoint is not Endpoint.CHAT:
        return None
    if request.tool_name is not None:
        return request.tool_name
    return request.may_call_tool if profile.tool_calls else None


def _fitting(schema: Schema | None, key: str) -> str:
    try:
        return fitting_json(schema, key)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Refused(f"a JSON schema that cannot be met: {error}") from error


def _passage(request: GenerationRequest, text: str, limit: int) -> Script:
    """A given text, and the end token where the limit leaves room for it."""
    passage = Passage(text)
    whole = passage.num_tokens + 1
    ending = Ending(
        num_tokens=min(whole, limit),
        finish_reason="stop" if whole <= limit else "length",
    )
    if request.stop:
        return _until_stop_string(passage, 0, ending, request.stop)
    return TextScript(passage, 0, ending)


def _tool_call(
    profile: Profile,
    name: str,
    arguments: str,
    key: str,
    limit: int,
    *,
    required: bool,
) -> ToolCallScript:
    return ToolCallScript(
        name,
        arguments,
        f"chatcmpl-tool-{zlib.crc32(key.encode()):08x}",
        required=required,
        buffering=profile.buffering_tool_parser,
        limit=limit,
    )
