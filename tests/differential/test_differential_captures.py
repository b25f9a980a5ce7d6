"""Recorded bytes of real servers, read by a bare and by a wrapped client."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_wire import Recorded, recorded, recorded_like
from two_clients import (
    Answer,
    TwoClients,
    helper_events,
    iterating,
    raw_response,
    streaming_response_bytes,
    streaming_response_lines,
    whole,
    whole_raw,
)

CHAT_STREAMS = recorded_like(stream=True, path_end="/chat/completions")
STREAMS = CHAT_STREAMS + recorded_like(stream=True, path_end="/v1/completions")
SINGLE_CHOICE = [
    one
    for one in STREAMS
    if "n" not in (one.request or {})
    and not isinstance((one.request or {}).get("prompt"), list)
]
SINGLE_CHAT_STREAMS = [one for one in SINGLE_CHOICE if one in CHAT_STREAMS]
PLAIN = recorded_like(stream=False, path_end="completions")
REFUSED = [one for one in recorded() if one.status >= 400]
MODES = ["sync", "async"]

_clients: dict[tuple[str, str], TwoClients] = {}


def clients(mode: str, response: Recorded) -> TwoClients:
    """Two clients that ask this response's endpoint, made when first asked for."""
    endpoint = "chat" if "chat" in response.path else "completions"
    key = (mode, endpoint)
    if key not in _clients:
        _clients[key] = TwoClients(mode, endpoint)
    return _clients[key]


def events(body: bytes) -> list[bytes]:
    """Cut a body behind every event."""
    return [part + b"\n\n" for part in body.split(b"\n\n") if part]


def without_usage(response: Recorded) -> list[bytes]:
    """What the server sends where nobody asks: all but the last usage chunk.

    A server that is told to send usage on every chunk sends it unasked.
    """
    if not wants_usage(response) or _is_continuous(response):
        return events(response.body)
    kept = [event for event in events(response.body) if not _is_usage(event)]
    assert len(kept) == len(events(response.body)) - 1
    return kept


def wants_usage(response: Recorded) -> bool:
    options = (response.request or {}).get("stream_options") or {}
    return bool(options.get("include_usage"))


def _is_continuous(response: Recorded) -> bool:
    return response.body.count(b'"completion_tokens":') > 1


def _is_usage(event: bytes) -> bool:
    if not event.startswith(b"data: {"):
        return False
    chunk = json.loads(event.removeprefix(b"data: "))
    return chunk.get("usage") is not None and not chunk["choices"]


def answer_of(response: Recorded) -> Answer:
    return Answer(asked=events(response.body), unasked=without_usage(response))


def request_of(response: Recorded) -> dict[str, Any]:
    """What the caller asked for, the stream's options left out."""
    body = response.request or {}
    return {name: body[name] for name in ("n", "tools", "prompt") if name in body}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("response", STREAMS, ids=str)
def test_a_stream_looks_the_same_to_both_callers(response: Recorded, mode: str) -> None:
    seen = clients(mode, response).hold(
        answer_of(response), iterating(**request_of(response))
    )
    assert len(seen.items) > 2
    assert seen.error is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("response", STREAMS[::3], ids=str)
def test_a_caller_who_asks_for_usage_gets_all_of_it(
    response: Recorded, mode: str
) -> None:
    seen = clients(mode, response).hold(
        answer_of(response),
        iterating(stream_options={"include_usage": True}, **request_of(response)),
    )
    chunks = [item for item in seen.items if isinstance(item, tuple)]
    assert len(chunks) == len(events(response.body)) - 1  # [DONE]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "read",
    [raw_response, streaming_response_bytes, streaming_response_lines],
    ids=lambda read: read.__name__,
)
@pytest.mark.parametrize("response", SINGLE_CHOICE[::4], ids=str)
def test_raw_responses_look_the_same(response: Recorded, read: Any, mode: str) -> None:
    seen = clients(mode, response).hold(answer_of(response), read)
    assert len(seen.items) > 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("response", SINGLE_CHAT_STREAMS[::2], ids=str)
def test_the_helpers_events_look_the_same(response: Recorded, mode: str) -> None:
    seen = clients(mode, response).hold(answer_of(response), helper_events)
    assert len(seen.items) > 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("response", PLAIN, ids=str)
def test_a_plain_response_looks_the_same(response: Recorded, mode: str) -> None:
    answer = Answer(asked=[response.body], content_type="application/json")
    for read in (whole, whole_raw):
        seen = clients(mode, response).hold(answer, read)
        assert seen.error is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("response", REFUSED, ids=str)
def test_a_refusal_looks_the_same(response: Recorded, mode: str) -> None:
    """Every request is refused here, so both tries of the wrapped client are."""
    answer = Answer(
        asked=[response.body], status=response.status, content_type="application/json"
    )
    for read in (iterating(), raw_response, whole):
        seen = clients(mode, response).hold(answer, read)
        assert seen.error is not None


@st.composite
def cut(draw: st.DrawFn, body: bytes) -> list[bytes]:
    """The body in parts, cut at any byte."""
    borders = draw(st.lists(st.integers(0, len(body)), max_size=12).map(sorted))
    ends = [0, *borders, len(body)]
    return [body[start:end] for start, end in pairwise(ends)]


@settings(max_examples=25)
@given(st.data())
def test_where_the_network_cuts_the_bytes_makes_no_difference(
    data: st.DataObject,
) -> None:
    response = data.draw(st.sampled_from(STREAMS), label="response")
    mode = data.draw(st.sampled_from(MODES))
    answer = Answer(
        asked=data.draw(cut(response.body)),
        unasked=data.draw(cut(b"".join(without_usage(response)))),
    )
    more = request_of(response)
    seen = clients(mode, response).hold(answer, iterating(**more))
    assert seen == clients(mode, response).hold(answer_of(response), iterating(**more))


_OWN = re.compile(rb'"(?:id|created|system_fingerprint)":(?:"[^"]*"|\d+|null),?')


def test_the_real_server_sends_the_same_without_usage_but_for_one_chunk() -> None:
    """Shown on what it sent to the same request, twice.

    `system_fingerprint` rides on the last chunk, and so moves to the usage chunk where
    that is asked for: the one thing that a caller can see of our asking.
    """
    pairs = [
        (asked, unasked)
        for asked in STREAMS
        for unasked in STREAMS
        if asked.server == unasked.server
        and unasked.name == f"{asked.name}-without-usage"
    ]
    assert pairs
    for asked, unasked in pairs:
        derived = [_OWN.sub(b"", event) for event in without_usage(asked)]
        real = [_OWN.sub(b"", event) for event in events(unasked.body)]
        assert [event.replace(b",}", b"}") for event in derived] == [
            event.replace(b",}", b"}") for event in real
        ]
