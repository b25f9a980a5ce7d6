"""The same numbers for code that speaks raw HTTP and never sees the client."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from scripted_wire import (
    ACCEPTANCE,
    Json,
    chat_chunk,
    chat_chunks,
    delta,
    text_chunks,
    usage,
    whole_answer,
)

import otel_specdecode
from otel_specdecode import ConfigError, PayloadError
from otel_specdecode.instrumentation import _guard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


def lines_of(chunks: list[Json], *, done: bool = True) -> list[str]:
    lines: list[str] = []
    for chunk in chunks:
        lines += [f"data: {json.dumps(chunk)}", ""]
    return [*lines, "data: [DONE]", ""] if done else lines


CHAT = lines_of(chat_chunks(with_usage=True))


async def later(lines: list[Any]) -> AsyncIterator[Any]:
    for line in lines:
        yield line


def test_lines_are_handed_on_as_they_come_and_leave_a_record() -> None:
    lines = otel_specdecode.observe_sse(iter(CHAT), sent_at=time.perf_counter())
    assert lines.record is None
    assert list(lines) == CHAT
    record = lines.record
    assert record is not None
    assert (record.outcome, record.num_output_tokens) == ("completed", 7)
    assert record.acceptance is not None
    assert record.acceptance.num_accepted_draft_tokens == 4
    assert record.num_content_chunks == 3
    assert record.ttft_s is not None
    assert record.tpot_s is not None


async def test_lines_that_come_asynchronously_leave_the_same_record() -> None:
    with otel_specdecode.capture() as records:
        lines = otel_specdecode.observe_sse(later([line.encode() for line in CHAT]))
        seen = [line async for line in lines]
    assert seen == [line.encode() for line in CHAT]
    assert [record.num_output_tokens for record in records] == [7]


def test_without_the_instant_of_the_request_times_since_it_are_unknown() -> None:
    lines = otel_specdecode.observe_sse(CHAT)
    list(lines)
    record = lines.record
    assert record is not None
    assert record.ttft_s is None
    assert record.output_token_rate is None
    assert record.tpot_s is not None


def test_the_request_tells_the_model_and_the_choices() -> None:
    request = {"model": "asked-for", "n": 2}
    lines = otel_specdecode.observe_sse(CHAT, request=request)
    list(lines)
    record = lines.record
    assert record is not None
    assert record.request_model == "asked-for"
    assert record.acceptance_state == "not_applicable"


def test_several_choices_that_nobody_told_us_of_show_in_the_answer() -> None:
    chunks = [
        chat_chunk(delta("a", index=0)),
        chat_chunk(delta("b", "stop", index=1)),
        chat_chunk(delta("c", "stop", index=0)),
        chat_chunk(usage=usage(9)),
    ]
    lines = otel_specdecode.observe_sse(lines_of(chunks))
    list(lines)
    record = lines.record
    assert record is not None
    assert (record.num_output_tokens, record.tpot_s) == (9, None)
    assert record.acceptance_state == "not_applicable"
    assert record.acceptance_reason == "servers report none for 2 choices together"


def test_text_completions_are_read_when_it_is_said_that_they_are() -> None:
    chunks = lines_of(text_chunks(with_usage=True))
    lines = otel_specdecode.observe_sse(chunks, operation="text_completion")
    list(lines)
    record = lines.record
    assert record is not None
    assert (record.operation, record.num_content_chunks) == ("text_completion", 3)


@pytest.mark.parametrize("most", [3, 1000])
def test_lines_that_are_left_are_abandoned_unless_they_were_done(most: int) -> None:
    lines = otel_specdecode.observe_sse(CHAT[:-1])
    iterator = iter(lines)
    for _ in range(min(most, len(CHAT) - 1)):
        next(iterator)
    iterator.close()  # type: ignore[attr-defined]
    assert lines.record is not None
    assert lines.record.outcome == ("abandoned" if most == 3 else "completed")


async def test_asynchronous_lines_that_are_left_are_abandoned() -> None:
    lines = otel_specdecode.observe_sse(later(CHAT))
    iterator = aiter(lines)
    await anext(iterator)
    await iterator.aclose()  # type: ignore[attr-defined]
    assert lines.record is not None
    assert lines.record.outcome == "abandoned"


def breaking_off() -> Iterator[str]:
    yield CHAT[0]
    raise ConnectionResetError("peer")


def test_a_connection_that_breaks_is_an_error_and_raised() -> None:
    lines = otel_specdecode.observe_sse(breaking_off())
    with pytest.raises(ConnectionResetError, match="peer"):
        list(lines)
    assert lines.record is not None
    assert lines.record.error_type == "ConnectionResetError"


async def test_an_asynchronous_connection_that_breaks_is_an_error_and_raised() -> None:
    async def breaking() -> AsyncIterator[str]:
        for line in breaking_off():
            yield line

    lines = otel_specdecode.observe_sse(breaking())
    with pytest.raises(ConnectionResetError, match="peer"):
        _ = [line async for line in lines]
    assert lines.record is not None
    assert lines.record.outcome == "error"


@pytest.mark.parametrize(
    "line",
    [
        'data: {"error": {"message": "out of memory"}}',
        'data: {"id": "chatcm',
        "data: " + "[" * 100_000,
        b"data: \xff\xfe",
    ],
    ids=["error", "cut", "deep", "not UTF-8"],
)
def test_what_a_client_would_raise_on_is_an_error(line: str | bytes) -> None:
    lines = otel_specdecode.observe_sse([*CHAT[:4], line, *CHAT[4:]])
    list(lines)
    record = lines.record
    assert record is not None
    assert (record.outcome, record.error_type) == ("error", "stream_error")
    assert record.num_output_tokens is None


def test_comments_and_other_fields_of_events_say_nothing() -> None:
    lines = otel_specdecode.observe_sse([": ping", "event: x", "id: 1", *CHAT])
    list(lines)
    assert lines.record is not None
    assert lines.record.num_content_chunks == 3


@pytest.mark.parametrize("payload", [5, "text", [1], None, {"choices": None}])
def test_events_of_another_shape_say_nothing(payload: Any) -> None:
    strange = f"data: {json.dumps(payload)}"
    lines = otel_specdecode.observe_sse([strange, *CHAT])
    assert list(lines) == [strange, *CHAT]
    assert lines.record is not None
    assert lines.record.num_output_tokens == 7
    assert lines.record.arrivals is not None
    assert lines.record.arrivals.num_chunks == 6


def test_an_event_spread_over_lines_is_read_as_one() -> None:
    spread = [
        f"data: {part}"
        for chunk in chat_chunks(with_usage=True)
        for part in (*json.dumps(chunk, indent=1).splitlines(), "")
    ]
    lines = otel_specdecode.observe_sse(
        [line if line != "data: " else "" for line in spread] + ["data: [DONE]", ""]
    )
    list(lines)
    record = lines.record
    assert record is not None
    assert (record.outcome, record.num_output_tokens) == ("completed", 7)
    assert record.num_content_chunks == 3


@pytest.mark.parametrize("more", ["", "data: [DONE]", "data: x"])
def test_what_is_no_json_ends_the_reading(more: str) -> None:
    lines = otel_specdecode.observe_sse([*CHAT[:2], "data: {", *([more] * 1002), *CHAT])
    assert len(list(lines)) == 1005 + len(CHAT)
    record = lines.record
    assert record is not None
    assert (record.outcome, record.num_output_tokens) == ("error", None)


@pytest.mark.parametrize("line", [None, 5, {}, memoryview(b"data: {")])
def test_what_is_no_line_says_nothing_and_breaks_no_loop(line: Any) -> None:
    lines = otel_specdecode.observe_sse([line, *map(str.encode, CHAT)])
    assert len(list(lines)) == len(CHAT) + 1
    assert lines.record is not None
    assert (lines.record.outcome, lines.record.num_output_tokens) == ("completed", 7)


def test_what_is_no_line_is_said_to_be_none_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_guard, "_seen", set())
    list(otel_specdecode.observe_sse([{"choices": []}] * 3))  # type: ignore[list-item]
    (message,) = caplog.messages
    assert message.startswith("observe_sse() was given dict where it expects lines")


WHOLE_ANSWERS = {
    '{"error": {"message": "no such model"}}': "error",
    '{"object": "response", "status": "failed"}': "error",
    '{"model": "m", "done": false}': "completed",
    "{broken": "completed",
}


@pytest.mark.parametrize("body", WHOLE_ANSWERS)
def test_an_error_in_the_place_of_a_stream_is_an_error(body: str) -> None:
    """Whoever does not look at the status reads its body as lines."""
    lines = otel_specdecode.observe_sse([body])
    assert list(lines) == [body]
    assert lines.record is not None
    assert lines.record.outcome == WHOLE_ANSWERS[body]


def test_a_field_of_no_meaning_between_events_says_nothing() -> None:
    lines = otel_specdecode.observe_sse([*CHAT[:2], '{"error": "x"}', *CHAT[2:]])
    list(lines)
    assert lines.record is not None
    assert lines.record.outcome == "completed"


def test_lines_may_be_bytearrays() -> None:
    lines = otel_specdecode.observe_sse([bytearray(x.encode()) for x in CHAT])  # type: ignore[list-item]
    list(lines)
    assert lines.record is not None
    assert lines.record.num_output_tokens == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sent_at": time.time()}, "sent_at: expected a reading of time.perf"),
        ({"sent_at": float("nan")}, "sent_at: expected a reading of time.perf"),
        ({"operation": "embeddings"}, "operation: expected one of chat, text_compl"),
        ({"request": [1]}, "request: expected the JSON object sent, got list"),
        ({"sent_at": "1"}, "sent_at: expected a reading of time.perf"),
    ],
)
def test_an_argument_that_would_make_wrong_numbers_is_refused(
    arguments: Any, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        otel_specdecode.observe_sse(CHAT, **arguments)


@pytest.mark.parametrize("lines", ["data: {}", b"data: {}", {"data": 1}, None, 5])
def test_what_is_no_iterable_of_lines_is_refused(lines: Any) -> None:
    with pytest.raises(ConfigError, match="lines: expected an iterable of lines"):
        otel_specdecode.observe_sse(lines)


@pytest.mark.parametrize("duration_s", [-1, float("nan"), float("inf"), "1", True])
def test_a_duration_that_is_none_is_refused(duration_s: Any) -> None:
    with pytest.raises(ConfigError, match="duration_s: expected 0 s or more"):
        otel_specdecode.record_from({}, duration_s=duration_s)


def test_no_duration_is_ever_below_zero() -> None:
    assert otel_specdecode.record_from({}).duration_s >= 0
    assert otel_specdecode.record_from({}, duration_s=2.5).duration_s == (
        pytest.approx(2.5)
    )


def test_a_whole_answer_leaves_the_same_numbers() -> None:
    record = otel_specdecode.record_from(
        whole_answer({"messages": []}), request={"model": "m"}, duration_s=0.5
    )
    assert (record.operation, record.request_model) == ("chat", "m")
    assert record.num_output_tokens == 7
    assert record.output_token_rate == pytest.approx(14)
    assert record.acceptance is not None
    assert record.finish_reasons == ("stop",)
    assert record.arrivals is None


def test_a_whole_answer_without_a_duration_has_no_rate() -> None:
    record = otel_specdecode.record_from(whole_answer({"prompt": ""}))
    assert record.operation == "text_completion"
    assert record.output_token_rate is None


@pytest.mark.parametrize("payload", [None, [], "text"])
def test_what_is_no_object_is_no_answer(payload: Any) -> None:
    with pytest.raises(PayloadError, match="payload: expected an object"):
        otel_specdecode.record_from(payload)


@pytest.mark.parametrize("error", [{"message": "busy"}, "busy"])
def test_a_whole_answer_that_is_an_error_is_no_completed_request(error: object) -> None:
    record = otel_specdecode.record_from({"error": error})
    assert (record.outcome, record.error_type) == ("error", "error_response")
    completed = otel_specdecode.record_from({**whole_answer({}), "error": None})
    assert (completed.outcome, completed.error_type) == ("completed", None)


def test_an_answer_without_anything_is_a_record_without_numbers() -> None:
    record = otel_specdecode.record_from({})
    assert record.usage is None
    assert record.acceptance_state == "absent"
    assert record.finish_reasons == ()


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (7, 7),
        (0, 0),
        (True, None),
        (-1, None),
        (7.0, None),
        ("7", None),
        (10**12, None),
    ],
)
def test_only_a_count_is_a_count(count: Any, expected: int | None) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": count}
    payload = whole_answer({"messages": []}) | {"usage": usage}
    assert otel_specdecode.record_from(payload).num_output_tokens == expected


def test_a_later_block_without_counts_does_not_erase_those_that_were_there() -> None:
    chunks = [
        *chat_chunks(with_usage=False),
        chat_chunk(usage=usage(7), metrics=ACCEPTANCE),
        chat_chunk(usage=usage(0, 0), metrics={"speculative_decoding": None}),
    ]
    lines = otel_specdecode.observe_sse(lines_of(chunks))
    list(lines)
    record = lines.record
    assert record is not None
    assert record.num_output_tokens == 7
    assert record.acceptance is not None


def test_zeros_alone_are_no_usage() -> None:
    payload = whole_answer({"messages": []}) | {"usage": usage(0, 0)}
    assert otel_specdecode.record_from(payload).usage is None


def test_model_and_id_of_the_answer_are_noted_where_they_are_words() -> None:
    record = otel_specdecode.record_from({"model": "", "id": 5, "choices": [{}]})
    assert (record.response_model, record.response_id) == (None, None)
    record = otel_specdecode.record_from(
        {"model": "m", "id": "x", "choices": [{"index": "a", "finish_reason": "stop"}]}
    )
    assert (record.response_model, record.response_id) == ("m", "x")
    assert record.finish_reasons == ("stop",)


def test_a_stream_of_one_choice_has_its_finish_reason() -> None:
    lines = otel_specdecode.observe_sse(lines_of([chat_chunk(delta("a", "length"))]))
    list(lines)
    assert lines.record is not None
    assert lines.record.finish_reasons == ("length",)
