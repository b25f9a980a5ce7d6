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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    _before: bytes
    """Members of a choice between its index and its text."""
    _between: bytes
    """Members between the text of an unfinished choice and its end."""
    _empty_choice: Mapping[str, Any]
    """A choice that brings nothing."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._identity: dict[str, Any] = {
            "id": answer.response_id,
            "object": self.object_name,
            "created": answer.created,
            "model": answer.profile.model,
        }
        self._head = to_json(self._identity)[:-1]
        self._plain_tail = self._usage_member(0) + b"}\n\n"
        # What follows the text of most chunks of a stream, whole.
        self._plain_end = self._between + b"]" + self._plain_tail
        self._running = answer.each is Each.RUNNING
        self._prefix = [self._choice_prefix(choice.index) for choice in answer.choices]
        self._ids = answer.request.return_token_ids
        self._plain = not (
            self._ids or self._running or answer.request.logprobs is not None
        )

    def preamble(self) -> Iterator[bytes]:
        """Nothing: vLLM says nothing before the first token."""
        return iter(())

    def opening(self) -> Iterator[bytes]:
        """Nothing: only chat has a role chunk."""
        return iter(())

    def _choice_prefix(self, index: int) -> bytes:
        number = str(index).encode()
        return b"data: " + self._head + b',"choices":[{"index":' + number + self._before

    def _usage_member(self, num_tokens: int) -> bytes:
        match self._answer.each:
            case Each.NOTHING:
                return b""
            case Each.NULL:
                return b',"usage":null'
            case Each.ZEROS:
                return b',"usage":' + to_json(_usage.usage(0, 0))
            case Each.RUNNING:
                return b',"usage":' + to_json(self._answer.running_usage(num_tokens))

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
        """Members of the choice that follow its log probabilities."""
        if not finished:
            return b',"finish_reason":null,'
        ending = choice.script.ending
        return (
            b',"finish_reason":'
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
        without_choice: dict[str, Any] = {**self._identity, "choices": []}
        if answer.last is Last.BESIDE_A_CHOICE:
            yield event(without_choice)
            with_choice = self._identity | {"choices": [self._empty_choice]}
            yield event(with_choice | {"usage": answer.usage})
            return
        chunk = without_choice | {"usage": answer.usage}
        chunk["system_fingerprint"] = FINGERPRINT
        if (metrics := answer.streamed_metrics()) is not None:
            chunk["metrics"] = metrics
        yield event(chunk)

    def _whole(self, object_name: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        answer = self._answer
        counts = {**answer.usage, "prompt_tokens_details": None}
        # Last in vLLM's order, whether a parser fills it or not.
        counts["completion_tokens_details"] = counts.pop(
            "completion_tokens_details", None
        )
        return self._identity | {
            "object": object_name,
            "choices": choices,
            "service_tier": None,
            "system_fingerprint": FINGERPRINT,
            "usage": counts,
        }
