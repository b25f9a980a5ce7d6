"""Chat and completions on the wire: stream chunks, usage chunk, whole answer.

The parts of a chunk that never change are prepared once an answer, so that a chunk
costs a slice of the tape and one concatenation. Key order and nulls are those of
vLLM 0.32 (`exclude_unset` for chunks, `exclude_none` for the usage chunk).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from otel_specdecode.simulator import _usage
from otel_specdecode.simulator._answer import (
    FINGERPRINT,
    Answer,
    Each,
    Last,
    event,
    to_json,
)
from otel_specdecode.simulator._script import TextScript

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.simulator._engine import Choice


class Wire(Protocol):
    """How one endpoint writes an answer."""

    def preamble(self) -> Iterator[bytes]:
        """Events before anything is generated."""
        ...

    def opening(self) -> Iterator[bytes]:
        """Events beside the first token's chunk, before it."""
        ...

    def chunk(self, choice: Choice, first: int, last: int) -> bytes | None:
        """The event of tokens `first` to `last`; `None` if a parser swallows it."""
        ...

    def closing(self) -> Iterator[bytes]:
        """Events after the last token's chunk, `[DONE]` apart."""
        ...

    def whole(self) -> bytes:
        """The body of an answer that is not streamed."""
        ...


class ChunkWire:
    """What chat and completions have in common."""

    object_name: str
    _between: bytes
    """Members between the text of an unfinished choice and its end."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._head = to_json(
            {
                "id": answer.response_id,
                "object": self.object_name,
                "created": answer.created,
                "model": answer.profile.model,
            }
        )[:-1]
        self._plain_tail = self._usage_member(0) + b"}\n\n"
        # What follows the text of most chunks of a stream, whole.
        self._plain_end = self._between + b"]" + self._plain_tail
        self._running = answer.each is Each.RUNNING
        self._prefix = [self._choice_prefix(choice.index) for choice in answer.choices]
        self._ids = answer.request.return_token_ids
        self._plain = not self._ids and not self._running

    def preamble(self) -> Iterator[bytes]:
        """Nothing: vLLM says nothing before the first token."""
        return iter(())

    def opening(self) -> Iterator[bytes]:
        """Nothing: only chat has a role chunk."""
        return iter(())

    def _choice_prefix(self, index: int) -> bytes:
        raise NotImplementedError

    def _usage_member(self, num_tokens: int) -> bytes:
        match self._answer.each:
            case Each.NOTHING:
                return b""
            case Each.NULL:
                return b',"usage":null'
            case Each.ZEROS:
                return b',"usage":' + to_json(_usage.usage(0, 0))
            case Each.RUNNING:
                counts = _usage.usage(self._answer.num_prompt_tokens, num_tokens)
                return b',"usage":' + to_json(counts)

    def _tail(self, last: int, *, finished: bool) -> bytes:
        """Close the chunk: usage, and on the finish chunk the fingerprint."""
        if not finished and not self._running:
            return self._plain_tail
        member = self._usage_member(last)
        if finished and self._answer.last is Last.ON_FINISH and self._all_done():
            member = b',"usage":' + to_json(self._answer.usage)
        elif finished and self._answer.last is Last.NOWHERE:
            member += b',"system_fingerprint":"' + FINGERPRINT.encode() + b'"'
        return member + b"}\n\n"

    def _all_done(self) -> bool:
        return all(choice.finished for choice in self._answer.choices)

    def _ending(self, choice: Choice, *, finished: bool) -> bytes:
        """Members of the choice that follow its content."""
        if not finished:
            return b'"logprobs":null,"finish_reason":null,'
        ending = choice.script.ending
        return (
            b'"logprobs":null,"finish_reason":'
            + to_json(ending.finish_reason)
            + b',"stop_reason":'
            + to_json(ending.stop_reason)
            + b","
        )

    def _early(self, choice: Choice) -> bytes:
        stats = self._answer.early_acceptance(choice)
        return b"," + to_json(stats)[1:-1] if stats else b""

    def _token_ids(self, choice: Choice, first: int, last: int) -> bytes:
        if not self._ids:
            return b"null"
        return to_json(choice.script.token_ids(first, last))

    def closing(self) -> Iterator[bytes]:
        """The usage chunk, in the place where this server puts it."""
        answer = self._answer
        if answer.last in (Last.NOWHERE, Last.ON_FINISH):
            return
        head = self._final_head()
        no_choices: dict[str, Any] = {"choices": []}
        if answer.last is Last.BESIDE_A_CHOICE:
            yield event(head | no_choices)
            empty = self._empty_choice()
            yield event(head | {"choices": [empty], "usage": answer.usage})
            return
        chunk = head | no_choices | {"usage": answer.usage}
        chunk["system_fingerprint"] = FINGERPRINT
        if (metrics := answer.streamed_metrics()) is not None:
            chunk["metrics"] = metrics
        yield event(chunk)

    def _final_head(self) -> dict[str, Any]:
        answer = self._answer
        return {
            "id": answer.response_id,
            "object": self.object_name,
            "created": answer.created,
            "model": answer.profile.model,
        }

    def _empty_choice(self) -> dict[str, Any]:
        raise NotImplementedError

    def _whole(self, object_name: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        answer = self._answer
        details = {"prompt_tokens_details": None, "completion_tokens_details": None}
        return {
            "id": answer.response_id,
            "object": object_name,
            "created": answer.created,
            "model": answer.profile.model,
            "choices": choices,
            "service_tier": None,
            "system_fingerprint": FINGERPRINT,
            "usage": details | answer.usage,
        }


class ChatWire(ChunkWire):
    """`/v1/chat/completions`."""

    object_name = "chat.completion.chunk"
    _between = b'},"logprobs":null,"finish_reason":null,"token_ids":null}'

    def _choice_prefix(self, index: int) -> bytes:
        return (
            b"data: "
            + self._head
            + b',"choices":[{"index":'
            + str(index).encode()
            + b',"delta":{'
        )

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
        members = choice.script.delta(first, last, finished=finished)
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
            + b"},"
            + self._ending(choice, finished=finished)
            + b'"token_ids":'
            + self._token_ids(choice, first, last)
            + (self._early(choice) if finished else b"")
            + b"}]"
            + self._tail(last, finished=finished)
        )

    def _empty_choice(self) -> dict[str, Any]:
        return {"index": 0, "delta": {}}

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
            "logprobs": None,
            "finish_reason": ending.finish_reason,
            "stop_reason": ending.stop_reason,
            "token_ids": choice.script.token_ids(0, choice.num_tokens)
            if self._ids
            else None,
            "routed_experts": None,
            **self._answer.early_acceptance(choice),
        }


class CompletionWire(ChunkWire):
    """`/v1/completions`."""

    object_name = "text_completion"
    _between = (
        b'","logprobs":null,"finish_reason":null,"stop_reason":null,'
        b'"prompt_token_ids":null,"token_ids":null}'
    )

    def _choice_prefix(self, index: int) -> bytes:
        return (
            b"data: "
            + self._head
            + b',"choices":[{"index":'
            + str(index).encode()
            + b',"text":"'
        )

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
            + b'","logprobs":null,"finish_reason":'
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

    def _empty_choice(self) -> dict[str, Any]:
        return {"index": 0, "text": ""}

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
            "logprobs": None,
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
