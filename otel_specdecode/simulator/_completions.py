"""`/v1/completions` on the wire: texts, whole answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_specdecode.simulator._answer import to_json
from otel_specdecode.simulator._chunks import ChunkWire
from otel_specdecode.simulator._logprobs import completion_logprobs
from otel_specdecode.simulator._script import TextScript

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_specdecode.simulator._engine import Choice


class CompletionWire(ChunkWire):
    """`/v1/completions`."""

    object_name = "text_completion"
    _before = b',"text":"'
    _between = (
        b'","logprobs":null,"finish_reason":null,"stop_reason":null,'
        b'"prompt_token_ids":null,"token_ids":null}'
    )
    _empty_choice: Mapping[str, Any] = {"index": 0, "text": ""}

    def chunk(self, choice: Choice, first: int, last: int) -> bytes | None:
        """The text of all tokens that are due."""
        finished = choice.finished and last == choice.num_tokens
        script = choice.script
        text = script.json_text(first, last) if isinstance(script, TextScript) else b""
        self._answer.count_chunk(has_content=bool(text))
        if not finished and self._plain:
            return self._prefix[choice.index] + text + self._plain_end
        ending = choice.script.ending if finished else None
        reason = to_json(ending.finish_reason) if ending else b"null"
        stop_reason = to_json(ending.stop_reason) if ending else b"null"
        prompt_ids = b"null"
        if self._ids and first == 0:
            count = self._answer.request.num_prompt_tokens[0]
            prompt_ids = to_json(list(range(100, 100 + count)))
        return (
            self._prefix[choice.index]
            + text
            + b'","logprobs":'
            + to_json(self._logprobs(choice, first, last))
            + b',"finish_reason":'
            + reason
            + b',"stop_reason":'
            + stop_reason
            + b',"prompt_token_ids":'
            + prompt_ids
            + b',"token_ids":'
            + self._token_ids(choice, first, last)
            + (self._early(choice) if finished else b"")
            + b"}]"
            + self._tail(last, finished=finished)
        )

    def _logprobs(self, choice: Choice, first: int, last: int) -> dict[str, Any] | None:
        num_top = self._answer.request.logprobs
        if num_top is None:
            return None
        return completion_logprobs(
            choice.script,
            first,
            last,
            num_top=num_top,
            text_offset=len(choice.script.text(first)) if first else 0,
        )

    def whole(self) -> bytes:
        """A `text_completion`, with the nulls that vLLM writes."""
        choices = [self._one(choice) for choice in self._answer.choices]
        body = self._whole("text_completion", choices)
        body |= {"kv_transfer_params": None, "ec_transfer_params": None}
        return to_json(body | self._answer.whole_metrics())

    def _one(self, choice: Choice) -> dict[str, Any]:
        request = self._answer.request
        ending = choice.script.ending
        prompt_index = choice.index // request.num_choices_each
        count = request.num_prompt_tokens[prompt_index]
        return {
            "index": choice.index,
            "text": choice.script.text(choice.num_tokens),
            "logprobs": self._logprobs(choice, 0, choice.num_tokens),
            "finish_reason": ending.finish_reason,
            "stop_reason": ending.stop_reason,
            "token_ids": choice.script.token_ids(0, choice.num_tokens)
            if self._ids
            else None,
            "prompt_logprobs": None,
            "prompt_token_ids": list(range(100, 100 + count)) if self._ids else None,
            "routed_experts": None,
            **self._answer.early_acceptance(choice),
        }
