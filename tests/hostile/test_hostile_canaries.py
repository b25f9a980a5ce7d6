"""Secrets planted everywhere, and everything of ours searched for them."""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from openai import AsyncOpenAI, OpenAI
from scripted_wire import (
    DONE,
    MODEL,
    Reply,
    Wire,
    chat_chunk,
    delta,
    event,
    json_reply,
    role,
    usage,
    whole_answer,
)
from telemetry import Telemetry

import otel_specdecode
from otel_specdecode.instrumentation import _guard, request_view, requests
from otel_specdecode.instrumentation.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "sk-canary-key"
PROMPT = "canary-prompt"
COMPLETION = "canary-completion"
ARGUMENTS = "canary-tool-arguments"
PASSWORD = "canary-password"
QUERY = "canary-query"
HEADER = "canary-header"
END_USER = "canary-end-user"
CANARY = "canary"

BASE_URL = f"http://canary-name:{PASSWORD}@model.test:8000/v1?token={QUERY}"
MODES = ["sync", "async"]
TOOLS = [{"type": "function", "function": {"name": ARGUMENTS, "parameters": {}}}]
# Fields that hold what they should not, as a server that echoes the request does.
ECHOING = {
    "speculative_decoding": {
        "num_spec_steps": PROMPT,
        "num_draft_tokens": [PROMPT],
        "num_accepted_draft_tokens": {PROMPT: COMPLETION},
        PROMPT: COMPLETION,
    },
    "queue_time_ms": PROMPT,
}


@dataclass
class Everything:
    """All that this package lets out in one test, as text."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    logs: list[str] = field(default_factory=list)
    warned: list[warnings.WarningMessage] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def text(self) -> str:
        spans = [span.to_json() for span in self.telemetry.spans]
        data = self.telemetry._reader.get_metrics_data()
        return "\n".join(
            [
                *spans,
                data.to_json() if data else "",
                *self.logs,
                *(str(one.message) for one in self.warned),
                *map(repr, self.requests),
                *(f"{error!r} {error}" for error in self.errors),
            ]
        )


class _Handler(logging.Handler):
    """Keeps every record that is not the HTTP client's or openai's own."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__(0)
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(("openai", "httpx", "httpcore", "asyncio")):
            shown = logging.Formatter("%(name)s %(message)s").format(record)
            self._kept.append(f"{shown} {record.__dict__!r}")


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> Iterator[Everything]:
    found = Everything()
    # What was logged before is logged again, and no failure of ours is raised.
    monkeypatch.setattr(_guard, "_seen", set())
    monkeypatch.setattr(requests, "refusals", Refusals())
    monkeypatch.setenv("OTEL_SPECDECODE_RERAISE", "false")
    handler = _Handler(found.logs)
    root, ours = logging.getLogger(), logging.getLogger("otel_specdecode")
    levels = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(1)
    ours.setLevel(1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with otel_specdecode.capture() as captured:
            found.warned, found.requests = warned, captured
            yield found
    root.removeHandler(handler)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def make_client(mode: str, wire: Wire, everything: Everything) -> Any:
    kind = AsyncOpenAI if mode == "async" else OpenAI
    http_client = wire.async_client if mode == "async" else wire.sync_client
    client: Any = kind(
        api_key=KEY,
        base_url=BASE_URL,
        max_retries=1,
        http_client=http_client,  # pyright: ignore[reportArgumentType]
        default_headers={"x-secret": HEADER},
        default_query={"api_key": QUERY},
        organization="canary-organization",
    )
    return otel_specdecode.wrap(client, **everything.telemetry.providers)


async def ask(mode: str, client: Any, *, stream: bool, most: int = 100) -> None:
    """Make one call with secrets in every place, and read what comes."""
    pending = client.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": PROMPT},
            {"role": "user", "content": [{"type": "text", "text": PROMPT}]},
        ],
        tools=TOOLS,
        user=END_USER,
        stop=[PROMPT],
        metadata={"secret": PROMPT},
        stream=stream,
        extra_headers={"x-other": HEADER, "cookie": HEADER},
        extra_query={"secret": QUERY},
        extra_body={"secret": PROMPT},
    )
    result = await pending if mode == "async" else pending
    if not stream:
        return
    iterator = aiter(result) if mode == "async" else iter(result)
    for _ in range(most):
        item = await anext(iterator, None) if mode == "async" else next(iterator, None)
        if item is None:
            return
    await result.close() if mode == "async" else result.close()


TOOL_CALL = {
    "index": 0,
    "delta": {
        "tool_calls": [
            {
                "index": 0,
                "id": "call-1",
                "type": "function",
                "function": {"name": ARGUMENTS, "arguments": ARGUMENTS},
            }
        ],
        "reasoning_content": COMPLETION,
        "refusal": COMPLETION,
    },
    "finish_reason": None,
}
QUOTING = {"message": f"invalid prompt: {PROMPT} for {KEY}", "param": PROMPT}
CHUNKS = [
    chat_chunk(role(), secret=PROMPT),
    chat_chunk(delta(COMPLETION)),
    chat_chunk(TOOL_CALL),
]
LAST = chat_chunk(delta(None, "stop"))


def streamed(*chunks: Any, end: bytes = DONE) -> Callable[[Any], Reply]:
    parts = [*map(event, [*CHUNKS, *chunks]), end]
    return lambda body: Reply(parts, headers={"x-echo": HEADER})


