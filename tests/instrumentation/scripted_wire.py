"""A scripted server behind a mock transport: exact bytes in an exact order.

It speaks as vLLM 0.32 does and answers a usage chunk only where usage is asked for,
so that a bare and a wrapped client meet the same server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2

MODEL = "spec-demo"
CHAT_ID = "chatcmpl-1"
COMPLETION_ID = "cmpl-1"
BASE_URL = "http://model.test:8000/v1"

HANG = object()
"""In the place of bytes: wait forever, as an asynchronous transport does."""

Part = Any
Json = dict[str, Any]


class ServerGone(httpx2.RemoteProtocolError):
    """The peer closed the connection without a complete message."""

    def __init__(self) -> None:
        super().__init__("peer closed connection")


class Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A response body whose parts are sent one by one, each noted in a log."""

    def __init__(
        self, parts: Sequence[Part], log: list[str], pause: Callable[[], None]
    ) -> None:
        self._log = log
        # Asked for again, a connection goes on where it is.
        self._sent = self._send(parts, pause)

    def _send(self, parts: Sequence[Part], pause: Callable[[], None]) -> Iterator[Part]:
        for number, part in enumerate(parts):
            pause()
            self._log.append(f"send {number}")
            if isinstance(part, BaseException):
                raise part
            yield part

    def __iter__(self) -> Iterator[bytes]:
        return self._sent

    async def __aiter__(self) -> Any:
        for part in self._sent:
            if part is HANG:
                await anyio.sleep_forever()
            yield part

    def close(self) -> None:
        self._log.append("close")

    async def aclose(self) -> None:
        self._log.append("close")


@dataclass
class Reply:
    """What the server answers: whole parts of a body, or exceptions in between."""

    parts: Sequence[Part]
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


def json_reply(payload: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(
        [json.dumps(payload).encode()], status, "application/json", dict(headers)
    )


class Wire:
    """A server made of a function from request body to reply.

    Before each part of a body it calls `pause`, which moves a test's own clock.
    """

    def __init__(
        self,
        reply: Callable[[Json], Reply | BaseException],
        *,
        pause: Callable[[], None] = lambda: None,
    ) -> None:
        self._reply = reply
        self._pause = pause
        self.bodies: list[Json] = []
        self.headers: list[httpx2.Headers] = []
        self.log: list[str] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.bodies.append(body)
        self.headers.append(request.headers)
        reply = self._reply(body)
        if isinstance(reply, BaseException):
            raise reply
        return httpx2.Response(
            reply.status,
            headers={"content-type": reply.content_type, **reply.headers},
            stream=Body(reply.parts, self.log, self._pause),
        )

    @property
    def sync_client(self) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(self))

    @property
    def async_client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self))


