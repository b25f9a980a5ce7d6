"""Reads the chunks of one stream: the hot path.

A reader is called once a chunk, between the client and the caller. It looks at few
attributes, keeps nothing of the content, and says whether the chunk is one that only
this package asked for. `delta.reasoning` and the like live in `model_extra`: asking
these models for an attribute that they do not declare is slow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.instrumentation._guard import attempt_or
from otel_specdecode.instrumentation.chunk_content import (
    has_content,
    has_other_content,
    is_role_chunk,
)
from otel_specdecode.instrumentation.findings import (
    STREAM_ERROR,
    Findings,
    extras_of,
    read_usage,
    says_that_it_failed,
)
from otel_specdecode.instrumentation.request_view import (
    CHAT,
    COMPLETIONS,
    RESPONSES,
    Endpoint,
)
from otel_specdecode.instrumentation.unobserved import is_bare_usage
from otel_specdecode.instrumentation.usage_chunk import brings_usage_alone
from otel_specdecode.model import StreamTally, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NOWHERE = object()
READING = "reading a chunk"
"""The hook in which chunks are read."""


class ChunkReader:
    """Tallies chunks and collects what they say of the request.

    Attributes:
        tally: when they came.
        findings: what they said.
        num_first_tokens: tokens up to and including the first content chunk;
            `None` while or where the server does not count them.
        swallowed: whether a parser for tools or reasoning was seen at work.
    """

    __slots__ = (
        "_chunks_at_early_usage",
        "_chunks_at_usage",
        "_counted_tokens",
        "_first_extras",
        "_hides",
        "_num_choices",
        "_unasked",
        "_wants_continuous",
        "findings",
        "num_first_tokens",
        "swallowed",
        "tally",
    )

    def __init__(
        self,
        findings: Findings,
        *,
        num_choices: int = 1,
        hides: bool = False,
        wants_continuous: bool = False,
    ) -> None:
        self.tally = StreamTally()
        self.findings = findings
        self.num_first_tokens: int | None = None
        self.swallowed = False
        self._num_choices = num_choices
        self._hides = hides
        self._wants_continuous = wants_continuous
        self._counted_tokens: int | None = None
        self._chunks_at_usage: int | None = 0
        self._chunks_at_early_usage: int | None = None
        self._unasked = False
        self._first_extras: Mapping[str, object] = {}

    def pass_over(self, chunk: Any, at: float) -> bool:
        """Note of a chunk that could not be read what is safe to note.

        What comes after the end is still told by the finish reasons.

        Returns:
            Whether to keep it from the caller.
        """
        self.tally.add_chunk(at)
        # It may have carried the last word on usage.
        self._chunks_at_usage = None
        choices = getattr(chunk, "choices", None)
        if isinstance(choices, list):
            for choice in cast("list[object]", choices):
                self.findings.note_finish(choice)
        return self._hides and self.all_finished and is_bare_usage(chunk)

    @property
    def all_finished(self) -> bool:
        """Whether every choice has given its finish reason."""
        return len(self.findings.finish_reasons) >= self._num_choices

    @property
    def usage_unasked(self) -> bool:
        """Whether usage came before the end though nobody asked.

        A chunk of usage alone that nothing follows was the end, also where a choice
        that was asked for never came or never said that it had finished.
        """
        early = self._chunks_at_early_usage
        followed = early is not None and self.tally.num_content_chunks > early
        return self._unasked or followed

    @property
    def usage(self) -> Usage | None:
        """The request's usage; no output tokens where content came after its counts.

        Some servers count at the start and never again, and a stream may be left
        between two counts.
        """
        usage, num_content_chunks = self.findings.usage, self.tally.num_content_chunks
        if usage is None:
            return None
        is_last_word = self._chunks_at_usage == num_content_chunks
        if is_last_word and (usage.output_tokens or num_content_chunks == 0):
            return usage
        return replace(usage, output_tokens=None)

    def read_chat(self, chunk: Any, at: float) -> bool:
        """Read a chunk of a chat completion.

        Args:
            chunk: the client's `ChatCompletionChunk`.
            at: when it arrived.

        Returns:
            Whether to keep it from the caller.
        """
        choices = chunk.choices
        if not choices or chunk.usage is not None:
            return self._read_rare(chunk, choices, at)
        tally = self.tally
        if tally.num_content_chunks == 0:
            self._read_before_content(chunk, choices)
        choice = choices[0]
        delta = choice.delta
        if delta.content:
            tally.add_content_chunk(at)
        else:
            self._add_without_text(choice, delta, at)
        if choice.finish_reason is not None or len(choices) > 1:
            self._note_finishes(choices)
        return False

    def read_completion(self, chunk: Any, at: float) -> bool:
        """Read a chunk of a text completion; arguments as for `read_chat`."""
        choices = chunk.choices
        if not choices or chunk.usage is not None:
            return self._read_rare(chunk, choices, at)
        tally = self.tally
        if tally.num_content_chunks == 0:
            self._read_before_content(chunk, choices)
        choice = choices[0]
        if choice.text:
            tally.add_content_chunk(at)
        else:
            tally.add_choice_chunk(at)
        if choice.finish_reason is not None or len(choices) > 1:
            self._note_finishes(choices)
        return False

    def read_response_event(self, event: Any, at: float) -> bool:
        """Read an event of the Responses API; arguments as for `read_chat`."""
        kind = str(getattr(event, "type", ""))
        if kind.endswith(".delta"):
            self.tally.add_content_chunk(at)
            return False
        self.tally.add_chunk(at)
        if kind == "error":
            self.findings.error_type = STREAM_ERROR
        response = getattr(event, "response", None)
        if response is not None:
            self.findings.note_identity(response)
            extras = extras_of(response)
            self.findings.note_statistics(extras)
            usage = getattr(response, "usage", None)
            if usage is not None and self.findings.note_usage(usage):
                self._chunks_at_usage = self.tally.num_content_chunks
            if says_that_it_failed(response, extras):
                self.findings.error_type = STREAM_ERROR
        return False

    def _read_rare(self, chunk: Any, choices: Any, at: float) -> bool:
        """Read a chunk with usage, or without a choice."""
        # First, since whatever else is wrong with the chunk, these are its last word.
        self.findings.note_statistics(extras_of(chunk))
        hidden = self._hides and self._is_ours(chunk, choices)
        if self.tally.num_content_chunks == 0:
            self._read_before_content(chunk, choices)
        usage = chunk.usage
        counted = usage is not None and self.findings.note_usage(usage)
        if counted:
            self._note_early_usage(alone=not choices)
        if hidden or not choices:
            self.tally.add_chunk(at)
        else:
            self._add_any(choices, at)
            self._note_finishes(choices)
        if counted:
            self._chunks_at_usage = self.tally.num_content_chunks
        return hidden

    def _is_ours(self, chunk: Any, choices: Any) -> bool:
        """Say whether this chunk exists only because usage was asked for.

        It does when every choice has finished and it brings neither content nor a
        finish reason nor a field of somebody else, unless the server was seen to
        send usage anyway.

        Some servers answer one choice where several are wanted, or never say that
        one has finished. A chunk of counts alone is ours there too, once there was
        content: a caller who did not ask trips over its missing choice.
        """
        if self.usage_unasked:
            return False
        if not self.all_finished and (choices or not self._counts_content(chunk)):
            return False
        if choices is None and read_usage(chunk.usage) is None:
            # Shaped like nothing known; what counts tokens alone is ours all the same.
            return False
        return brings_usage_alone(chunk, choices, as_ever=self._first_extras)

    def _counts_content(self, chunk: Any) -> bool:
        usage = read_usage(chunk.usage)
        return bool(usage and usage.output_tokens and self.tally.num_content_chunks)

    def _note_early_usage(self, *, alone: bool) -> None:
        """Note usage that came before every choice had finished."""
        if self.all_finished or self._wants_continuous:
            return
        num_content_chunks = self.tally.num_content_chunks
        if alone and num_content_chunks and not self.usage_unasked:
            self._chunks_at_early_usage = num_content_chunks
        else:
            self._unasked = True

    def _read_before_content(self, chunk: Any, choices: Any) -> None:
        """Note identity, and the tokens that the server counts before content."""
        findings = self.findings
        if findings.response_id is None:
            findings.note_identity(chunk)
            self._first_extras = extras_of(chunk) or {}
        counted = self._count_tokens(chunk, choices)
        if counted and choices and has_content(choices[0]):
            # A server that sends zeros all along counts nothing.
            self.num_first_tokens = self._counted_tokens or None

    def _count_tokens(self, chunk: Any, choices: Any) -> bool:
        """Take a chunk's count of the tokens so far, or add the ids that it brings.

        Returns:
            Whether this very chunk is counted. Gateways are seen to count on the
            role chunk and at the end alone, which says nothing of the first content.
        """
        usage = chunk.usage
        so_far = getattr(usage, "completion_tokens", None) if usage else None
        if type(so_far) is int and so_far >= 0:
            self._counted_tokens = so_far
            return True
        return bool(choices) and self._count_token_ids(choices[0])

    def _count_token_ids(self, choice: Any) -> bool:
        extras = extras_of(choice)
        ids = extras.get("token_ids") if extras else None
        if not (isinstance(ids, list) and ids and isinstance(ids[0], int)):
            return False
        count = len(cast("list[object]", ids))
        self._counted_tokens = (self._counted_tokens or 0) + count
        return True

    def _add_without_text(self, choice: Any, delta: Any, at: float) -> None:
        tally = self.tally
        if has_other_content(delta):
            self.swallowed = True
            tally.add_content_chunk(at)
        elif is_role_chunk(choice, delta) and not (
            tally.num_content_chunks or tally.num_empty_chunks
        ):
            tally.add_role_chunk(at)
        else:
            tally.add_choice_chunk(at)

    def _add_any(self, choices: Any, at: float) -> None:
        choice = choices[0]
        delta = getattr(choice, "delta", None)
        if delta is not None and not getattr(delta, "content", None):
            self._add_without_text(choice, delta, at)
        elif has_content(choice):
            self.tally.add_content_chunk(at)
        else:
            self.tally.add_choice_chunk(at)

    def _note_finishes(self, choices: Any) -> None:
        for choice in choices:
            # The chunk is tallied: one of several choices that has no shape at all
            # must not count it again.
            if getattr(choice, "finish_reason", None) is not None:
                self.findings.note_finish(choice)


def reader_method(endpoint: Endpoint) -> str:
    """Return the name of the method that reads this endpoint's chunks."""
    if endpoint is CHAT:
        return "read_chat"
    return "read_completion" if endpoint is COMPLETIONS else "read_response_event"


