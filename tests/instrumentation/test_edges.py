"""Callers, clients and servers at the edge of what is usual."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import logging
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, Caller
from scripted_wire import (
    ACCEPTANCE,
    Json,
    Reply,
    ServerGone,
    Wire,
    answer,
    answer_chunks,
    chat_chunk,
    chat_chunks,
    event,
    streaming,
    usage,
)

import otel_specdecode
from otel_specdecode.instrumentation import (
    _guard,
    abandoned,
    consumers,
    instrumentor,
    wrapping,
)

if TYPE_CHECKING:
    from telemetry import Telemetry

SYNC = Caller("sync")
HERE = Path(__file__).parent
LONGEST_WAIT_S = 60


def test_a_call_that_no_line_of_the_application_makes_names_none(
    telemetry: Telemetry,
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    ended = threading.Event()
    telemetry.on_end(ended.set)
    _thread.start_new_thread(
        client.chat.completions.create, (), SYNC.request(max_tokens=3)
    )
    assert ended.wait(LONGEST_WAIT_S)
    assert "code.file.path" not in telemetry.attributes
    assert telemetry.attributes["gen_ai.request.max_tokens"] == 3


def test_a_stream_that_no_line_of_the_application_reads_has_no_consumer(
    telemetry: Telemetry,
) -> None:
    stream = SYNC.wrapped(Wire(answer), telemetry).chat.completions.create(
        **SYNC.request(stream=True)
    )
    ended = threading.Event()
    telemetry.on_end(ended.set)
    _thread.start_new_thread(list, (stream,))
    assert ended.wait(LONGEST_WAIT_S)
    assert telemetry.requests() == [("completed", "forced", "present")]


def test_the_application_is_not_looked_for_too_far_up(telemetry: Telemetry) -> None:
    code = "def deep(n, call):\n    return deep(n - 1, call) if n else call()\n"
    names: dict[str, Any] = {"__name__": "openai.somewhere_deep"}
    exec(code, names)
    client = SYNC.wrapped(Wire(answer), telemetry)
    names["create"] = client.chat.completions.create
    names["request"] = SYNC.request()
    exec("def call():\n    return create(**request)\n", names)
    names["deep"](70, names["call"])
    assert "code.file.path" not in telemetry.attributes

    names["stream"] = client.chat.completions.create(**SYNC.request(stream=True))
    exec("def read():\n    return list(stream)\n", names)
    assert len(names["deep"](70, names["read"])) == 4


async def test_a_coroutine_thrown_away_in_another_context_leaves_that_one_alone(
    telemetry: Telemetry,
) -> None:
    caller = Caller("async")
    client = caller.wrapped(Wire(answer), telemetry).with_options(
        http_client=httpx2.AsyncClient(transport=Silent())
    )
    coroutine = caller.create(client)
    contextvars.copy_context().run(coroutine.send, None)
    coroutine.close()
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"


class Silent(httpx2.AsyncBaseTransport):
    """Never answers."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_raw_stream_that_is_parsed_and_closed_early_is_abandoned(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    raw = caller.resource(client).with_raw_response
    response = await caller.done(raw.create(**caller.request(stream=True)))
    stream = response.parse()
    await caller.read(stream, most=2)
    await caller.done(stream.close())
    await caller.done(stream.close())
    assert telemetry.requests() == [("abandoned", "absent", "absent")]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_raw_stream_that_is_parsed_and_breaks_off_is_an_error(
    caller: Caller, telemetry: Telemetry
) -> None:
    def broken(body: Json) -> Reply:
        return Reply([*map(event, answer_chunks(body)[:2]), ServerGone()])

    client = caller.wrapped(Wire(broken), telemetry)
    raw = caller.resource(client).with_raw_response
    response = await caller.done(raw.create(**caller.request(stream=True)))
    with pytest.raises(openai.APIConnectionError):
        await caller.read(response.parse())
    assert telemetry.attributes["error.type"] == "openai.APIConnectionError"


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_later_hook_on_the_same_response_stays(
    caller: Caller, telemetry: Telemetry
) -> None:
    stream = await caller.stream(caller.wrapped(Wire(answer), telemetry))
    name = "aclose" if caller.is_async else "close"
    ours = getattr(stream.response, name)
    calls: list[str] = []

    def theirs() -> Any:
        calls.append("closed")
        return ours()

    setattr(stream.response, name, theirs)
    await caller.read(stream)
    assert "closed" in calls
    assert getattr(stream.response, name) is theirs
    assert telemetry.requests() == [("completed", "forced", "present")]


