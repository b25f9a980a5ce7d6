"""What the wrapper records is what a real vLLM counted, for every way of speculating.

Each test opens a window: the server's counters are read before and after, and nothing
else uses the server in between. Equality is exact. Where the server counts what no
client can see, the requests have a window of their own and the test says what it is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from client_counts import recorded
from load import Way, async_client, mixed_requests, request, send, sync_client
from plain_http import payloads, sums
from server_counters import window

import otel_specdecode
from otel_specdecode.model import (
    AcceptanceState,
    FirstChunk,
    Outcome,
    Totals,
    UsageOrigin,
)

if TYPE_CHECKING:
    from load import Request
    from vllm_server import Server

    from otel_specdecode import RequestRecord

pytestmark = pytest.mark.e2e

# Long, so that what happens to the first and to the last chunk weighs little.
_LONG_ANSWER = request(stream=True, max_tokens=320, extra_body={"ignore_eos": True})
_ONE_AT_A_TIME = (Way.SYNC_1, Way.ASYNC_1)
_TPOT_TOLERANCE = 0.05
_TRIES = 5
_ENOUGH = 6
# At random, so that good drafts cannot finish it before the server sees the hang-up.
_ENDLESS = request(
    stream=True, max_tokens=1500, temperature=1.0, extra_body={"ignore_eos": True}
)
_LEFT_AFTER = 8


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_payloads_of_raw_responses_add_up_to_the_servers_counters(
    server: Server, concurrency: int
) -> None:
    bodies = [each.body for each in mixed_requests(24)]
    with window(server) as counted:
        found = payloads(server, bodies, concurrency)
    assert sums(found) == counted.difference


@pytest.mark.parametrize("way", list(Way))
def test_what_the_wrapper_recorded_adds_up_to_the_servers_counters(
    server: Server, way: Way, figures: list[str]
) -> None:
    requests = mixed_requests(30)
    with window(server) as counted, otel_specdecode.capture() as records:
        send(server.url, requests, way)
    assert {record.outcome for record in records} == {Outcome.COMPLETED}
    assert len(records) == len(requests)
    figures.append(f"{server.method.name}, {way}: {counted.difference}")
    assert recorded(records) == counted.difference
    # Equal because there is nothing to count would prove nothing. Of eight requests at
    # once this server accepts few drafts, and now and then not a single one.
    assert bool(counted.difference.draft_tokens) is server.speculates
    if way in _ONE_AT_A_TIME:
        assert bool(counted.difference.accepted_tokens) is server.speculates


def test_a_request_ended_by_a_stop_token_is_counted_whole(server: Server) -> None:
    # The engine itself ends it, so that the response carries the counts.
    (answer,) = payloads(server, [request(return_token_ids=True).body], 1)
    stop = {"stop_token_ids": answer["choices"][0]["token_ids"][15:16]}
    requests = [request(stream=each, extra_body=stop) for each in (True, False)]
    with window(server) as counted, otel_specdecode.capture() as records:
        send(server.url, requests, Way.SYNC_1)
    assert {record.finish_reasons for record in records} == {("stop",)}
    assert recorded(records) == counted.difference
    assert bool(counted.difference.spec_steps) is server.speculates


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "completion"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
def test_of_a_request_ended_by_a_stop_string_only_the_tokens_are_known(
    server: Server, stream: bool, chat: bool
) -> None:
    # vLLM finds a stop string in its front end and then tells the engine, which keeps
    # the counts of the request to itself: R, D and C are in /metrics alone. So are
    # the tokens that the last step brought behind the stop string, at most k of them.
    wanted = request(
        chat=chat,
        stream=stream,
        stop=["e"],
        max_tokens=200,
        extra_body={"min_tokens": 20, "ignore_eos": True},
    )
    with window(server) as counted, otel_specdecode.capture() as records:
        send(server.url, [wanted], Way.SYNC_1)
    (record,) = records
    behind_the_stop = counted.difference.output_tokens - record.num_output_tokens
    assert record.finish_reasons == ("stop",)
    assert record.acceptance_state is AcceptanceState.ABSENT
    assert 0 <= behind_the_stop <= server.method.num_spec_tokens
    assert bool(counted.difference.spec_steps) is server.speculates


def test_of_several_choices_only_the_tokens_are_known(server: Server) -> None:
    # vLLM reports acceptance for requests with one choice alone.
    requests = [
        *_both_ways_of(n=2, temperature=1.0),
        *(
            request(["def f(", "class A:"], chat=False, stream=stream)
            for stream in (True, False)
        ),
    ]
    with window(server) as counted, otel_specdecode.capture() as records:
        send(server.url, requests, Way.SYNC_1)
    assert {record.acceptance_state for record in records} == {
        AcceptanceState.NOT_APPLICABLE
    }
    assert recorded(records).output_tokens == counted.difference.output_tokens
    assert bool(counted.difference.spec_steps) is server.speculates


def test_of_the_responses_api_only_the_tokens_are_known(server: Server) -> None:
    # vLLM leaves metrics.speculative_decoding null there.
    options = {"model": "spec-demo", "input": "def f(", "max_output_tokens": 40}
    with (
        window(server) as counted,
        otel_specdecode.capture() as records,
        sync_client(server.url) as client,
    ):
        client.responses.create(**options)
        for _ in client.responses.create(**options, stream=True):
            pass
    assert {record.acceptance_state for record in records} == {
        AcceptanceState.NOT_APPLICABLE
    }
    assert recorded(records).output_tokens == counted.difference.output_tokens
    assert bool(counted.difference.spec_steps) is server.speculates


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_of_a_stream_left_half_way_nothing_is_made_up(
    server: Server, asynchronous: bool
) -> None:
    # Usage and acceptance are on the last chunk, which a client that hangs up never
    # gets, while the server has counted every step up to the abort.
    for _ in range(_TRIES):
        with window(server) as counted, otel_specdecode.capture() as records:
            if asynchronous:
                asyncio.run(_leave_half_way_async(server.url))
            else:
                _leave_half_way(server.url)
        (record,) = records
        assert record.outcome is Outcome.ABANDONED
        assert (record.usage, record.acceptance) == (None, None)
        assert record.num_content_chunks == _LEFT_AFTER
        assert counted.difference.output_tokens >= _LEFT_AFTER
        assert bool(counted.difference.spec_steps) is server.speculates
        # Nor does the server: an aborted request is among none of its finished ones.
        if not any(counted.finished.values()):
            return
    pytest.fail("each time the server had made the whole answer before the hang-up")


def test_a_caller_who_did_not_ask_for_usage_never_sees_it(server: Server) -> None:
    with otel_specdecode.capture() as records, sync_client(server.url) as client:
        chunks = list(client.chat.completions.create(**request(stream=True).options))
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)
    assert [record.usage_origin for record in records] == [UsageOrigin.FORCED]
    assert records[0].num_output_tokens == records[0].usage.output_tokens


def test_time_per_output_token_is_the_engines_own_within_five_percent(
    server: Server, figures: list[str]
) -> None:
    read_promptly: list[RequestRecord] = []
    for _ in range(_TRIES):
        with otel_specdecode.capture() as records:
            send(server.url, [_LONG_ANSWER] * 8, Way.SYNC_1, continuous_usage=True)
        figures.append(_compared(server, "one at a time", records))
        read_promptly += filter(_was_read_promptly, records)
        if len(read_promptly) >= _ENOUGH:
            break
    assert len(read_promptly) >= _ENOUGH, (
        "this machine is too busy to compare two clocks"
    )
    assert {record.first_chunk for record in read_promptly} == {FirstChunk.COUNTED}
    assert Totals.of(read_promptly).tpot_s == pytest.approx(
        _engine_tpot_s(read_promptly), rel=_TPOT_TOLERANCE
    )


def _was_read_promptly(record: RequestRecord) -> bool:
    """Say whether the client was there when the first chunk came.

    A busy machine takes it off its processor in between: 0.4 s was seen, as long as a
    whole answer, and TPOT by the client's clock is that much too short.
    """
    engine = record.server_timing
    late_s = record.ttft_s - engine.queue_s - engine.prefill_s
    return late_s < 0.8 * _TPOT_TOLERANCE * engine.decode_s


def test_time_per_output_token_is_shown_beside_the_engines_at_eight_at_once(
    server: Server, figures: list[str]
) -> None:
    with otel_specdecode.capture() as records:
        send(server.url, [_LONG_ANSWER] * 16, Way.ASYNC_8)
    figures.append(_compared(server, "eight at once", records))
    # No closer bound: a chunk waits until the client has read its other streams.
    assert Totals.of(records).tpot_s > 0
    assert _engine_tpot_s(records) > 0


def _compared(server: Server, load: str, records: list[RequestRecord]) -> str:
    client_s, engine_s = Totals.of(records).tpot_s, _engine_tpot_s(records)
    return (
        f"{server.method.name}, {load}: TPOT {client_s * 1000:.2f} ms at the client,"
        f" {engine_s * 1000:.2f} ms in the engine ({client_s / engine_s - 1:+.1%})"
    )


def _engine_tpot_s(records: list[RequestRecord]) -> float:
    """Seconds a token by the engine's clock: its first token is the prefill's."""
    decode_s = sum(record.server_timing.decode_s for record in records)
    return decode_s / sum(record.num_output_tokens - 1 for record in records)


def _both_ways_of(**options: object) -> list[Request]:
    """Return chat and completion, streamed and not, with the same options."""
    return [
        request(chat=chat, stream=stream, **options)
        for chat in (True, False)
        for stream in (True, False)
    ]


def _leave_half_way(url: str) -> None:
    with sync_client(url) as client:
        stream = client.chat.completions.create(**_ENDLESS.options)
        with stream:
            num_content_chunks = 0
            for chunk in stream:
                num_content_chunks += bool(chunk.choices[0].delta.content)
                if num_content_chunks == _LEFT_AFTER:
                    break


async def _leave_half_way_async(url: str) -> None:
    async with async_client(url) as client:
        stream = await client.chat.completions.create(**_ENDLESS.options)
        async with stream:
            num_content_chunks = 0
            async for chunk in stream:
                num_content_chunks += bool(chunk.choices[0].delta.content)
                if num_content_chunks == _LEFT_AFTER:
                    break