def guarded(
    reader: ChunkReader, endpoint: Endpoint, lose: Callable[[], None]
) -> Callable[[Any, float], bool]:
    """Return the function to call with each chunk and its arrival; it never raises.

    Args:
        reader: what reads them.
        endpoint: whose chunks they are.
        lose: ends the request without a record, where we fail to read one.
    """
    read: Callable[[Any, float], bool] = getattr(reader, reader_method(endpoint))

    def read_guarded(chunk: Any, at: float) -> bool:
        try:
            return read(chunk, at)
        except Exception as error:  # noqa: BLE001 (never break the caller)
            attempt_or(lose, READING, pass_over, reader, endpoint, chunk, at, error)
            return False

    return read_guarded


def pass_over(
    reader: ChunkReader, endpoint: Endpoint, chunk: Any, at: float, error: Exception
) -> bool:
    """Pass over a chunk that could not be read, if that is the server's fault.

    Returns:
        Whether to keep it from the caller.

    Raises:
        Exception: `error`, when the chunk has the shape that its endpoint promises:
            then the fault is ours, and what was read is not to be trusted.
    """
    if not isinstance(error, RecursionError) and _is_well_formed(chunk, endpoint):
        raise error
    return reader.pass_over(chunk, at)


def _is_well_formed(chunk: Any, endpoint: Endpoint) -> bool:
    """Say whether a chunk has the shape that its endpoint promises.

    The client builds its models without a look at what the server sent.
    """
    if endpoint is RESPONSES:
        return isinstance(getattr(chunk, "type", None), str)
    choices = getattr(chunk, "choices", None)
    if not isinstance(choices, list):
        return False
    needed = "delta.content" if endpoint is CHAT else "text"
    return all(_has(choice, needed) for choice in cast("list[object]", choices))


def _has(value: object, path: str) -> bool:
    for name in path.split("."):
        value = getattr(value, name, _NOWHERE)
    return value is not _NOWHERE
