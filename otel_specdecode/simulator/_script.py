"""What one choice is going to say, token by token, and which delta carries it.

Scripts know the whole answer beforehand; the engine only decides how many tokens
each step delivers. That is what makes text independent of speculation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

from otel_specdecode.simulator._tape import (
    END_TOKEN_ID,
    THINK_END_TOKEN_ID,
    Passage,
    Tape,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Where a choice ends.

    Attributes:
        num_tokens: T, the end token included.
        finish_reason: `stop`, `length` or `tool_calls`.
        stop_reason: the stop string that ended it, if one did.
        keeps_whole_step: a stop string is found after detokenizing, so that the
            rest of its step counts; the other endings cut the step off.
    """

    num_tokens: int
    finish_reason: str
    stop_reason: str | None = None
    keeps_whole_step: bool = False


class Script(Protocol):
    """The answer of one choice."""

    ending: Ending

    def delta(self, first: int, last: int, *, finished: bool) -> bytes | None:
        """JSON members of the delta that carries tokens `first` to `last`.

        `None` when a parser swallows them.
        """
        ...

    def text(self, last: int) -> str:
        """Content up to token `last`, for an answer in one piece."""
        ...

    def message(self, last: int) -> dict[str, object]:
        """Members of the message beside `role`, for an answer in one piece."""
        ...

    def token_ids(self, first: int, last: int) -> list[int]:
        """Ids of tokens `first` to `last`, the end token included."""
        ...

    def token_texts(self, first: int, last: int) -> list[str]:
        """Text of each of those tokens; empty for parts of a character."""
        ...


class TextScript:
    """Plain content from a tape."""

    def __init__(self, tape: Tape | Passage, start: int, ending: Ending) -> None:
        self._tape = tape
        self._start = start
        self.ending = ending
        # The end token has an id and is counted, but has no text.
        said = ending.finish_reason == "stop" and ending.stop_reason is None
        self._num_text_tokens = ending.num_tokens - said

    def json_text(self, first: int, last: int) -> bytes:
        """Text of tokens `first` to `last`, escaped for a JSON string."""
        if last > self._num_text_tokens:
            last = self._num_text_tokens
        if first >= last:
            return b""
        return self._tape.json_text(self._start + first, self._start + last)

    def delta(self, first: int, last: int, *, finished: bool) -> bytes | None:  # noqa: ARG002
        """Content of the tokens, also where they add no text: it is a step."""
        return b'"content":"' + self.json_text(first, last) + b'"'

    def text(self, last: int) -> str:
        """Content up to token `last`."""
        end = min(last, self._num_text_tokens)
        return self._tape.text(self._start, self._start + end)

    def message(self, last: int) -> dict[str, object]:
        """The content, and no reasoning."""
        return {"content": self.text(last), "reasoning": None}

    def token_texts(self, first: int, last: int) -> list[str]:
        """Texts from the tape, then the end token."""
        return [
            self._tape.token_text(self._start + at)
            if at < self._num_text_tokens
            else "<|im_end|>"
            for at in range(first, last)
        ]

    def token_ids(self, first: int, last: int) -> list[int]:
        """Ids from the tape, then the end token."""
        end = min(last, self._num_text_tokens)
        ids = self._tape.token_ids(self._start + first, self._start + end)
        return ids + [END_TOKEN_ID] * (last - first - len(ids))


class StopStringScript(TextScript):
    """Content that ends at a stop string, with text held back until it is sure."""

    def __init__(
        self,
        tape: Tape | Passage,
        start: int,
        ending: Ending,
        *,
        num_chars: int,
        held_back: int,
    ) -> None:
        super().__init__(tape, start, ending)
        self._num_chars = num_chars
        self._held_back = held_back

    def _visible(self, last: int, *, finished: bool) -> str:
        text = self._tape.text(self._start, self._start + last)
        end = len(text) if finished else max(0, len(text) - self._held_back)
        return text[: min(end, self._num_chars)]

    def delta(self, first: int, last: int, *, finished: bool) -> bytes | None:
        """What became visible with tokens `first` to `last`."""
        text = self._became_visible(first, last, finished=finished)
        return b'"content":' + json.dumps(text, ensure_ascii=False).encode()

    def json_text(self, first: int, last: int) -> bytes:
        """What became visible, escaped, for endpoints that have no delta."""
        finished = last >= self.ending.num_tokens
        text = self._became_visible(first, last, finished=finished)
        return json.dumps(text, ensure_ascii=False)[1:-1].encode()

    def _became_visible(self, first: int, last: int, *, finished: bool) -> str:
        before = len(self._visible(first, finished=False)) if first else 0
        return self._visible(last, finished=finished)[before:]

    def text(self, last: int) -> str:
        """Content without the stop string."""
        return self._visible(last, finished=True)


