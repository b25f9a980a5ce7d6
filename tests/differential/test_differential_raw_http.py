"""Code that speaks raw HTTP gets the numbers that the wrapped client gets."""

from __future__ import annotations

import asyncio
import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_wire import Recorded, recorded_like
from scripted_wire import (
    DONE,
    chat_chunk,
    chat_chunks,
    delta,
    event,
    role,
    text_chunks,
    usage,
)
from two_clients import (
    Answer,
    TwoClients,
    iterating,
    streaming_response_bytes,
    streaming_response_lines,
    whole,
)

import otel_specdecode
from otel_specdecode.model import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from otel_specdecode import RequestRecord

STREAMS = recorded_like(stream=True, path_end="completions")
PLAIN = recorded_like(stream=False, path_end="completions")
ASKING = {"stream_options": {"include_usage": True}}
BODY = b"".join([*map(event, chat_chunks(with_usage=True)), DONE])

_clients = {
    endpoint: TwoClients("sync", endpoint) for endpoint in ("chat", "completions")
}


def clients(response: Recorded) -> TwoClients:
    return _clients["chat" if "chat" in response.path else "completions"]


def numbers(record: RequestRecord) -> dict[str, Any]:
    """All that does not hang on a clock, or on who asked for what."""
    arrivals = record.arrivals
    return {
        "operation": record.operation,
        "model": record.response_model,
        "id": record.response_id,
        "finish": record.finish_reasons,
        "engine": record.engine,
        "single": record.single_choice,
        "swallows": record.swallows_steps,
        "outcome": record.outcome,
        "usage": record.usage,
        "acceptance": record.acceptance,
        "state": record.acceptance_state,
        "reason": record.acceptance_reason,
        "first tokens": record.num_first_tokens,
        "timing": record.server_timing,
        "chunking": record.chunking,
        "undercount": record.undercount_factor,
        "chunks": None
        if arrivals is None
        else (
            arrivals.num_chunks,
            arrivals.num_choice_chunks,
            arrivals.num_content_chunks,
            arrivals.gaps.num_gaps,
        ),
    }


def observe(body: bytes, response: Recorded | None = None) -> RequestRecord:
    operation = "chat" if response is None or "chat" in response.path else None
    observed = otel_specdecode.observe_sse(
        body.splitlines(keepends=True),
        request=None if response is None else response.request,
        operation=operation or "text_completion",
    )
    for _ in observed:
        pass
    assert observed.record is not None
    return observed.record


def asked(response: Recorded) -> dict[str, Any]:
    body = response.request or {}
    kept = ("n", "tools", "prompt", "stop", "stream_options")
    return {name: body[name] for name in kept if name in body}


@pytest.mark.parametrize("response", STREAMS, ids=str)
def test_the_lines_of_a_recorded_stream_say_what_the_client_sees(
    response: Recorded,
) -> None:
    by_client = clients(response).record(
        Answer(asked=[response.body]), iterating(**asked(response))
    )
    assert numbers(observe(response.body, response)) == numbers(by_client)


@pytest.mark.parametrize("response", PLAIN, ids=str)
def test_a_recorded_body_says_what_the_client_sees(response: Recorded) -> None:
    answer = Answer(asked=[response.body], content_type="application/json")

    async def create(caller: Any, client: Any) -> Any:
        yield await caller.create(client, **asked(response))

    by_client = clients(response).record(answer, create)
    read = otel_specdecode.record_from(
        json.loads(response.body), request=response.request
    )
    assert numbers(read) == numbers(by_client)


ENDS = [DONE, b"data: {broken\n\n", event({"error": {"message": "gone"}})]
EVENTS = [
    *map(event, chat_chunks(with_usage=True)),
    event(chat_chunk(delta("x"), usage=usage(3))),
    event(chat_chunk(delta("x", "stop"))),
    event(chat_chunk(role())),
    event(chat_chunk(usage=usage(0))),
    event(chat_chunk({"index": 0, "delta": {"reasoning_content": "why"}})),
    event(chat_chunk({"index": 0, "delta": {"content": "x"}, "token_ids": [1, 2]})),
    event({"choices": "malformed"}),
    event({}),
    b": keep-alive\r\n\r\n",
]


