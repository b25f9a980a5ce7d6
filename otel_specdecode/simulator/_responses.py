"""The Responses API on the wire: usage, and never an acceptance object.

vLLM 0.32 has a `metrics` field here, but fills it with timing alone, and ends its
stream without `[DONE]`. Source: vLLM 0.32, `entrypoints/openai/responses/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_specdecode.simulator import _usage
from otel_specdecode.simulator._answer import Answer, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.simulator._engine import Choice


class ResponsesWire:
    """`/v1/responses`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._next_number = 0
        self._num_chars = 0
        self._no_logprobs: dict[str, Any] = {"logprobs": []}
        self._message_id = answer.response_id.replace("resp_", "msg_")

    def _event(self, kind: str, members: dict[str, Any]) -> bytes:
        # The events of the openai package, which sorts their members by name.
        body = members | {"sequence_number": self._next_number, "type": kind}
        body = dict(sorted(body.items()))
        self._next_number += 1
        return b"event: " + kind.encode() + b"\ndata: " + to_json(body) + b"\n\n"

    def preamble(self) -> Iterator[bytes]:
        """Two events that say what was asked, before anything is generated."""
        response = self._response("in_progress")
        yield self._event("response.created", {"response": response})
        yield self._event("response.in_progress", {"response": response})

    def opening(self) -> Iterator[bytes]:
        """The message and its only part, beside the first token."""
        item = self._message("in_progress")
        item["content"] = []
        yield self._event(
            "response.output_item.added", {"item": item, "output_index": 0}
        )
        part = self._part("")
        yield self._event("response.content_part.added", self._place | {"part": part})

    @property
    def _place(self) -> dict[str, Any]:
        return {"content_index": 0, "item_id": self._message_id, "output_index": 0}

    def chunk(self, choice: Choice, first: int, last: int) -> bytes | None:  # noqa: ARG002
        """A text delta; none where the step adds no text."""
        text = choice.script.text(last)[self._num_chars :]
        if not text:
            return None
        self._num_chars += len(text)
        self._answer.count_chunk(has_content=True)
        members = self._place | {"delta": text} | self._no_logprobs
        return self._event("response.output_text.delta", members)

    def closing(self) -> Iterator[bytes]:
        """The end of the part, of the message and of the response."""
        text = self._text
        done = self._place | self._no_logprobs | {"text": text}
        yield self._event("response.output_text.done", done)
        part = self._part(text) | {"logprobs": None}
        yield self._event("response.content_part.done", self._place | {"part": part})
        item = self._message("completed")
        yield self._event(
            "response.output_item.done", {"item": item, "output_index": 0}
        )
        response = self._response(self._status)
        yield self._event("response.completed", {"response": response})

    def whole(self) -> bytes:
        """The response in one piece."""
        return to_json(self._response(self._status))

    @property
    def _text(self) -> str:
        choice = self._answer.choices[0]
        return choice.script.text(choice.num_tokens)

    @property
    def _status(self) -> str:
        reason = self._answer.choices[0].script.ending.finish_reason
        return "incomplete" if reason == "length" else "completed"

    def _part(self, text: str) -> dict[str, Any]:
        return {"annotations": [], "text": text, "type": "output_text", "logprobs": []}

    def _message(self, status: str) -> dict[str, Any]:
        part = self._part(self._text) | {"logprobs": None}
        return {
            "id": self._message_id,
            "content": [part],
            "role": "assistant",
            "status": status,
            "type": "message",
            "phase": None,
        }

    def _usage(self) -> dict[str, Any]:
        answer = self._answer
        num_input = answer.num_prompt_tokens
        num_output = answer.tally.num_output_tokens
        return {
            "input_tokens": num_input,
            "input_tokens_details": {
                "cached_tokens": 0,
                "cache_write_tokens": 0,
                "input_tokens_per_turn": [],
                "cached_tokens_per_turn": [],
            },
            "output_tokens": num_output,
            "output_tokens_details": {
                "reasoning_tokens": 0,
                "tool_output_tokens": 0,
                "output_tokens_per_turn": [],
                "tool_output_tokens_per_turn": [],
            },
            "total_tokens": num_input + num_output,
        }

    def _number(self, name: str, default: float) -> float:
        value = self._answer.request.body.get(name)
        return default if value is None else float(value)

    def _metrics(self) -> dict[str, Any]:
        """Timing alone; the key is not there before the end."""
        timing = self._answer.timing
        if not timing:
            return {"metrics": None}
        metrics = dict.fromkeys(_usage.TIMING_FIELDS) | timing
        return {"metrics": metrics | {"speculative_decoding": None}}

    def _response(self, status: str) -> dict[str, Any]:
        answer = self._answer
        body = answer.request.body
        over = status != "in_progress"
        return {
            "id": answer.response_id,
            "created_at": answer.created,
            "incomplete_details": {"reason": "max_output_tokens"}
            if status == "incomplete"
            else None,
            "instructions": body.get("instructions"),
            "metadata": body.get("metadata"),
            "model": answer.profile.model,
            "object": "response",
            "output": [self._message("completed")] if over else [],
            "parallel_tool_calls": body.get("parallel_tool_calls", True),
            "temperature": self._number("temperature", 1.0),
            "tool_choice": body.get(
                "tool_choice", "auto" if body.get("tools") else "none"
            ),
            "tools": body.get("tools", []),
            "top_p": self._number("top_p", 1.0),
            "background": body.get("background", False),
            "max_output_tokens": answer.choices[0].script.ending.num_tokens,
            "max_tool_calls": body.get("max_tool_calls"),
            "previous_response_id": body.get("previous_response_id"),
            "prompt": body.get("prompt"),
            "reasoning": body.get("reasoning"),
            "service_tier": body.get("service_tier", "auto"),
            "status": status,
            "text": body.get("text"),
            "top_logprobs": body.get("top_logprobs"),
            "truncation": body.get("truncation", "disabled"),
            "usage": self._usage() if over else None,
            "user": body.get("user"),
            **(self._metrics() if over else {}),
            "presence_penalty": self._number("presence_penalty", 0.0),
            "frequency_penalty": self._number("frequency_penalty", 0.0),
            "kv_transfer_params": None,
            "ec_transfer_params": None,
            "input_messages": None,
            "output_messages": None,
        }
