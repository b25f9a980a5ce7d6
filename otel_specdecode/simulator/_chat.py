"""`/v1/chat/completions` on the wire: role chunk, deltas, whole answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_specdecode.simulator._answer import to_json
from otel_specdecode.simulator._chunks import ChunkWire
from otel_specdecode.simulator._logprobs import chat_logprobs
from otel_specdecode.simulator._script import TextScript

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_specdecode.simulator._answer import Answer
    from otel_specdecode.simulator._engine import Choice


class ChatWire(ChunkWire):
    """`/v1/chat/completions`."""

    object_name = "chat.completion.chunk"
    _before = b',"delta":{'
    _between = b'},"logprobs":null,"finish_reason":null,"token_ids":null}'
    _empty_choice: Mapping[str, Any] = {"index": 0, "delta": {}}

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._text_heads = [prefix + b'"content":"' for prefix in self._prefix]
        self._text_end = b'"' + self._plain_end

    def opening(self) -> Iterator[bytes]:
        """A role chunk a choice, with empty content, beside the first token."""
        prompt_ids = b"null"
        if self._ids:
            prompt_ids = to_json(list(range(100, 100 + self._answer.num_prompt_tokens)))
        for prefix in self._prefix:
            self._answer.count_chunk(has_content=False)
            yield (
                prefix
                + b'"role":"assistant","content":""},"logprobs":null,'
                + b'"finish_reason":null}]'
                + self._usage_member(0)
                + b',"prompt_token_ids":'
                + prompt_ids
                + b',"prompt_text":null}\n\n'
            )

    def chunk(self, choice: Choice, first: int, last: int) -> bytes | None:
        """A delta with all tokens that are due."""
        finished = choice.finished and last == choice.num_tokens
        script = choice.script
        if not finished and self._plain and type(script) is TextScript:
            # Nearly every chunk: one slice between two prepared parts.
            text = script.json_text(first, last)
            self._answer.count_chunk(has_content=bool(text))
            return self._text_heads[choice.index] + text + self._text_end
        members = script.delta(first, last, finished=finished)
        if members is None:
            if not self._ids:
                return None
            members = b""
        self._answer.count_chunk(has_content=len(members) > len(b'"content":""'))
        if not finished and self._plain:
            return self._prefix[choice.index] + members + self._plain_end
        return (
            self._prefix[choice.index]
            + members
            + b'},"logprobs":'
            + to_json(self._logprobs(choice, first, last))
            + self._ending(choice, finished=finished)
            + b'"token_ids":'
            + self._token_ids(choice, first, last)
            + (self._early(choice) if finished else b"")
            + b"}]"
            + self._tail(last, finished=finished)
        )

    def _logprobs(self, choice: Choice, first: int, last: int) -> dict[str, Any] | None:
        num_top = self._answer.request.logprobs
        if num_top is None:
            return None
        return chat_logprobs(choice.script, first, last, num_top=num_top)

    def whole(self) -> bytes:
        """A `chat.completion`, with the nulls that vLLM writes."""
        answer = self._answer
        body = self._whole("chat.completion", [self._one(c) for c in answer.choices])
        body |= {
            "prompt_logprobs": None,
            "prompt_token_ids": list(range(100, 100 + answer.num_prompt_tokens))
            if self._ids
            else None,
            "prompt_text": None,
            "kv_transfer_params": None,
            "ec_transfer_params": None,
        }
        return to_json(body | answer.whole_metrics())

    def _one(self, choice: Choice) -> dict[str, Any]:
        message = choice.script.message(choice.num_tokens)
        ending = choice.script.ending
        return {
            "index": choice.index,
            "message": {
                "role": "assistant",
                "content": message["content"],
                "refusal": None,
                "annotations": None,
                "audio": None,
                "function_call": None,
                **{k: v for k, v in message.items() if k == "tool_calls"},
                "reasoning": message["reasoning"],
            },
            "logprobs": self._logprobs(choice, 0, choice.num_tokens),
            "finish_reason": ending.finish_reason,
            "stop_reason": ending.stop_reason,
            "token_ids": choice.script.token_ids(0, choice.num_tokens)
            if self._ids
            else None,
            "routed_experts": None,
            **self._answer.early_acceptance(choice),
        }