@given(
    st.lists(st.sampled_from(EVENTS), max_size=8),
    st.sampled_from(ENDS),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.integers(1, 200),
)
def test_lines_bytes_and_the_client_agree_on_the_same_bytes(
    events: list[bytes], end: bytes, newline: bytes, size: int
) -> None:
    body = b"".join([*events, end]).replace(b"\r\n", b"\n").replace(b"\n", newline)
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    answer = Answer(asked=parts)
    by_client = numbers(_clients["chat"].record(answer, iterating(**ASKING)))
    assert numbers(observe(body)) == by_client
    for read in (streaming_response_bytes, streaming_response_lines):
        by_bytes = numbers(_clients["chat"].record(answer, read))
        assert by_bytes == by_client


def as_text(lines: list[bytes]) -> list[Any]:
    return [line.decode() for line in lines]


LINES: list[bytes] = BODY.splitlines()


async def _arriving(lines: list[Any]) -> AsyncIterator[Any]:
    for line in lines:
        yield line


@pytest.mark.parametrize("lines", [LINES, as_text(LINES)], ids=["bytes", "text"])
def test_lines_are_handed_on_as_they_are_sync_and_async(lines: list[Any]) -> None:
    sync = otel_specdecode.observe_sse(lines)
    assert sync.record is None
    assert list(sync) == lines

    async def read() -> Any:
        observed = otel_specdecode.observe_sse(_arriving(lines))
        assert [line async for line in observed] == lines
        return observed.record

    by_loop = asyncio.run(read())
    assert sync.record is not None
    assert numbers(by_loop) == numbers(sync.record)
    assert sync.record.num_output_tokens == 7
    assert sync.record.outcome is Outcome.COMPLETED


def test_with_the_time_of_sending_every_latency_is_known() -> None:
    observed = otel_specdecode.observe_sse(LINES, sent_at=perf_counter() - 1.0)
    assert list(observed) == LINES
    record = observed.record
    assert record is not None
    assert record.ttft_s is not None
    assert record.ttft_s >= 1.0
    assert record.time_to_first_chunk_s is not None
    assert record.output_token_rate is not None
    assert 0 < record.output_token_rate <= 7.0


def test_without_it_no_latency_since_the_request_is_made_up() -> None:
    observed = otel_specdecode.observe_sse(LINES)
    assert list(observed) == LINES
    record = observed.record
    assert record is not None
    unknown = (record.ttft_s, record.time_to_first_chunk_s, record.output_token_rate)
    assert set(unknown) == {None}
    assert record.tpot_s is not None


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_time_between_two_lines_is_the_consumers(kind: str) -> None:
    slept_s = 0.0

    def work() -> None:
        nonlocal slept_s
        started_at = perf_counter()
        while perf_counter() - started_at < 0.002:
            pass
        slept_s += perf_counter() - started_at

    def read() -> Any:
        observed = otel_specdecode.observe_sse(LINES)
        for _ in observed:
            work()
        return observed.record

    async def read_async() -> Any:
        observed = otel_specdecode.observe_sse(_arriving(LINES))
        async for _ in observed:
            work()
        return observed.record

    record = read() if kind == "sync" else asyncio.run(read_async())
    assert record.arrivals.consumer_s >= slept_s
    assert 0 < record.consumer_share <= 1


def _record_of_a_reader(read: Any, lines: Any = LINES) -> RequestRecord | None:
    """The record after one's own way of reading."""
    observed = otel_specdecode.observe_sse(lines)
    read(observed)
    return observed.record


def _read_some(number: int) -> Any:
    def read(observed: Any) -> None:
        iterator = iter(observed)
        for _ in range(number):
            next(iterator)
        iterator.close()

    return read