def test_a_stream_made_by_hand_of_an_observed_class_is_the_clients_own(
    telemetry: Telemetry,
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    observed = client.chat.completions.create(**SYNC.request(stream=True))
    list(observed)
    bare = SYNC.bare(Wire(answer)).chat.completions.create(**SYNC.request(stream=True))
    kind = openai.types.chat.ChatCompletionChunk
    by_hand = type(observed)(cast_to=kind, response=bare.response, client=client)
    assert len(list(by_hand)) == 4
    by_hand.close()
    assert len(telemetry.requests()) == 1


async def test_an_async_stream_made_by_hand_is_the_clients_own(
    telemetry: Telemetry,
) -> None:
    caller = Caller("async")
    client = caller.wrapped(Wire(answer), telemetry)
    observed = await caller.stream(client)
    await caller.read(observed)
    bare = await caller.stream(caller.bare(Wire(answer)))
    kind = openai.types.chat.ChatCompletionChunk
    by_hand = type(observed)(cast_to=kind, response=bare.response, client=client)
    assert len(await caller.read(by_hand)) == 4
    await by_hand.close()
    assert len(telemetry.requests()) == 1


@pytest.mark.parametrize("base_url", ["socket:///v1", "socket://box/v1"])
def test_a_host_or_port_that_is_not_known_is_absent(
    base_url: str, telemetry: Telemetry
) -> None:
    client = SYNC.bare(Wire(answer), base_url=base_url)
    otel_specdecode.wrap(client, **telemetry.providers)
    client.chat.completions.create(**SYNC.request())
    address = "box" if "box" in base_url else None
    assert telemetry.attributes.get("server.address") == address
    assert "server.port" not in telemetry.attributes


def test_a_client_that_moves_to_another_server_is_recorded_there(
    telemetry: Telemetry,
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    client.chat.completions.create(**SYNC.request())
    client.base_url = "http://other.test/v1"
    client.chat.completions.create(**SYNC.request())
    addresses = [
        dict(span.attributes or {})["server.address"] for span in telemetry.spans
    ]
    assert addresses == ["model.test", "other.test"]


def test_only_numbers_are_sampling_parameters(telemetry: Telemetry) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    client.chat.completions.create(**SYNC.request(temperature="hot", seed=True, n=1))
    names = [n for n in telemetry.attributes if n.startswith("gen_ai.request.")]
    assert sorted(names) == ["gen_ai.request.choice.count", "gen_ai.request.model"]


def test_a_request_without_a_model_is_named_for_its_operation(
    telemetry: Telemetry,
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    body = {"messages": [], "model": None}
    client.post("/chat/completions", body=body, cast_to=object)
    assert telemetry.span.name == "chat"
    assert "gen_ai.request.model" not in telemetry.attributes


@pytest.mark.parametrize("hooked", ["wrap", "instrument"])
def test_a_client_without_the_callback_has_no_count_of_retries_and_works(
    hooked: str,
    telemetry: Telemetry,
    instrumentor_: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (wrapping, instrumentor):
        monkeypatch.setattr(module, "PREPARE_REQUEST", "_moved_elsewhere")
    wire = Wire(answer)
    client = SYNC.bare(wire)
    if hooked == "wrap":
        otel_specdecode.wrap(client, **telemetry.providers)
    else:
        instrumentor_.instrument(**telemetry.providers)
    with otel_specdecode.capture() as records:
        client.chat.completions.create(**SYNC.request())
    assert "traceparent" in wire.headers[0]
    assert [record.num_retries for record in records] == [None]
    assert "specdecode.retries" not in telemetry.attributes


@pytest.fixture
def instrumentor_(instrumentor: Any) -> Any:
    """The fixture, under a name that is not the module's."""
    return instrumentor


def test_the_check_of_consumers_can_be_switched_off(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[Any, Any] = {}
    monkeypatch.setattr(consumers, "_consumers", known)
    client = SYNC.wrapped(Wire(answer), telemetry, chunk_count_check=False)
    list(client.chat.completions.create(**SYNC.request(stream=True)))
    assert known == {}


def test_only_so_many_consumers_are_looked_at(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[Any, Any] = {}
    monkeypatch.setattr(consumers, "_consumers", known)
    monkeypatch.setattr(consumers, "_MOST_CONSUMERS", 0)
    client = SYNC.wrapped(Wire(answer), telemetry)
    list(client.chat.completions.create(**SYNC.request(stream=True)))
    assert known == {}
    assert telemetry.requests() == [("completed", "forced", "present")]


def test_statistics_that_cannot_be_right_are_logged_once_a_field(
    telemetry: Telemetry,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_guard, "_seen", set())
    broken = ACCEPTANCE["speculative_decoding"] | {"num_spec_tokens": "two"}
    metrics = {"speculative_decoding": broken}
    last = chat_chunk(usage=usage(7), metrics=metrics)
    wire = Wire(streaming(*chat_chunks(with_usage=False), last))
    client = SYNC.wrapped(wire, telemetry)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            list(client.chat.completions.create(**SYNC.request(stream=True)))
    assert telemetry.requests() == [("completed", "forced", "malformed")] * 2
    logged = [r for r in caplog.records if "num_spec_tokens" in r.getMessage()]
    assert len(logged) == 1


def test_two_threads_that_need_the_recording_thread_start_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = threading.Thread(target=lambda: None)

    class Late:
        """A lock that another thread held while it started the thread."""

        def __enter__(self) -> None:
            abandoned._thread = first

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(abandoned, "_thread", None)
    monkeypatch.setattr(abandoned, "_start_lock", Late())
    abandoned.ensure_thread()
    assert abandoned._thread is first


PROGRAM = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from callers import Caller
from scripted_wire import Wire, answer
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
import otel_specdecode

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(
    formatter=lambda span: span.attributes["specdecode.outcome"] + "\\n")))
client = otel_specdecode.wrap(Caller("sync").bare(Wire(answer)),
                              tracer_provider=provider)
request = Caller("sync").request(stream=True)
held = client.chat.completions.create(**request)
next(held)
done = client.chat.completions.create(**request)
list(done)
"""


def test_a_stream_that_is_open_when_the_process_ends_is_recorded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["completed", "abandoned"]
