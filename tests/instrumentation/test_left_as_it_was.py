"""What is over: nothing of ours stays on it, and it goes as early as a bare one."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CHAT_CALLERS, Caller
from scripted_wire import Wire, answer, json_reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from telemetry import Telemetry


@pytest.fixture(autouse=True)
def _nothing_is_collected() -> Iterator[None]:
    """What goes, goes since nobody holds it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def _refused(caller: Caller, client: Any) -> weakref.ref[Any]:
    with pytest.raises(openai.InternalServerError) as caught:
        await caller.create(client)
    gone = weakref.ref(caught.value.response)
    del caught
    return gone


async def _read(caller: Caller, client: Any) -> weakref.ref[Any]:
    stream = await caller.stream(client)
    await caller.read(stream)
    return weakref.ref(stream.response)


async def _read_raw(caller: Caller, client: Any) -> weakref.ref[Any]:
    manager = caller.resource(client).with_streaming_response.create(
        **caller.request(stream=True)
    )
    response = await caller.enter(manager)
    await caller.done(response.read())
    await caller.leave(manager)
    return weakref.ref(response.http_response)


# Of an async stream a bare client's response waits for the collector too.
WAYS = {
    "read": (Caller("sync"), _read),
    "read raw": (Caller("sync"), _read_raw),
    "read raw, async": (Caller("async"), _read_raw),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_response_that_was_read_goes_with_whoever_holds_it(
    way: str, telemetry: Telemetry
) -> None:
    caller, read = WAYS[way]
    assert (await read(caller, caller.bare(Wire(answer))))() is None
    assert (await read(caller, caller.wrapped(Wire(answer), telemetry)))() is None


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_error_goes_with_whoever_handles_it(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(lambda body: json_reply({"error": {"message": "busy"}}, 503))
    assert (await _refused(caller, caller.bare(wire)))() is None
    assert (await _refused(caller, caller.wrapped(wire, telemetry)))() is None


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_raw_response_can_be_pickled_once_it_was_read(
    caller: Caller, telemetry: Telemetry
) -> None:
    contents: list[bytes] = []
    for client in (caller.bare(Wire(answer)), caller.wrapped(Wire(answer), telemetry)):
        manager = caller.resource(client).with_streaming_response.create(
            **caller.request()
        )
        response = await caller.enter(manager)
        await caller.done(response.read())
        copied = pickle.loads(pickle.dumps(response.http_response))
        contents.append(copied.content)
        await caller.leave(manager)
    assert contents[0] == contents[1]
    assert telemetry.requests() == [("completed", "requested", "present")]