def _raise_inside(observed: Any) -> None:
    iterator = iter(observed)
    next(iterator)
    with pytest.raises(KeyError):
        iterator.throw(KeyError("the consumer's own"))


def gone() -> Iterator[bytes]:
    yield from LINES[:3]
    raise ConnectionResetError


def _read_until_gone(observed: Any) -> None:
    with pytest.raises(ConnectionResetError):
        list(observed)


@pytest.mark.parametrize(
    ("read", "lines", "outcome", "error_type"),
    [
        (list, LINES, Outcome.COMPLETED, None),
        (_read_some(3), LINES, Outcome.ABANDONED, None),
        # Whoever stops at [DONE] has read all that there is.
        (_read_some(len(LINES) - 1), LINES, Outcome.COMPLETED, None),
        (_raise_inside, LINES, Outcome.ERROR, "KeyError"),
        (_read_until_gone, gone(), Outcome.ERROR, "ConnectionResetError"),
        (list, [event({"error": "x"})], Outcome.ERROR, "stream_error"),
        (list, [b'data: "\xff"'], Outcome.ERROR, "stream_error"),
        (list, [], Outcome.COMPLETED, None),
    ],
)
def test_lines_end_as_they_were_read(
    read: Any, lines: Any, outcome: Outcome, error_type: str | None
) -> None:
    record = _record_of_a_reader(read, lines)
    assert record is not None
    assert (record.outcome, record.error_type) == (outcome, error_type)


def test_lines_that_nobody_reads_have_no_record() -> None:
    assert _record_of_a_reader(lambda observed: observed) is None


def test_what_comes_after_done_is_not_for_clients() -> None:
    """Some servers send an event of their own there."""
    after = [*LINES, b"event: metrics", event({"choices": [], "usage": usage(999)})]
    record = _record_of_a_reader(list, after)
    assert record is not None
    assert record.num_output_tokens == 7


def test_the_request_tells_choices_tools_and_model() -> None:
    request = {"model": "asked", "n": 2, "tools": [{}]}
    with otel_specdecode.tag(task="code"), otel_specdecode.capture() as requests:
        observed = otel_specdecode.observe_sse(LINES, request=request)
        assert list(observed) == LINES
    (record,) = requests
    assert record is observed.record
    assert record.request_model == "asked"
    assert record.tpot_s is None
    assert record.acceptance is None
    assert record.swallows_steps
    assert record.tags == {"task": "code"}


def test_text_completions_are_read_as_such() -> None:
    body = b"".join([*map(event, text_chunks(with_usage=True)), DONE])
    observed = otel_specdecode.observe_sse(
        body.splitlines(), operation="text_completion"
    )
    assert len(list(observed)) == len(body.splitlines())
    assert observed.record is not None
    assert observed.record.operation == "text_completion"
    assert observed.record.num_content_chunks == 3


@pytest.mark.parametrize(("duration_s", "rate"), [(2.0, 3.5), (None, None)])
def test_a_whole_body_has_a_rate_where_its_time_is_known(
    duration_s: float | None, rate: float | None
) -> None:
    payload = {"choices": [], "usage": usage(7)}
    record = otel_specdecode.record_from(payload, duration_s=duration_s)
    assert record.output_token_rate == (None if rate is None else pytest.approx(rate))


@pytest.mark.parametrize("payload", [None, [], "text", 5])
def test_what_is_no_object_is_no_completion(payload: Any) -> None:
    with pytest.raises(otel_specdecode.PayloadError, match="payload: expected an obj"):
        otel_specdecode.record_from(payload)


def test_an_answer_of_the_client_is_read_the_same() -> None:
    payload = {
        "object": "chat.completion",
        "id": "chatcmpl-1",
        "model": "spec-demo",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {}}],
        "usage": usage(7),
    }
    answer = Answer(
        asked=[json.dumps(payload).encode()], content_type="application/json"
    )
    by_client = _clients["chat"].record(answer, whole)
    assert numbers(otel_specdecode.record_from(payload)) == numbers(by_client)
