"""A failure of our own, wherever it happens, is logged once and never the caller's."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CHAT_CALLERS, Caller, collect_garbage
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from scripted_wire import Wire, answer, chat_chunks, json_reply

import otel_specdecode
from otel_specdecode import PayloadError
from otel_specdecode.instrumentation import (
    _guard,
    abandoned,
    captures,
    chunk_reader,
    consumers,
    findings,
    observation,
    raw_body,
    requests,
    streams,
    wire_object,
    wrapping,
)
from otel_specdecode.recording import Recorder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from telemetry import Telemetry

SECRET = "the prompt was: count"


class OurMistakeError(Exception):
    """Raised in the place of one of our own functions."""


def fail(*_: Any, **__: Any) -> Any:
    raise OurMistakeError(SECRET)


@pytest.fixture(autouse=True)
def _as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SPECDECODE_RERAISE")
    monkeypatch.setattr(_guard, "_seen", set())
    monkeypatch.setattr(_guard, "_failures", {})


async def plain(caller: Caller, client: Any) -> Any:
    return await caller.create(client)


async def streamed(caller: Caller, client: Any) -> Any:
    return await caller.read(await caller.stream(client))


async def closed(caller: Caller, client: Any) -> Any:
    stream = await caller.stream(client)
    chunks = await caller.read(stream, most=2)
    await caller.done(stream.close())
    return [*chunks, stream.response.is_closed]


async def raw_lines(caller: Caller, client: Any) -> Any:
    resource = client.chat.completions.with_streaming_response
    manager = resource.create(**caller.request(stream=True))
    response = await caller.enter(manager)
    lines = await caller.read(response.iter_lines())
    await caller.leave(manager)
    return lines


async def raw_json(caller: Caller, client: Any) -> Any:
    resource = client.chat.completions.with_streaming_response
    manager = resource.create(**caller.request())
    response = await caller.enter(manager)
    body = await caller.done(response.read())
    await caller.leave(manager)
    return body


async def responses(caller: Caller, client: Any) -> Any:
    stream = client.responses.create(model="m", input="count", stream=True)
    return list(map(repr, await caller.read(await caller.done(stream))))


async def copied(caller: Caller, client: Any) -> Any:
    return await caller.create(client.with_options(timeout=3))


FAULTS: list[tuple[str, Any, str, Any, str]] = [
    ("the request", requests, "view_request", plain, "preparing a request"),
    ("the client", requests, "view_client", streamed, "preparing a request"),
    ("the span's start", Recorder, "start_span", streamed, "preparing a request"),
    ("the headers", requests, "trace_headers", plain, "preparing a request"),
    ("asking", requests, "asking", streamed, "preparing a request"),
    ("the stream class", requests, "observing", streamed, "preparing a request"),
    ("the answer", findings, "read_usage", plain, "reading a response"),
    ("the record's place", captures, "remember", plain, "reading a response"),
    ("the stream", captures, "remember", streamed, "observing a stream"),
    ("the steps", streams, "ObservedIterator", streamed, "observing a stream"),
    ("the steps", streams, "AsyncObservedIterator", streamed, "observing a stream"),
    ("the closing", streams, "watch_closing", closed, "observing a stream"),
    (
        "a chunk",
        chunk_reader.ChunkReader,
        "_read_before_content",
        streamed,
        "reading a chunk",
    ),
    ("the record", observation, "RequestRecord", streamed, "recording a request"),
    ("the recorder", Recorder, "finish", streamed, "recording a request"),
    ("an attempt", wrapping, "current_observation", plain, "noting an attempt"),
    ("a copy", wrapping, "hook_client", copied, "wrapping a copied client"),
    ("the context", requests.context, "enter", streamed, "entering a request"),
    ("the context", requests.context, "leave", streamed, "leaving a request"),
    ("the consumer", consumers, "consumer_here", streamed, "finding a consumer"),
    ("an event", findings.Findings, "note_identity", responses, "reading a chunk"),
    ("a raw body", raw_body, "RawBody", raw_json, "reading a response"),
    ("raw events", raw_body.SseReader, "feed_bytes", raw_lines, "reading a raw body"),
    ("raw JSON", raw_body, "read_json", raw_json, "reading a raw body"),
]


IS_ASYNC = {"ObservedIterator": False, "AsyncObservedIterator": True}
"""What only one of the two clients comes past."""


@pytest.mark.parametrize(
    ("caller", "place", "name", "use", "hook"),
    [
        pytest.param(caller, place, name, *rest, id=f"{caller}-{what} ({name})")
        for caller in CHAT_CALLERS
        for what, place, name, *rest in FAULTS
        if IS_ASYNC.get(name, caller.is_async) == caller.is_async
    ],
)
async def test_a_fault_of_ours_never_reaches_the_caller_and_is_logged_once(
    caller: Caller,
    place: Any,
    name: str,
    use: Callable[[Caller, Any], Any],
    hook: str,
    telemetry: Telemetry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bare = await use(caller, caller.bare(Wire(answer)))
    client = caller.wrapped(Wire(answer), telemetry)
    monkeypatch.setattr(place, name, fail)
    with caplog.at_level(logging.DEBUG):
        for _ in range(2):
            assert await use(caller, client) == bare
    monkeypatch.undo()
    await collect_garbage()

    # A line a request is there for those who debug.
    ours = [
        r
        for r in caplog.records
        if r.name == "otel_specdecode" and r.levelno > logging.DEBUG
    ]
    assert [record.getMessage().partition(" failed")[0] for record in ours] == [hook]
    assert "OurMistakeError" in ours[0].getMessage()
    assert SECRET not in caplog.text


async def test_a_record_that_is_lost_is_counted(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "RequestRecord", fail)
    caller = Caller("sync")
    await caller.create(caller.wrapped(Wire(answer), telemetry))
    (point,) = telemetry.points("specdecode.client.telemetry_dropped")
    assert (point.value, dict(point.attributes)) == (1, {"specdecode.reason": "failed"})
    assert _guard.failures() == {"recording a request": 1}


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_refusal_that_we_cannot_read_has_the_callers_own_request_sent(
    caller: Caller, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "is_refusal", fail)
    wire = Wire(lambda body: json_reply({"error": {"message": "no"}}, 400))
    with pytest.raises(Exception, match="Error code: 400"):
        await caller.stream(caller.wrapped(wire, telemetry))
    assert ["stream_options" in body for body in wire.bodies] == [True, False]
    assert telemetry.total("telemetry_dropped") == 1


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_error_that_is_no_refusal_has_nothing_sent_again(
    caller: Caller, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "is_refusal", fail)
    wire = Wire(lambda body: json_reply({"error": {"message": "no"}}, 500))
    with pytest.raises(Exception, match="Error code: 500"):
        await caller.stream(caller.wrapped(wire, telemetry))
    assert len(wire.bodies) == 1
    assert telemetry.attributes["specdecode.outcome"] == "error"


async def test_a_span_processor_that_raises_is_not_the_callers_problem(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            raise OurMistakeError

    telemetry.tracer_provider.add_span_processor(Broken())
    caller = Caller("sync")
    client = caller.wrapped(Wire(answer), telemetry)
    with otel_specdecode.capture() as records:
        await caller.create(client)
    assert [record.num_output_tokens for record in records] == [7]
    assert "recording a request failed with OurMistakeError" in caplog.text


async def test_an_abandoned_stream_whose_recording_fails_harms_nobody(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller("sync")
    client = caller.wrapped(Wire(answer), telemetry)
    monkeypatch.setattr(observation.Observation, "end", fail)
    stream = await caller.stream(client)
    next(stream)
    stream = None
    await collect_garbage()
    assert _guard.failures() == {"recording an abandoned stream": 1}
    monkeypatch.undo()
    assert telemetry.total("telemetry_dropped") == 1
    await caller.create(client)
    assert len(telemetry.requests()) == 1


async def test_a_log_handler_that_raises_is_not_the_callers_problem(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OurMistakeError

    handler = Broken()
    _guard.logger.addHandler(handler)
    try:
        monkeypatch.setattr(requests, "view_request", fail)
        caller = Caller("sync")
        response = await caller.create(caller.wrapped(Wire(answer), telemetry))
    finally:
        _guard.logger.removeHandler(handler)
    assert response.choices
    assert _guard.failures() == {"preparing a request": 1}


def test_a_failure_without_a_place_is_logged_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _guard.failed("a hook", OurMistakeError())
    assert "a hook failed with OurMistakeError at unknown" in caplog.text


def test_a_finaliser_of_a_stream_that_was_never_made_is_silent() -> None:
    for kind in (streams.ObservedIterator, raw_body.RawBody):
        half_made: Any = kind.__new__(kind)
        half_made.__del__()
    assert not abandoned._entries


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_stream_that_could_not_be_observed_is_counted_as_lost(
    caller: Caller, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "watch_closing", fail)
    client = caller.wrapped(Wire(answer), telemetry, hide_usage_chunk=False)
    assert len(await streamed(caller, client)) == 5
    assert telemetry.total("telemetry_dropped") == 1
    assert telemetry.requests() == []


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_stream_whose_request_cannot_be_found_is_the_clients_own(
    caller: Caller, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "current_observation", fail)
    client = caller.wrapped(Wire(answer), telemetry, usage="never")
    assert len(await streamed(caller, client)) == 4


async def test_a_consumer_that_cannot_be_examined_is_no_consumers_problem(
    telemetry: Telemetry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    threads: list[Any] = []
    monkeypatch.setattr(consumers, "_consumers", {})
    monkeypatch.setattr(consumers, "_threads", threads)
    monkeypatch.setattr(consumers, "_site_in", fail)
    caller = Caller("sync")
    assert len(await streamed(caller, caller.wrapped(Wire(answer), telemetry))) == 4
    for thread in threads:
        thread.join()
    assert "examining a consumer failed with OurMistakeError" in caplog.text


def test_a_whole_answer_that_cannot_be_recorded_is_said_to_be_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observation, "RequestRecord", fail)
    with pytest.raises(PayloadError, match="expected a completion"):
        otel_specdecode.record_from({"choices": []})


def test_under_our_own_tests_a_failure_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_SPECDECODE_RERAISE", "true")
    with pytest.raises(OurMistakeError):
        _guard.failed("a hook", OurMistakeError())


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_client_that_answers_a_stream_with_something_else_loses_its_record(
    caller: Caller, telemetry: Telemetry
) -> None:
    async def answered_later() -> str:
        return "no stream"

    client = caller.bare(Wire(answer))
    client.request = lambda *_, **__: (  # as a test's double does
        answered_later() if caller.is_async else "no stream"
    )
    otel_specdecode.wrap(client, **telemetry.providers)
    assert await caller.stream(client) == "no stream"
    assert telemetry.total("telemetry_dropped") == 1
    assert "specdecode.outcome" not in telemetry.attributes


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_lines_that_we_fail_to_read_are_handed_on_all_the_same(
    monkeypatch: pytest.MonkeyPatch, *, asynchronous: bool
) -> None:
    async def coming() -> AsyncIterator[str]:
        for line in lines:
            yield line

    lines = [f"data: {json.dumps(chunk)}" for chunk in chat_chunks(with_usage=True)]
    monkeypatch.setattr(raw_body.SseReader, "feed_line", fail)
    if asynchronous:
        observed = otel_specdecode.observe_sse(coming())
        seen = [line async for line in observed]
    else:
        observed = otel_specdecode.observe_sse(lines)
        seen = list(observed)
    assert seen == lines
    assert observed.record is None


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_chunks_as_json_that_cannot_be_read_are_those_of_a_bare_client(
    caller: Caller, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_object, "as_wire", fail)
    monkeypatch.setattr(observation, "as_wire", fail)
    stream_class = openai.AsyncStream if caller.is_async else openai.Stream
    seen: list[Any] = []
    for client in (caller.bare(Wire(answer)), caller.wrapped(Wire(answer), telemetry)):
        stream = await caller.done(
            client.post(
                "/chat/completions",
                body=caller.request(stream=True),
                cast_to=object,
                stream=True,
                stream_cls=stream_class[object],
            )
        )
        seen.append(await caller.read(stream))
    assert seen[0] == seen[1]
    assert telemetry.requests() == []
    assert telemetry.total("telemetry_dropped") == 1