def refusing_options(body: Any) -> Reply:
    """A server that refuses the option, and says so in the prompt's words."""
    if "stream_options" in body:
        return json_reply(
            {"error": {**QUOTING, "message": f"stream_options: {PROMPT} {KEY}"}}, 400
        )
    return streamed(LAST)(body)


def plain(body: Any) -> Reply:
    answer = whole_answer(body)
    answer["choices"][0]["message"] |= {"content": COMPLETION, **TOOL_CALL["delta"]}
    return json_reply({**answer, "metrics": ECHOING, "secret": PROMPT})


SERVERS: dict[str, tuple[bool, Callable[[Any], Any]]] = {
    "drained": (True, streamed(LAST, chat_chunk(usage=usage(7), metrics=ECHOING))),
    "error event": (True, streamed({"error": QUOTING})),
    "broken JSON": (True, streamed(end=f'data: {{"{COMPLETION}\n\n'.encode())),
    "malformed chunk": (True, streamed({"choices": [PROMPT]}, LAST)),
    "malformed usage": (True, streamed(chat_chunk(usage={PROMPT: PROMPT}), LAST)),
    "refused option": (True, refusing_options),
    "plain": (False, plain),
    "bad request": (False, lambda body: json_reply({"error": QUOTING}, 400)),
    "server error": (True, lambda body: json_reply({"error": QUOTING}, 500)),
    "unreachable": (True, lambda body: ConnectionError(f"{BASE_URL} {KEY}")),
}


def run(mode: str, everything: Everything, server: str, **how: Any) -> None:
    stream, reply = SERVERS[server]
    client = make_client(mode, Wire(reply), everything)
    with suppress(Exception):  # the caller's own, and openai's
        asyncio.run(ask(mode, client, stream=stream, **how))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("server", SERVERS)
def test_nothing_of_a_request_or_an_answer_gets_out(
    everything: Everything, server: str, mode: str
) -> None:
    run(mode, everything, server)
    assert everything.telemetry.total("requests") == 1
    assert len(everything.requests) == 1
    assert CANARY not in everything.text()


@pytest.mark.parametrize("mode", MODES)
def test_nothing_gets_out_of_a_stream_that_is_left(
    everything: Everything, mode: str
) -> None:
    run(mode, everything, "drained", most=2)
    assert everything.telemetry.requests() == [("abandoned", "absent", "absent")]
    assert CANARY not in everything.text()


class CanaryError(RuntimeError):
    """A failure of ours that quotes everything there is."""


def failing(*_: Any, **__: Any) -> Any:
    raise CanaryError(f"{KEY} {PROMPT} {COMPLETION} {PASSWORD} {HEADER}")


HOOKS = [
    "chunk_reader.ChunkReader.read_chat",
    "chunk_reader.ChunkReader._read_before_content",
    "findings.Findings.note_usage",
    "findings.Findings.note_statistics",
    "findings.Findings.note_identity",
    "observation.Observation.read_response",
    "observation.Observation._freeze",
    "observation.Observation.open_reader",
    "requests.view_request",
    "requests.view_client",
    "requests.observing",
    "requests.start_attributes",
    "requests.trace_headers",
    "requests.should_ask",
    "requests.is_refusal",
    "captures.remember",
    "captures.collect",
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("hook", HOOKS)
def test_nothing_gets_out_when_a_hook_of_ours_fails(
    everything: Everything, hook: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"otel_specdecode.instrumentation.{hook}", failing)
    for server in ("drained", "plain", "refused option"):
        run(mode, everything, server)
    assert any("CanaryError" in line for line in everything.logs)
    assert CANARY not in everything.text().replace("CanaryError", "")


def test_raw_http_keeps_the_same_secrets(everything: Everything) -> None:
    request = {"model": MODEL, "messages": [{"role": "user", "content": PROMPT}]}
    stream, reply = SERVERS["drained"]
    assert stream
    lines = b"".join(reply({}).parts).splitlines()
    observed = otel_specdecode.observe_sse(lines, request=request)
    assert list(observed) == lines
    answer = json.loads(b"".join(plain(request).parts))
    everything.requests += [
        observed,
        observed.record,
        otel_specdecode.record_from(answer, request=request),
    ]
    for payload in (PROMPT, [PROMPT], None):
        with pytest.raises(otel_specdecode.PayloadError) as refused:
            otel_specdecode.record_from(payload)  # pyright: ignore[reportArgumentType]
        everything.errors.append(refused.value)
    assert CANARY not in everything.text()


def test_a_view_of_a_request_does_not_show_its_body() -> None:
    """It may stand in a traceback with the values of its frames."""
    view = request_view.RequestView(
        endpoint=request_view.CHAT,
        streaming=True,
        raw_mode=None,
        body={"messages": PROMPT},
    )
    assert CANARY not in repr(view)


def test_the_search_would_find_a_canary(everything: Everything) -> None:
    """The test of the tests: a tag is the caller's own word, and goes out."""
    with otel_specdecode.tag(task=PROMPT):
        run("sync", everything, "plain")
    assert everything.text().count(PROMPT) >= 3  # span, metrics, record
    logging.getLogger("anything").debug("%s", COMPLETION)
    warnings.warn(HEADER, stacklevel=1)
    assert COMPLETION in everything.text()
    assert HEADER in everything.text()