class ReasoningScript(TextScript):
    """Reasoning first, a control token that no chunk shows, then content."""

    def __init__(
        self, tape: Tape, start: int, ending: Ending, *, num_reasoning_tokens: int
    ) -> None:
        super().__init__(tape, start, ending)
        self.num_reasoning_tokens = min(num_reasoning_tokens, self._num_text_tokens)

    def delta(self, first: int, last: int, *, finished: bool) -> bytes | None:
        """Reasoning, content, both, or nothing where no text was added."""
        boundary = self.num_reasoning_tokens
        reasoning = self.json_text(first, min(last, boundary))
        content = self.json_text(max(first, boundary + 1), last)
        members: list[bytes] = []
        if content:
            members.append(b'"content":"' + content + b'"')
        if reasoning:
            members.append(b'"reasoning":"' + reasoning + b'"')
        return b",".join(members) if members or finished else None

    def text(self, last: int) -> str:
        """Content after the control token."""
        boundary = self.num_reasoning_tokens + 1
        end = min(last, self._num_text_tokens)
        return (
            self._tape.text(self._start + boundary, self._start + end)
            if end > boundary
            else ""
        )

    def message(self, last: int) -> dict[str, object]:
        """Reasoning and content; `None` for content that never came."""
        end = self._start + min(last, self.num_reasoning_tokens)
        return {
            "content": self.text(last) or None,
            "reasoning": self._tape.text(self._start, end),
        }

    def token_ids(self, first: int, last: int) -> list[int]:
        """Ids with the control token in its place."""
        ids = super().token_ids(first, last)
        if first <= self.num_reasoning_tokens < last:
            ids[self.num_reasoning_tokens - first] = THINK_END_TOKEN_ID
        return ids


class ToolCallScript:
    """One tool call: a control token, the name, the arguments, a control token.

    It streams as vLLM's parsers do: the name in a delta of its own, arguments after
    it, and their last piece only when the end is sure.
    """

    def __init__(
        self,
        name: str,
        arguments: str,
        call_id: str,
        *,
        required: bool,
        buffering: bool,
        limit: int,
    ) -> None:
        self._name = name
        self._call_id = call_id
        self._required = required
        self._buffering = buffering
        self._pieces = [arguments[at : at + 4] for at in range(0, len(arguments), 4)]
        self._num_sent = 0
        whole = 2 + len(self._pieces) + 2
        self.ending = Ending(
            num_tokens=min(whole, limit),
            finish_reason="tool_calls" if whole <= limit else "length",
        )

    def delta(self, first: int, last: int, *, finished: bool) -> bytes | None:
        """The name, the arguments that are sure by now, or nothing yet."""
        if self._buffering and not finished:
            return None
        call: dict[str, object] = {"index": 0}
        if self._buffering or first <= 1 < last:
            call = {"id": self._call_id, "type": "function", **call}
            call["function"] = {"name": self._name}
            if finished:
                call["function"] = {
                    "name": self._name,
                    "arguments": self._next_arguments(last, finished=True),
                }
        elif arguments := self._next_arguments(last, finished=finished):
            call["function"] = {"arguments": arguments}
        else:
            return b"" if finished else None
        members = {"content": None, "tool_calls": [call]}
        return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()[
            1:-1
        ]

    def _next_arguments(self, last: int, *, finished: bool) -> str:
        """What was not sent yet; the last piece may be followed by anything."""
        num_said = min(max(0, last - 2), len(self._pieces))
        num_sure = num_said if finished else min(num_said, len(self._pieces) - 1)
        arguments = "".join(self._pieces[self._num_sent : num_sure])
        self._num_sent = max(self._num_sent, num_sure)
        return arguments

    def text(self, last: int) -> str:  # noqa: ARG002
        """A tool call has no content."""
        return ""

    def message(self, last: int) -> dict[str, object]:
        """The whole call."""
        arguments = "".join(self._pieces[: max(0, last - 2)])
        call = {
            "id": self._call_id,
            "type": "function",
            "function": {"name": self._name, "arguments": arguments},
        }
        # vLLM: empty content where a call was demanded, null where it was chosen.
        content = "" if self._required else None
        return {"content": content, "reasoning": None, "tool_calls": [call]}

    def token_texts(self, first: int, last: int) -> list[str]:
        """The pieces, between the control tokens of the call."""
        texts = ["<tool_call>", self._name, *self._pieces, "</tool_call>", "<|im_end|>"]
        return texts[first:last]

    def token_ids(self, first: int, last: int) -> list[int]:
        """Made-up ids: a call is not on the tape."""
        return [7 + at for at in range(first, last)]
