"""Calls on a `Responder`, without a network, in a form that tests can assert on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_specdecode.simulator import Responder

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
RESPONSES = "/v1/responses"
WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}


@dataclass(slots=True)
class Played:
    """An answer that was read to its end: chunks with their times, in seconds."""

    status: int
    headers: dict[str, str]
    raw: bytes
    events: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    done: bool = False
    body: Any = None

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [chunk for _, chunk in self.events]

    @property
    def choice_chunks(self) -> list[dict[str, Any]]:
        return [chunk for chunk in self.chunks if chunk.get("choices")]

    @property
    def text(self) -> str:
        choices = [chunk["choices"][0] for chunk in self.choice_chunks]
        return "".join(
            choice["text"] if "text" in choice else choice["delta"].get("content") or ""
            for choice in choices
        )

    @property
    def usage(self) -> dict[str, Any]:
        return self.body["usage"] if self.body else self.chunks[-1]["usage"]

    @property
    def acceptance(self) -> Any:
        whole = self.body or self.chunks[-1]
        return (whole.get("metrics") or {}).get("speculative_decoding")


def call(responder: Responder, path: str, *, simulate: str = "", **body: Any) -> Played:
    """Send a body and play the answer to its end."""
    headers = {"X-Simulate": simulate} if simulate else {}
    response = responder.respond("POST", path, headers, json.dumps(body).encode())
    played = Played(response.status, dict(response.headers), b"")
    for at_s, data in response.events:
        played.raw += data
        for line in data.decode().splitlines():
            if line == "data: [DONE]":
                played.done = True
            elif line.startswith("data: "):
                played.events.append((at_s, json.loads(line[6:])))
    if not response.streamed:
        played.body = json.loads(played.raw)
    return played


def chat(
    responder: Responder, prompt: str = "Tell me about rivers.", **body: Any
) -> Played:
    """A chat request; streamed with usage unless the body says else."""
    messages = [{"role": "user", "content": prompt}]
    options = {"messages": messages, **WITH_USAGE, **body}
    if not options["stream"]:
        options.pop("stream_options")
    return call(responder, CHAT, **options)


def get(responder: Responder, path: str) -> bytes:
    """The body of a GET."""
    response = responder.respond("GET", path, {}, b"")
    return b"".join(data for _, data in response.events)
