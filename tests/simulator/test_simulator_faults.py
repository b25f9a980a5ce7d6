"""Each fault that can be asked for is met by a client as a real one would be."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest
from simulated import chat
from simulated_clients import async_client, sync_client

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator import (
    ConnectionDropped,
    Profile,
    Responder,
    Simulator,
    named_profile,
    simulate,
)
from otel_specdecode.simulator.directives import PayloadFault, parse_directives

if TYPE_CHECKING:
    from collections.abc import Iterator

_FAST = replace(named_profile("mtp"), time_scale=0)


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with simulate(_FAST) as simulator:
        yield simulator


def _options(directives: str, **options: Any) -> dict[str, Any]:
    return {
        "model": "spec-demo",
        "messages": [{"role": "user", "content": "Tell me about rivers."}],
        "max_tokens": 40,
        "stream": True,
        "stream_options": {"include_usage": True},
        "extra_headers": {"x-simulate": directives},
        **options,
    }


async def _read(
    sim: Simulator, kind: str, directives: str, *, timeout_s: float = 30
) -> list[Any]:
    """Chunks read before the stream ended or broke; the exception is the last."""
    seen: list[Any] = []
    call = _options(directives)
    try:
        if kind == "sync":
            with sync_client(sim, timeout=timeout_s) as client:
                seen.extend(client.chat.completions.create(**call))
        else:
            async with async_client(sim, timeout=timeout_s) as client:
                async for chunk in await client.chat.completions.create(**call):
                    seen.append(chunk)  # noqa: PERF401 - kept when it breaks
    except Exception as error:  # noqa: BLE001 - what it is, is asserted on
        seen.append(error)
    return seen


_BOTH = pytest.mark.parametrize("kind", ["sync", "async"])


@_BOTH
async def test_a_dropped_connection_delivers_what_came_before(sim, kind):
    seen = await _read(sim, kind, "disconnect@5")
    *chunks, error = seen
    assert len(chunks) == 5
    assert isinstance(error, openai.APIConnectionError)
    assert not sim.ledger.entry(chunks[0].id).finished


@_BOTH
async def test_an_error_event_in_the_stream_raises_it(sim, kind):
    *_, error = await _read(sim, kind, "error@5")
    assert isinstance(error, openai.APIError)
    assert "Internal server error" in str(error)


@_BOTH
async def test_an_event_that_is_not_json_breaks_the_stream(sim, kind):
    *_, error = await _read(sim, kind, "malformed@3")
    assert isinstance(error, json.JSONDecodeError)


@_BOTH
async def test_a_stall_ends_in_a_read_timeout(sim, kind):
    *_, error = await _read(sim, kind, "stall@3", timeout_s=0.2)
    assert isinstance(error, openai.APITimeoutError)


@_BOTH
async def test_a_stream_without_done_still_ends(sim, kind):
    chunks = await _read(sim, kind, "no-done")
    assert chunks[-1].usage.completion_tokens == 40


@_BOTH
async def test_comments_between_events_are_not_chunks(sim, kind):
    assert len(await _read(sim, kind, "keep-alive@2")) == len(
        await _read(sim, kind, "")
    )


@_BOTH
async def test_a_content_filter_frame_is_a_chunk_without_choices(sim, kind):
    plain = await _read(sim, kind, "")
    filtered = await _read(sim, kind, "bare-chunk@0")
    assert len(filtered) == len(plain) + 1
    assert (filtered[0].choices, filtered[0].usage) == ([], None)


def test_a_named_event_stands_between_chunks():
    plain, named = (
        chat(Responder(_FAST), simulate=text).raw for text in ("", "named-event@2")
    )
    assert b"event: " not in plain
    assert named.split(b"\n\n")[2].startswith(b"event: request_id\ndata: ")


@_BOTH
async def test_a_hang_up_is_a_connection_error(sim, kind):
    (error,) = await _read(sim, kind, "hang-up")
    assert isinstance(error, openai.APIConnectionError)


@_BOTH
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (429, openai.RateLimitError),
        (503, openai.InternalServerError),
        (400, openai.BadRequestError),
    ],
)
async def test_a_status_comes_with_its_retry_after(sim, kind, status, expected):
    (error,) = await _read(sim, kind, f"status={status}, retry-after=7")
    assert type(error) is expected
    assert error.response.headers["retry-after"] == "7"


def test_a_client_that_retries_gets_through_when_only_first_tries_fail(sim):
    before = sim.ledger.totals.num_requests
    with sync_client(sim, max_retries=2) as client:
        call = _options("status=503, retry-after=0.001, times=2", stream=False)
        call.pop("stream_options")
        answer = client.chat.completions.create(**call)
    assert answer.usage.completion_tokens == 40
    assert sim.ledger.totals.num_requests == before + 1


def test_an_answer_in_one_piece_can_be_cut_off_too(sim):
    call = _options("disconnect", stream=False)
    call.pop("stream_options")
    with (
        sync_client(sim) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        client.chat.completions.create(**call)


def test_an_answer_in_one_piece_can_be_late_or_not_json():
    responder = Responder(_FAST)
    body = json.dumps({"messages": []}).encode()
    path = "/v1/chat/completions"
    late, broken = (
        list(responder.respond("POST", path, {"x-simulate": text}, body).events)[-1]
        for text in ("stall@0:9", "malformed")
    )
    assert late[0] == 9
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken[1])


def test_without_a_network_a_drop_is_an_exception_of_the_events():
    responder = Responder(_FAST)
    body = json.dumps({"messages": [], "stream": True}).encode()
    path, headers = "/v1/chat/completions", {"x-simulate": "disconnect@2"}
    events = responder.respond("POST", path, headers, body).events
    seen: list[bytes] = []
    with pytest.raises(ConnectionDropped):
        seen.extend(data for _, data in events if data)
    assert b"".join(seen).count(b"data: ") == 2
    assert not responder.ledger.entries[-1].finished


def test_a_stall_is_a_long_time_and_not_a_wait():
    started_at = time.perf_counter()
    played = chat(Responder(_FAST), simulate="stall@2:500")
    assert [at_s >= 500 for at_s, _ in played.events[:4]] == [False, False, True, True]
    assert time.perf_counter() - started_at < 100


_REFUSALS = {
    "azure": (400, ["error", "message"], "Unrecognized request argument supplied"),
    "openai": (400, ["error", "param"], "stream_options"),
    "one-api": (400, ["error", "message"], "(request id: "),
    "pointer": (400, ["message"], "#/stream_options"),
    "pydantic": (422, ["detail", 0, "loc", 1], "stream_options"),
}


@pytest.mark.parametrize("form", _REFUSALS)
def test_a_refusal_is_about_the_option_and_goes_away_without_it(form):
    status, path, text = _REFUSALS[form]
    responder = Responder(replace(_FAST, simulate=f"refuse={form}"))
    refused = chat(responder)
    found = refused.body
    for key in path:
        found = found[key]
    accepted = chat(responder, stream_options=None)
    assert (refused.status, accepted.status) == (status, 200)
    assert text in found


def test_an_echo_names_the_option_and_is_about_something_else():
    responder = Responder(replace(_FAST, simulate="refuse=echo"))
    with_option, without = chat(responder), chat(responder, stream_options=None)
    assert with_option.status == without.status == 422
    assert "stream_options" in with_option.raw.decode()
    assert with_option.body["detail"][0]["loc"] == ["body", "temperature"]


@pytest.mark.parametrize("fault", PayloadFault)
def test_a_spoiled_payload_differs_from_the_true_one(fault):
    responder = Responder(_FAST)
    true = chat(responder, max_tokens=30).acceptance
    spoiled = chat(responder, max_tokens=30, simulate=f"payload={fault}").acceptance
    assert spoiled != true


def test_older_servers_put_acceptance_elsewhere_or_nowhere():
    responder = Responder(_FAST)
    before = chat(responder, simulate="shape=before-0.29")
    whole = chat(responder, simulate="shape=before-0.29", stream=False)
    july = chat(responder, simulate="shape=july-2026")
    stats = july.choice_chunks[-1]["choices"][0]["speculative_decoding_stats"]
    assert "metrics" not in before.chunks[-1]
    assert "metrics" not in whole.body
    assert "metrics" not in july.chunks[-1]
    assert list(stats["acceptance_histogram"]) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "disconnect=5",
        "status",
        "acceptance=2",
        "usage=often",
        "@5",
        "merge",
        "error@5:2",  # only silence has a length
        "stall@5:1.2.3",
    ],
)
def test_a_directive_that_cannot_be_read_is_refused(text):
    with pytest.raises(SimulatorError, match="x-simulate"):
        parse_directives(text)
    assert chat(Responder(), simulate=text).status == 400
    with pytest.raises(SimulatorError, match="x-simulate"):
        Responder(Profile(simulate=text))


def test_a_request_adds_to_the_directives_of_its_profile_and_wins():
    profile = parse_directives("interval=4, usage=absent")
    merged = parse_directives("usage=forced, no-done", over=profile)
    assert (merged.stream_interval, merged.usage, merged.no_done) == (4, "forced", True)
