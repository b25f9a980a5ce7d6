"""Retries of the client's own, tags of the caller's, and sums over requests."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import pickle
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, Caller
from scripted_wire import Json, Reply, Wire, answer, json_reply

import otel_specdecode

if TYPE_CHECKING:
    import httpx2
    from telemetry import Telemetry

SYNC = Caller("sync")


class Flaky:
    """Fails so many times, then answers."""

    def __init__(self, times: int, failure: Reply | Exception | None = None) -> None:
        self._times = times
        self._failure = failure or json_reply(
            {"error": {"message": "busy"}}, 503, **{"retry-after-ms": "1"}
        )

    def __call__(self, body: Json) -> Reply | BaseException:
        self._times -= 1
        return self._failure if self._times >= 0 else answer(body)


@pytest.mark.parametrize("hooked", ["wrap", "instrument", "both"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_retries_are_counted_and_told_apart_from_waiting(
    caller: Caller,
    hooked: str,
    telemetry: Telemetry,
    instrumentor: otel_specdecode.SpecDecodeInstrumentor,
    *,
    stream: bool,
) -> None:
    if hooked != "wrap":
        instrumentor.instrument(**telemetry.providers)
    client = caller.bare(Wire(Flaky(2)), max_retries=3)
    if hooked != "instrument":
        otel_specdecode.wrap(client, **telemetry.providers)
    with otel_specdecode.capture() as records:
        result = await caller.create(client, stream=stream)
        if stream:
            await caller.read(result)
    (record,) = records
    assert record.num_retries == 2
    assert 0 < record.retry_wait_s < record.duration_s
    assert telemetry.attributes["specdecode.retries"] == 2
    assert len(telemetry.requests()) == 1


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_request_that_works_at_once_has_no_retries(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    with otel_specdecode.capture() as records:
        await caller.create(client)
    assert (records[0].num_retries, records[0].retry_wait_s) == (0, 0.0)


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_request_that_fails_for_good_says_how_often_it_was_tried(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(Flaky(9)), telemetry).with_options(max_retries=2)
    with pytest.raises(openai.InternalServerError):
        await caller.create(client)
    assert telemetry.attributes["specdecode.retries"] == 2
    assert telemetry.attributes["error.type"] == "openai.InternalServerError"


async def test_a_subclass_with_its_own_callback_keeps_it_and_is_counted(
    telemetry: Telemetry,
) -> None:
    class Signing(openai.OpenAI):
        def _prepare_request(self, request: httpx2.Request) -> None:
            super()._prepare_request(request)
            request.headers["x-signed"] = "yes"

    wire = Wire(Flaky(1))
    client = otel_specdecode.wrap(
        Signing(api_key="k", base_url="http://a.test", http_client=wire.sync_client),
        **telemetry.providers,
    )
    await SYNC.create(client)
    assert [headers["x-signed"] for headers in wire.headers] == ["yes", "yes"]
    assert telemetry.attributes["specdecode.retries"] == 1


async def test_tags_are_taken_when_the_call_is_made(telemetry: Telemetry) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    with otel_specdecode.tag(task="code", arm="b"):
        stream = await SYNC.stream(client)
        with otel_specdecode.tag(task=7):
            await SYNC.create(client)
    with otel_specdecode.capture() as records:
        await SYNC.read(stream)
    assert dict(records[0].tags) == {"task": "code", "arm": "b"}
    tasks = [dict(span.attributes or {}) for span in telemetry.spans]
    assert [one["specdecode.tag.task"] for one in tasks] == ["7", "code"]
    assert [one["specdecode.tag.arm"] for one in tasks] == ["b", "b"]
    points = telemetry.points("specdecode.client.requests")
    assert {p.attributes["specdecode.tag.task"] for p in points} == {"7", "code"}


async def test_tags_of_one_task_are_not_those_of_another(telemetry: Telemetry) -> None:
    caller = Caller("async")
    client = caller.wrapped(Wire(answer), telemetry)

    async def tags() -> dict[str, str]:
        record = otel_specdecode.record_of(await caller.create(client))
        assert record is not None
        return dict(record.tags)

    async def work(task: str) -> dict[str, str]:
        with otel_specdecode.tag(task=task):
            await asyncio.sleep(0)
            return await tags()

    assert await asyncio.gather(work("a"), work("b")) == [{"task": "a"}, {"task": "b"}]
    assert await tags() == {}


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_totals_are_sums_first_and_ratios_afterwards(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    with otel_specdecode.capture() as records:
        for _ in range(2):
            await caller.read(await caller.stream(client))
        await caller.create(client)
        stream = await caller.stream(client)
        await caller.done(stream.close())
    totals = otel_specdecode.Totals.of(records)
    assert totals.num_requests == 4
    assert totals.num_completed == 3
    assert totals.num_without_usage == 1
    assert totals.num_output_tokens == 21
    assert totals.num_stream_tokens == 14
    assert totals.num_content_chunks == 6
    assert totals.undercount_factor == pytest.approx(14 / 6)
    assert totals.draft_acceptance_rate == 1
    assert totals.mean_acceptance_length == 3
    assert telemetry.total("output_tokens") == 21
    assert telemetry.total("content_chunks") == 6
    assert telemetry.total("spec_steps") == 6
    assert telemetry.total("draft_tokens") == 12
    assert telemetry.total("accepted_tokens") == 12
    assert telemetry.total("accepted_tokens_by_position") == 12


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_the_record_of_a_response_or_stream_is_had_from_it(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    response = await caller.create(client)
    record = otel_specdecode.record_of(response)
    assert record is not None
    assert record.num_output_tokens == 7

    stream = await caller.stream(client)
    assert otel_specdecode.record_of(stream) is None
    await caller.read(stream)
    record = otel_specdecode.record_of(stream)
    assert record is not None
    assert record.acceptance is not None
    assert record.acceptance.num_accepted_draft_tokens == 4

    raw = await caller.done(
        caller.resource(client).with_raw_response.create(**caller.request())
    )
    record = otel_specdecode.record_of(raw)
    assert record is not None
    assert record.streaming is False


async def test_a_record_is_plain_data_for_another_process_or_a_file() -> None:
    client = otel_specdecode.wrap(SYNC.bare(Wire(answer)))
    with otel_specdecode.tag(task="code"):
        stream = await SYNC.stream(client)
    await SYNC.read(stream)
    record = otel_specdecode.record_of(stream)
    assert record is not None
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record
    as_json = json.loads(json.dumps(dataclasses.asdict(record)))
    assert as_json["tags"] == {"task": "code"}
    assert as_json["usage"]["output_tokens"] == record.num_output_tokens


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_the_record_of_a_stream_helper_is_had_from_it(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    manager = client.chat.completions.stream(**caller.request())
    stream = await caller.enter(manager)
    await caller.read(stream)
    await caller.leave(manager)
    record = otel_specdecode.record_of(stream)
    assert record is not None
    assert record.num_output_tokens == 7


def test_what_was_not_observed_has_no_record() -> None:
    class Hostile:
        @property
        def response(self) -> Any:
            raise RuntimeError

    assert otel_specdecode.record_of(Hostile()) is None
    assert otel_specdecode.record_of("text") is None


async def test_captures_overlap_and_each_gets_what_ends_while_it_is_open(
    telemetry: Telemetry,
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    with otel_specdecode.capture() as outer:
        await SYNC.create(client)
        with otel_specdecode.capture() as inner:
            await SYNC.create(client)
        await SYNC.create(client)
    await SYNC.create(client)
    assert (len(outer), len(inner)) == (3, 1)
    assert len(telemetry.requests()) == 4
