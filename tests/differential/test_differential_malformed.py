"""Bytes that no server should send, read by a bare and by a wrapped client.

Our own tests re-raise what our hooks raise, so a malformed payload that was taken for a
failure of ours would show as a difference here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_wire import (
    ACCEPTANCE,
    CHAT_ID,
    DONE,
    ServerGone,
    chat_chunk,
    delta,
    event,
    role,
    text,
    text_chunk,
    usage,
)
from two_clients import (
    Answer,
    Seen,
    TwoClients,
    helper_events,
    iterating,
    raw_response,
    streaming_response_bytes,
    streaming_response_lines,
    whole,
    whole_raw,
)

MODES = ["sync", "async"]
FIRST = event(chat_chunk(role())) + event(chat_chunk(delta("one")))
LAST = event(chat_chunk(delta(" two", "stop"))) + DONE
ERROR = {"error": {"message": "out of memory for: SECRET", "code": 500}}

_clients = {
    (mode, endpoint): TwoClients(mode, endpoint)
    for mode in MODES
    for endpoint in ("chat", "completions")
}


def deep(depth: int) -> bytes:
    return b"data: " + b"[" * depth + b"]" * depth + b"\n\n"


def with_choice(**fields: Any) -> bytes:
    return event(chat_chunk({"index": 0, "finish_reason": None, **fields}))


MALFORMED: dict[str, bytes] = {
    "no JSON": b"data: {broken\n\n",
    "empty data": b"data:\n\n",
    "a number": b"data: 5\n\n",
    "nan": b"data: NaN\n\n",
    "null": b"data: null\n\n",
    "text": b'data: "text"\n\n',
    "a list": b"data: [1, 2]\n\n",
    "an empty object": b"data: {}\n\n",
    "an empty list": b"data: []\n\n",
    "deeply nested": deep(400),
    "too deeply nested": deep(100_000),
    "a huge integer": event({"id": CHAT_ID, "choices": [], "n": 10**400}),
    "no UTF-8": b'data: {"id": "\xff\xfe"}\n\n',
    "a NUL": b'data: {"id": "\x00"}\n\n',
    "an error": event(ERROR),
    "an error in words": event({"error": "out of memory"}),
    "an error of zero": event({"error": 0}),
    "an error event": b"event: error\n" + event(ERROR),
    "an error event of no error": b"event: error\n" + event(chat_chunk(delta("x"))),
    "a named event": b"event: metrics\n" + event({"timings": {"draft_n": 3}}),
    "a thread event": b"event: thread.created\n" + event({"id": "thread-1"}),
    "an id alone": b"id: 7\n\n",
    "a retry alone": b"retry: 10\n\n",
    "comments": b": keep-alive\n\n: keep-alive\r\n\r\n",
    "unknown fields": b"what: ever\n\n",
    "no space behind the colon": event(chat_chunk(delta("x"))).replace(b": ", b":", 1),
    "carriage returns": event(chat_chunk(delta("x"))).replace(b"\n", b"\r\n"),
    "lone carriage returns": event(chat_chunk(delta("x"))).replace(b"\n", b"\r"),
    "data in two lines": b'data: {"id": "a",\ndata: "choices": []}\n\n',
    "choices null": event({"id": CHAT_ID, "choices": None}),
    "choices a string": event({"id": CHAT_ID, "choices": "one"}),
    "choices an object": event({"id": CHAT_ID, "choices": {"0": delta("x")}}),
    "choices a number": event({"id": CHAT_ID, "choices": 1}),
    "choices of null": event({"id": CHAT_ID, "choices": [None]}),
    "choices of strings": event({"id": CHAT_ID, "choices": ["one", "two"]}),
    "choices of lists": event({"id": CHAT_ID, "choices": [[delta("x")]]}),
    "choices of empty objects": event({"id": CHAT_ID, "choices": [{}]}),
    "delta null": with_choice(delta=None),
    "delta a string": with_choice(delta="one"),
    "delta a list": with_choice(delta=["one"]),
    "delta a number": with_choice(delta=1),
    "content a number": with_choice(delta={"content": 12}),
    "content a list": with_choice(delta={"content": ["one"]}),
    "content an object": with_choice(delta={"content": {"text": "one"}}),
    "reasoning a number": with_choice(delta={"reasoning_content": 1}),
    "tool calls a string": with_choice(delta={"tool_calls": "lookup"}),
    "tool calls of null": with_choice(delta={"tool_calls": [None]}),
    "a text choice": event(chat_chunk(text("x"))),
    "index a string": event(chat_chunk({**delta("x", "stop"), "index": "0"})),
    "index huge": event(chat_chunk({**delta("x", "stop"), "index": 10**400})),
    "index null": event(chat_chunk({**delta("x", "stop"), "index": None})),
    "finish reason an object": with_choice(delta={}, finish_reason={"reason": "stop"}),
    "finish reason a list": with_choice(delta={}, finish_reason=["stop"]),
    "usage a string": event(chat_chunk(usage="many")),
    "usage a number": event(chat_chunk(usage=12)),
    "usage a list": event(chat_chunk(usage=[12])),
    "usage empty": event(chat_chunk(usage={})),
    "usage of strings": event(chat_chunk(usage={"completion_tokens": "7"})),
    "usage negative": event(chat_chunk(usage=usage(-7))),
    "usage huge": event(chat_chunk(usage=usage(10**400))),
    "usage true": event(chat_chunk(usage={"completion_tokens": True})),
    "usage on content": event(chat_chunk(delta("x"), usage=usage(-1))),
    "metrics a string": event(chat_chunk(usage=usage(7), metrics="fast")),
    "metrics contradicting": event(
        chat_chunk(
            usage=usage(7),
            metrics={
                "speculative_decoding": {
                    **ACCEPTANCE["speculative_decoding"],
                    "num_draft_tokens": 10**400,
                }
            },
        )
    ),
    "metrics on content": event(chat_chunk(delta("x"), metrics=ACCEPTANCE)),
    "id a number": event({**chat_chunk(delta("x")), "id": 7}),
    "model an object": event({**chat_chunk(delta("x")), "model": {"name": "x"}}),
    "model_extra as a field": event(chat_chunk(delta("x"), model_extra={"a": 1})),
    "names of methods": event(
        chat_chunk(delta("x"), model_dump=1, __class__="y", to_dict=None)
    ),
}
assert len(set(MALFORMED.values())) == len(MALFORMED)
COUNTS_ALONE = {"metrics a string", "metrics contradicting"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_event_looks_the_same_to_both_callers(name: str, mode: str) -> None:
    # What may be the end of a stream that never finishes is kept from who did not ask.
    unasked = [FIRST, LAST] if name in COUNTS_ALONE else None
    answer = Answer(asked=[FIRST, MALFORMED[name], LAST], unasked=unasked)
    for read in (iterating(), helper_events, raw_response, streaming_response_lines):
        _clients[mode, "chat"].hold(answer, read)
    text_answer = Answer(asked=[MALFORMED[name], event(text_chunk(text("x"))), DONE])
    _clients[mode, "completions"].hold(text_answer, iterating())


BODIES: dict[str, list[bytes | BaseException]] = {
    "nothing": [],
    "empty parts": [b"", b"", LAST],
    "no DONE": [FIRST],
    "DONE alone": [DONE],
    "DONE twice": [FIRST, LAST, LAST],
    "no last newline": [FIRST, event(chat_chunk(delta("x"))).rstrip()],
    "one newline missing": [FIRST, event(chat_chunk(delta("x")))[:-1]],
    "a byte order mark": [b"\xef\xbb\xbf" + FIRST, LAST],
    "cut inside a letter": [FIRST, 'data: "ä'.encode()[:-1]],
    "the server gone at once": [ServerGone()],
    "the server gone later": [FIRST, ServerGone()],
    "the server gone inside an event": [FIRST, b"data: {", ServerGone()],
    "JSON in the place of events": [json.dumps(chat_chunk(delta("x"))).encode()],
    "HTML in the place of events": [b"<html><body>Bad gateway</body></html>"],
    "bytes of no meaning": [bytes(range(256)) * 4],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
def test_a_malformed_body_looks_the_same_to_both_callers(
    name: str, mode: str, content_type: str
) -> None:
    answer = Answer(asked=BODIES[name], content_type=content_type)
    for read in (
        iterating(),
        helper_events,
        raw_response,
        streaming_response_bytes,
        whole,
        whole_raw,
    ):
        _clients[mode, "chat"].hold(answer, read)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("status", [400, 422, 429, 500])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"stream_options"',
        b'{"error": null}',
        b'{"error": "stream_options is not supported"}',
        b'{"detail": [{"loc": ["body", "stream_options"], "msg": "extra"}]}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
    ids=lambda body: body[:24].decode("latin-1"),
)
def test_a_malformed_refusal_looks_the_same_to_both_callers(
    body: bytes, status: int, mode: str
) -> None:
    answer = Answer(asked=[body], status=status, content_type="application/json")
    for read in (iterating(), whole):
        seen = _clients[mode, "chat"].hold(answer, read)
        assert seen.error is not None


PLAIN: dict[str, Any] = {
    "null": None,
    "a number": 5,
    "text": "hello",
    "a list": [1],
    "nothing": {},
    "choices null": {"choices": None},
    "choices of strings": {"choices": ["one"]},
    "usage a string": {"choices": [], "usage": "many"},
    "usage huge": {"choices": [], "usage": usage(10**400)},
    "index of all kinds": {"choices": [{"index": i} for i in (None, "0", [], {}, -1)]},
    "finish of all kinds": {
        "choices": [{"finish_reason": f} for f in (None, 7, [], {}, "stop")]
    },
    "metrics contradicting": {
        "choices": [],
        "metrics": {"speculative_decoding": {"num_draft_tokens": -1}},
    },
    "metrics huge": {
        "choices": [],
        "metrics": {"speculative_decoding": None, "queue_time_ms": 10**400},
    },
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PLAIN)
def test_a_malformed_plain_response_looks_the_same(name: str, mode: str) -> None:
    body = json.dumps(PLAIN[name]).encode()
    answer = Answer(asked=[body], content_type="application/json")
    for read in (whole, whole_raw):
        _clients[mode, "chat"].hold(answer, read)


# What stands after the last finish reason and brings nothing is taken for ours, which
# is where a server that sends such chunks unasked looks different.
BRINGING = [
    one
    for one in MALFORMED.values()
    if b'"choices": []' not in one and b'"usage"' not in one
]
FINISH = event(chat_chunk(delta(None, "stop")))


@given(
    st.lists(st.sampled_from([FIRST, FINISH, LAST, *BRINGING]), max_size=6),
    st.sampled_from(MODES),
    st.booleans(),
)
def test_any_order_of_events_looks_the_same(
    body: list[bytes], mode: str, asks: bool
) -> None:
    options = {"stream_options": {"include_usage": True}} if asks else {}
    _clients[mode, "chat"].hold(_as_asked([*body, FINISH]), iterating(**options))


def _as_asked(body: list[bytes]) -> Answer:
    """A server that sends its usage chunk last, and only to those who ask."""
    asked = event(chat_chunk(usage=usage(7), metrics=ACCEPTANCE))
    return Answer(asked=[*body, asked, DONE], unasked=[*body, DONE])


def test_what_is_hidden_is_the_usage_chunk_and_nothing_else() -> None:
    seen: Seen = _clients["sync", "chat"].hold(
        _as_asked([FIRST, event(chat_chunk(delta(" two", "stop")))]), iterating()
    )
    assert len([item for item in seen.items if isinstance(item, tuple)]) == 3
