"""A server that refuses `stream_options` gets the caller's own request instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from callers import CALLERS, CHAT_CALLERS, Caller, shown
from scripted_wire import Json, Reply, Wire, answer, json_reply

from otel_specdecode.instrumentation import clock, requests
from otel_specdecode.instrumentation.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from telemetry import Telemetry

REFUSED = ("completed", "refused", "absent")
SYNC = Caller("sync")


def openai_error(message: str, **more: Any) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def pydantic_error(*loc: str, **more: Any) -> Json:
    detail = {"loc": list(loc), "msg": "Extra inputs are not permitted", **more}
    return {"detail": [{"type": "extra_forbidden", **detail}]}


# As public reports quote them, among others songquanpeng/one-api#1423,
# QuantumNous/new-api#418, BerriAI/litellm#11696, microsoft/semantic-kernel#10510.
REFUSALS: dict[str, tuple[int, Json]] = {
    "Azure": (
        400,
        openai_error(
            "Unrecognized request argument supplied: stream_options. Please contact us"
            " through an Azure support request if you need it."
        ),
    ),
    "relay": (400, openai_error("Unknown parameter: 'stream_options'.")),
    "relay, param only": (
        400,
        openai_error("Unknown parameter.", param="stream_options", code="unknown"),
    ),
    "one-api": (
        400,
        openai_error(
            "Unrecognized request argument supplied: stream_options (request id: 1)",
            param="",
        ),
    ),
    "Azure AI Foundry": (
        422,
        pydantic_error("body", "stream_options", "include_usage", input=True),
    ),
    "vLLM's pointer": (
        400,
        {
            "message": "Validation error at #/stream_options: Extra inputs are not"
            " permitted"
        },
    ),
    "falls over it": (
        500,
        openai_error("create() got an unexpected keyword argument 'stream_options'"),
    ),
    "text with an echo": (
        400,
        openai_error(
            "[{'loc': ('body', 'stream_options'), 'msg': 'Extra inputs', 'input':"
            " {'model': 'x', 'stream_options': {'include_usage': True}}}]"
        ),
    ),
}

OTHER_ERRORS: dict[str, tuple[int, Json]] = {
    "echo in a field": (
        422,
        pydantic_error(
            "body", "temperature", input={"stream_options": {"include_usage": True}}
        ),
    ),
    "echo in the text": (
        400,
        openai_error(
            "1 validation error: input: {'stream_options': {'include_usage': True},"
            " 'temperature': 9} Input should be less than or equal to 2"
        ),
    ),
    "echo in the text, input_value": (
        400,
        openai_error(
            "temperature: too large [type=value_error,"
            " input_value={'stream_options': {'include_usage': True}}, input_type=dict]"
        ),
    ),
    "echo of a word": (400, openai_error("too large, input: stream_options")),
    "something else": (400, openai_error("max_tokens is too large")),
    "a server that is down": (503, openai_error("no worker is ready")),
}


def refusing(status: int, payload: Json) -> Callable[[Json], Reply]:
    def reply(body: Json) -> Reply:
        if body.get("stream_options"):
            return json_reply(payload, status)
        return answer(body)

    return reply


async def served(caller: Caller, client: Any, **more: Any) -> list[Any]:
    return await caller.read(await caller.stream(client, **more))


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_refused_request_is_sent_once_more_as_the_caller_made_it(
    caller: Caller, name: str, telemetry: Telemetry
) -> None:
    bare_wire, wire = Wire(refusing(*REFUSALS[name])), Wire(refusing(*REFUSALS[name]))
    bare = await served(caller, caller.bare(bare_wire))
    model = f"{name} {caller}"  # a refusal is remembered by model
    seen = await served(caller, caller.wrapped(wire, telemetry), model=model)
    assert seen == bare
    asked, plain = wire.bodies
    assert asked == plain | {"stream_options": {"include_usage": True}}
    assert telemetry.requests() == [REFUSED]
    assert telemetry.attributes["specdecode.usage"] == "refused"
    assert telemetry.attributes["specdecode.retries"] == 0


@pytest.mark.parametrize("name", OTHER_ERRORS)
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_another_error_is_the_callers_and_nothing_is_sent_again(
    caller: Caller, name: str, telemetry: Telemetry
) -> None:
    errors: list[Any] = []
    wires = (
        Wire(refusing_all(*OTHER_ERRORS[name])),
        Wire(refusing_all(*OTHER_ERRORS[name])),
    )
    for client in (caller.bare(wires[0]), caller.wrapped(wires[1], telemetry)):
        with pytest.raises(Exception, match="Error code") as caught:
            await caller.stream(client)
        errors.append(shown(caught.value))
    assert errors[0] == errors[1]
    assert len(wires[1].bodies) == 1
    assert telemetry.requests() == [("error", "absent", "absent")]


def refusing_all(status: int, payload: Json) -> Callable[[Json], Reply]:
    return lambda body: json_reply(payload, status)


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_when_the_callers_own_request_fails_too_its_error_is_what_is_seen(
    caller: Caller, telemetry: Telemetry
) -> None:
    def reply(body: Json) -> Reply:
        if body.get("stream_options"):
            return json_reply(REFUSALS["relay"][1], 400)
        return json_reply(openai_error("model is gone"), 404)

    wire = Wire(reply)
    errors: list[Any] = []
    for client in (caller.bare(Wire(reply)), caller.wrapped(wire, telemetry)):
        with pytest.raises(Exception, match="model is gone") as caught:
            await caller.stream(client)
        errors.append((*shown(caught.value), repr(caught.value.__context__)))
    assert errors[0] == errors[1]
    assert len(wire.bodies) == 2
    assert telemetry.requests() == [("error", "refused", "absent")]


async def test_it_is_sent_only_once_more(telemetry: Telemetry) -> None:
    wire = Wire(refusing_all(*REFUSALS["relay"]))
    with pytest.raises(Exception, match="stream_options"):
        await SYNC.stream(SYNC.wrapped(wire, telemetry))
    assert len(wire.bodies) == 2


async def test_what_the_caller_asks_for_is_the_callers_to_be_refused(
    telemetry: Telemetry,
) -> None:
    wire = Wire(refusing(*REFUSALS["relay"]))
    client = SYNC.wrapped(wire, telemetry)
    with pytest.raises(Exception, match="Unknown parameter"):
        await SYNC.stream(client, stream_options={"include_usage": True})
    assert len(wire.bodies) == 1
    assert telemetry.requests() == [("error", "absent", "absent")]


async def test_continuous_usage_is_taken_back_and_what_the_caller_asked_for_stays(
    telemetry: Telemetry,
) -> None:
    def reply(body: Json) -> Reply:
        if "continuous_usage_stats" in body["stream_options"]:
            field = ("body", "stream_options", "continuous_usage_stats")
            return json_reply(pydantic_error(*field), 422)
        return answer(body)

    wire = Wire(reply)
    client = SYNC.wrapped(wire, telemetry, continuous_usage=True)
    await served(SYNC, client, stream_options={"include_usage": True})
    assert wire.bodies[1]["stream_options"] == {"include_usage": True}
    assert telemetry.requests() == [("completed", "requested", "present")]


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        self.at += 0.001
        return self.at


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    patched = Clock()
    monkeypatch.setattr("otel_specdecode.instrumentation.requests.monotonic_s", patched)
    assert clock.monotonic_s is not patched
    return patched


async def test_a_refusal_is_remembered_for_this_model_and_server(
    telemetry: Telemetry, time: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire(refusing(*REFUSALS["relay"]))
    client = SYNC.wrapped(wire, telemetry)
    for _ in range(3):
        await served(SYNC, client, model="remembered")
    assert len(wire.bodies) == 4
    assert telemetry.requests() == [REFUSED] * 3

    await served(SYNC, client, model="another")
    assert len(wire.bodies) == 6
    await served(SYNC, client.with_options(base_url="http://other.test/v1"))
    assert len(wire.bodies) == 8
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert [("remembered" in w, "another" in w) for w in warnings] == [
        (True, False),
        (False, True),
        (False, False),
    ]


async def test_a_refusal_is_forgotten_after_an_hour_of_steady_requests(
    telemetry: Telemetry, time: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire(refusing(*REFUSALS["relay"]))
    client = SYNC.wrapped(wire, telemetry)
    tries: list[int] = []
    for _ in range(7):
        before = len(wire.bodies)
        await served(SYNC, client, model="steady")
        tries.append(len(wire.bodies) - before)
        time.at += 11 * 60
    assert tries == [2, 1, 1, 1, 1, 1, 2]
    assert sum("steady" in record.getMessage() for record in caplog.records) == 1


async def test_a_server_that_learnt_the_option_is_asked_again(
    telemetry: Telemetry, time: Clock
) -> None:
    refuses = [True]

    def reply(body: Json) -> Reply:
        return refusing(*REFUSALS["relay"])(body) if refuses else answer(body)

    client = SYNC.wrapped(Wire(reply), telemetry)
    await served(SYNC, client, model="learning")
    refuses.clear()
    time.at += 3601
    await served(SYNC, client, model="learning")
    assert telemetry.requests() == [REFUSED, ("completed", "forced", "present")]


async def test_many_refusals_are_not_remembered_without_bound(
    telemetry: Telemetry, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "refusals", Refusals())
    monkeypatch.setattr("otel_specdecode.instrumentation.refusals._MOST_ENTRIES", 3)
    wire = Wire(refusing(*REFUSALS["relay"]))
    client = SYNC.wrapped(wire, telemetry)
    for number in range(4):
        await served(SYNC, client, model=f"model-{number}")
    before = len(wire.bodies)
    await served(SYNC, client, model="model-3")
    assert len(wire.bodies) == before + 1
    await served(SYNC, client, model="model-0")
    assert len(wire.bodies) == before + 3


@pytest.mark.parametrize(
    "payload",
    [
        {"error": [[[{"a": ["stream_options"]}]]]},
        {"error": {"message": "no", "details": [{"field": "stream_options"}, 1, None]}},
    ],
)
async def test_a_refusal_is_found_however_it_is_nested(
    payload: Json, telemetry: Telemetry
) -> None:
    wire = Wire(refusing(400, payload))
    await served(SYNC, SYNC.wrapped(wire, telemetry), model=f"nested {payload}")
    assert len(wire.bodies) == 2
    assert telemetry.requests()[0][0] == "completed"


async def test_a_huge_error_is_read_only_so_far(telemetry: Telemetry) -> None:
    payload = {"error": [*["stream_options"], *["x"] * 1000]}
    wire = Wire(refusing(400, payload))
    with pytest.raises(Exception, match="Error code: 400"):
        await SYNC.stream(SYNC.wrapped(wire, telemetry), model="huge")
    assert len(wire.bodies) == 1