def event(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def chat_chunk(*choices: Json, **more: Any) -> Json:
    return {
        "id": CHAT_ID,
        "object": "chat.completion.chunk",
        "created": 1795958016,
        "model": MODEL,
        "choices": list(choices),
        **more,
    }


def text_chunk(*choices: Json, **more: Any) -> Json:
    return {
        "id": COMPLETION_ID,
        "object": "text_completion",
        "created": 1795958016,
        "model": MODEL,
        "choices": list(choices),
        **more,
    }


def delta(content: str | None, finish: str | None = None, index: int = 0) -> Json:
    return {
        "index": index,
        "delta": {} if content is None else {"content": content},
        "logprobs": None,
        "finish_reason": finish,
    }


def role(index: int = 0) -> Json:
    return {
        "index": index,
        "delta": {"role": "assistant", "content": ""},
        "logprobs": None,
        "finish_reason": None,
    }


def text(content: str, finish: str | None = None, index: int = 0) -> Json:
    return {
        "index": index,
        "text": content,
        "logprobs": None,
        "finish_reason": finish,
    }


def usage(num_output_tokens: int, num_input_tokens: int = 5) -> Json:
    return {
        "prompt_tokens": num_input_tokens,
        "total_tokens": num_input_tokens + num_output_tokens,
        "completion_tokens": num_output_tokens,
    }


ACCEPTANCE: Json = {
    "speculative_decoding": {
        "mean_acceptance_length": 3.0,
        "draft_acceptance_rate": 1.0,
        "acceptance_histogram": [0, 0, 2],
        "num_spec_steps": 2,
        "num_accepted_draft_tokens": 4,
        "num_draft_tokens": 4,
        "num_spec_tokens": 2,
    }
}
"""Of the answer below: T = 7, R = 2, C = 4, k = 2."""

NUM_OUTPUT_TOKENS = 7
NUM_CONTENT_CHUNKS = 3


def chat_chunks(*, with_usage: bool) -> list[Json]:
    """Seven tokens in three content chunks, and what vLLM sends around them."""
    chunks = [
        chat_chunk(role()),
        chat_chunk(delta("one")),
        chat_chunk(delta(" two three four")),
        chat_chunk(delta(" five six seven", "stop")),
    ]
    if with_usage:
        chunks.append(chat_chunk(usage=usage(NUM_OUTPUT_TOKENS), metrics=ACCEPTANCE))
    return chunks


def text_chunks(*, with_usage: bool) -> list[Json]:
    chunks = [
        text_chunk(text("one")),
        text_chunk(text(" two three four")),
        text_chunk(text(" five six seven", "stop")),
    ]
    if with_usage:
        chunks.append(text_chunk(usage=usage(NUM_OUTPUT_TOKENS), metrics=ACCEPTANCE))
    return chunks


def whole_answer(body: Json) -> Json:
    chat = "messages" in body
    choice: Json = {"index": 0, "logprobs": None, "finish_reason": "stop"}
    choice |= (
        {"message": {"role": "assistant", "content": "hello"}}
        if chat
        else {"text": "hello"}
    )
    return {
        "id": CHAT_ID if chat else COMPLETION_ID,
        "object": "chat.completion" if chat else "text_completion",
        "created": 1795958016,
        "model": MODEL,
        "choices": [choice],
        "usage": usage(NUM_OUTPUT_TOKENS),
        "metrics": ACCEPTANCE,
    }


def wants_usage(body: Json) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def answer_chunks(body: Json) -> list[Json]:
    make = chat_chunks if "messages" in body else text_chunks
    return make(with_usage=wants_usage(body))


def answer(body: Json) -> Reply:
    """What a well-behaved vLLM answers."""
    if "input" in body:
        return _answer_response(body)
    if not body.get("stream"):
        return json_reply(whole_answer(body))
    return Reply([*map(event, answer_chunks(body)), DONE])


def streaming(*chunks: Json, done: bool = True) -> Callable[[Json], Reply]:
    """Answer every request with these chunks."""
    parts = [*map(event, chunks), *([DONE] if done else [])]
    return lambda body: Reply(parts)


def _answer_response(body: Json) -> Reply:
    response: Json = {
        "id": "resp-1",
        "object": "response",
        "created_at": 1795958016,
        "model": MODEL,
        "status": "completed",
        "output": [
            {
                "id": "msg-1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {"type": "output_text", "text": "one two", "annotations": []}
                ],
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 5,
            "output_tokens": NUM_OUTPUT_TOKENS,
            "total_tokens": 5 + NUM_OUTPUT_TOKENS,
        },
    }
    if not body.get("stream"):
        return json_reply(response)
    started = response | {"status": "in_progress", "output": [], "usage": None}
    part: Json = {"item_id": "msg-1", "output_index": 0, "content_index": 0}
    item: Json = response["output"][0]
    empty: Json = {"type": "output_text", "text": "", "annotations": []}
    events = [
        {"type": "response.created", "response": started},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item | {"content": [], "status": "in_progress"},
        },
        {"type": "response.content_part.added", **part, "part": empty},
        {"type": "response.output_text.delta", **part, "delta": "one", "logprobs": []},
        {"type": "response.output_text.delta", **part, "delta": " two", "logprobs": []},
        {
            "type": "response.output_text.done",
            **part,
            "text": "one two",
            "logprobs": [],
        },
        {"type": "response.completed", "response": response},
    ]
    return Reply(
        [
            f"event: {one['type']}\n".encode()
            + event(one | {"sequence_number": number})
            for number, one in enumerate(events)
        ]
    )
