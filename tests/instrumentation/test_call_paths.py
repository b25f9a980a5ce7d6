"""Every way to call the model: observed, and to the caller as without us."""

from __future__ import annotations

import copy
import gzip
import inspect
import json
from typing import TYPE_CHECKING, Any, TypedDict
from unittest import mock

import httpx2
import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, Caller, collect_garbage, shown
from pydantic import BaseModel
from scripted_wire import (
    BASE_URL,
    MODEL,
    Json,
    Reply,
    ServerGone,
    Wire,
    answer,
    chat_chunk,
    delta,
    json_reply,
    streaming,
    usage,
    wants_usage,
    whole_answer,
)

import otel_specdecode
from otel_specdecode import ConfigError
from otel_specdecode.instrumentation import chunk_types

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from telemetry import Telemetry

COMPLETE = [("completed", "requested", "present")]
FORCED = [("completed", "forced", "present")]


async def lines_of(caller: Caller, lines: Any) -> list[Any]:
    return [line async for line in lines] if caller.is_async else list(lines)


async def plain(caller: Caller, client: Any) -> Any:
    return await caller.create(client)


async def streamed(caller: Caller, client: Any) -> Any:
    return await caller.read(await caller.stream(client))


async def raw(caller: Caller, client: Any) -> Any:
    resource = caller.resource(client).with_raw_response
    response = await caller.done(resource.create(**caller.request()))
    return [response.headers["content-type"], response.text, response.parse()]


async def raw_streamed(caller: Caller, client: Any) -> Any:
    resource = caller.resource(client).with_raw_response
    response = await caller.done(resource.create(**caller.request(stream=True)))
    stream = response.parse()
    again = response.parse()
    return [response.status_code, again is stream, *await caller.read(stream)]


async def opened(caller: Caller, client: Any, use: Any, **more: Any) -> Any:
    resource = caller.resource(client).with_streaming_response
    manager = resource.create(**caller.request(**more))
    response = await caller.enter(manager)
    try:
        return await use(response)
    finally:
        await caller.leave(manager)


async def open_read(caller: Caller, client: Any) -> Any:
    return await opened(caller, client, lambda r: caller.done(r.read()))


async def open_text(caller: Caller, client: Any) -> Any:
    return await opened(caller, client, lambda r: caller.done(r.text()))


async def open_json(caller: Caller, client: Any) -> Any:
    return await opened(caller, client, lambda r: caller.done(r.json()))


async def open_parse(caller: Caller, client: Any) -> Any:
    return await opened(caller, client, lambda r: caller.done(r.parse()))


async def open_bytes(caller: Caller, client: Any) -> Any:
    return await opened(caller, client, lambda r: lines_of(caller, r.iter_bytes()))


async def open_lines_streamed(caller: Caller, client: Any) -> Any:
    return await opened(
        caller, client, lambda r: lines_of(caller, r.iter_lines()), stream=True
    )


async def open_bytes_streamed(caller: Caller, client: Any) -> Any:
    return await opened(
        caller, client, lambda r: lines_of(caller, r.iter_bytes(16)), stream=True
    )


async def open_read_streamed(caller: Caller, client: Any) -> Any:
    return await opened(caller, client, lambda r: caller.done(r.read()), stream=True)


async def open_parse_streamed(caller: Caller, client: Any) -> Any:
    async def use(response: Any) -> Any:
        return await caller.read(await caller.done(response.parse()))

    return await opened(caller, client, use, stream=True)


NO_USAGE = [("completed", "absent", "absent")]
PATHS: dict[str, tuple[Any, Any]] = {
    "plain": (plain, COMPLETE),
    "streaming": (streamed, FORCED),
    "raw": (raw, COMPLETE),
    "raw, streaming": (raw_streamed, FORCED),
    "streaming response, read": (open_read, COMPLETE),
    "streaming response, text": (open_text, COMPLETE),
    "streaming response, json": (open_json, COMPLETE),
    "streaming response, parse": (open_parse, COMPLETE),
    "streaming response, bytes": (open_bytes, COMPLETE),
    # The caller reads the wire itself, so nothing is added to it.
    "streaming response, streamed lines": (open_lines_streamed, NO_USAGE),
    "streaming response, streamed bytes": (open_bytes_streamed, NO_USAGE),
    "streaming response, streamed read": (open_read_streamed, NO_USAGE),
    "streaming response, streamed parse": (open_parse_streamed, NO_USAGE),
}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_each_path_is_recorded_once_and_looks_as_with_a_bare_client(
    caller: Caller, name: str, telemetry: Telemetry
) -> None:
    use, requests = PATHS[name]
    bare = await use(caller, caller.bare(Wire(answer)))
    seen = await use(caller, caller.wrapped(Wire(answer), telemetry))
    assert seen == bare
    assert telemetry.requests() == requests
    operation = "chat" if caller.endpoint == "chat" else "text_completion"
    assert telemetry.span.name == f"{operation} {MODEL}"
    assert telemetry.attributes["gen_ai.operation.name"] == operation
    assert telemetry.attributes["specdecode.outcome"] == "completed"


async def response_plain(caller: Caller, client: Any) -> Any:
    return await caller.done(client.responses.create(model=MODEL, input="count"))


async def response_streamed(caller: Caller, client: Any) -> Any:
    stream = await caller.done(
        client.responses.create(model=MODEL, input="count", stream=True)
    )
    return await caller.read(stream)


async def response_helper(caller: Caller, client: Any) -> Any:
    manager = client.responses.stream(model=MODEL, input="count")
    stream = await caller.enter(manager)
    events = await caller.read(stream)
    final = await caller.done(stream.get_final_response())
    await caller.leave(manager)
    return [*events, final]


async def response_raw(caller: Caller, client: Any) -> Any:
    raw_responses = client.responses.with_raw_response
    response = await caller.done(raw_responses.create(model=MODEL, input="count"))
    return [response.headers["content-type"], response.parse()]


async def response_raw_streamed(caller: Caller, client: Any) -> Any:
    raw_responses = client.responses.with_raw_response
    response = await caller.done(
        raw_responses.create(model=MODEL, input="count", stream=True)
    )
    return await caller.read(response.parse())


@pytest.mark.parametrize(
    "use",
    [
        response_plain,
        response_streamed,
        response_helper,
        response_raw,
        response_raw_streamed,
    ],
)
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_the_responses_api_gives_usage_and_nothing_is_asked_of_it(
    caller: Caller, use: Any, telemetry: Telemetry
) -> None:
    bare_wire, wire = Wire(answer), Wire(answer)
    bare = await use(caller, caller.bare(bare_wire))
    seen = await use(caller, caller.wrapped(wire, telemetry))
    assert list(map(repr, seen)) == list(map(repr, bare))
    assert wire.bodies == bare_wire.bodies
    assert telemetry.requests() == [("completed", "requested", "not_applicable")]
    assert telemetry.attributes["gen_ai.usage.output_tokens"] == 7
    assert telemetry.attributes["gen_ai.response.id"] == "resp-1"


class City(BaseModel):
    name: str


def structured(body: Json) -> Reply:
    answered = whole_answer(body)
    answered["choices"][0]["message"]["content"] = '{"name": "Delft"}'
    return json_reply(answered)


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_parse_gives_the_callers_own_type(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(structured), telemetry)
    completion = await caller.done(
        client.chat.completions.parse(**caller.request(response_format=City))
    )
    assert completion.choices[0].message.parsed == City(name="Delft")
    assert telemetry.requests() == COMPLETE


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_resource_fetched_before_wrapping_is_observed(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.bare(Wire(answer))
    resource = caller.resource(client)
    raw_resource = resource.with_raw_response
    otel_specdecode.wrap(client, **telemetry.providers)
    await caller.done(resource.create(**caller.request()))
    await caller.done(raw_resource.create(**caller.request()))
    assert telemetry.requests() == COMPLETE * 2


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_resource_fetched_before_instrumenting_is_observed(
    caller: Caller,
    telemetry: Telemetry,
    instrumentor: otel_specdecode.SpecDecodeInstrumentor,
) -> None:
    client = caller.bare(Wire(answer))
    resource = caller.resource(client)
    instrumentor.instrument(**telemetry.providers)
    await caller.done(resource.create(**caller.request()))
    assert telemetry.requests() == COMPLETE


@pytest.mark.parametrize("copy", ["copy", "with_options"])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_copied_client_is_observed_as_well(
    caller: Caller, copy: str, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    copied = getattr(client, copy)(timeout=5)
    again = getattr(copied, copy)(max_retries=1)
    assert type(again) is type(client)
    assert again.timeout == 5
    await caller.create(again)
    assert telemetry.requests() == COMPLETE


def azure(caller: Caller, wire: Wire) -> Any:
    kind = openai.AsyncAzureOpenAI if caller.is_async else openai.AzureOpenAI
    return kind(
        api_key="sk-test",
        api_version="2026-01-01",
        azure_endpoint="https://example.azure.test",
        azure_deployment="deployed",
        http_client=wire.async_client if caller.is_async else wire.sync_client,
    )


@pytest.mark.parametrize("hooked", ["wrap", "instrument"])
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_azure_clients_are_observed_under_their_providers_name(
    caller: Caller,
    hooked: str,
    telemetry: Telemetry,
    instrumentor: otel_specdecode.SpecDecodeInstrumentor,
) -> None:
    client = azure(caller, Wire(answer))
    if hooked == "wrap":
        otel_specdecode.wrap(client, **telemetry.providers)
    else:
        instrumentor.instrument(**telemetry.providers)
    await caller.read(await caller.stream(client))
    assert telemetry.requests() == FORCED
    assert telemetry.attributes["gen_ai.provider.name"] == "azure.ai.openai"
    assert telemetry.attributes["server.address"] == "example.azure.test"
    assert telemetry.attributes["server.port"] == 443


async def test_the_providers_name_is_an_option(telemetry: Telemetry) -> None:
    caller = Caller("sync")
    client = caller.wrapped(Wire(answer), telemetry, provider_name="vllm")
    await caller.create(client)
    assert telemetry.attributes["gen_ai.provider.name"] == "vllm"
    (point,) = telemetry.points("specdecode.client.requests")
    assert point.attributes["gen_ai.provider.name"] == "vllm"


class CountingClient(openai.OpenAI):
    """A user's own subclass, with a request of its own."""

    calls = 0

    def request(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return super().request(*args, **kwargs)


@pytest.mark.parametrize("hooked", ["wrap", "instrument", "both"])
async def test_a_users_subclass_keeps_its_own_request(
    hooked: str,
    telemetry: Telemetry,
    instrumentor: otel_specdecode.SpecDecodeInstrumentor,
) -> None:
    client = CountingClient(
        api_key="sk-test", base_url=BASE_URL, http_client=Wire(answer).sync_client
    )
    if hooked != "instrument":
        assert otel_specdecode.wrap(client, **telemetry.providers) is client
    if hooked != "wrap":
        instrumentor.instrument(**telemetry.providers)
    list(
        client.completions.create(model=MODEL, prompt="count", stream=True),
    )
    assert client.calls == 1
    assert telemetry.requests() == FORCED


async def test_what_a_wrapped_client_looks_like(telemetry: Telemetry) -> None:
    caller = Caller("sync")
    client, bare = caller.wrapped(Wire(answer), telemetry), caller.bare(Wire(answer))
    assert type(client) is openai.OpenAI
    assert inspect.signature(client.request) == inspect.signature(bare.request)
    assert inspect.signature(client.copy) == inspect.signature(bare.copy)
    assert client.request.__name__ == "request"
    assert repr(client).partition(" at ")[0] == repr(bare).partition(" at ")[0]


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_what_an_observed_stream_looks_like(
    caller: Caller, telemetry: Telemetry
) -> None:
    stream = await caller.stream(caller.wrapped(Wire(answer), telemetry))
    bare = await caller.stream(caller.bare(Wire(answer)))
    assert isinstance(stream, type(bare))
    assert type(stream).__qualname__ == type(bare).__qualname__
    assert type(stream).__module__ == type(bare).__module__
    assert type(stream).__doc__ == type(bare).__doc__
    assert repr(stream).partition(" at ")[0] == repr(bare).partition(" at ")[0]
    assert stream.response.status_code == 200
    assert stream.__orig_class__ == bare.__orig_class__
    assert vars(stream).keys() | {"__orig_class__"} == vars(bare).keys()
    for one in (stream, bare):
        await caller.done(one.close())


async def test_a_stream_class_of_the_callers_is_observed(telemetry: Telemetry) -> None:
    class Words(openai.Stream[openai.types.chat.ChatCompletionChunk]):
        def words(self) -> list[str]:
            return [chunk.choices[0].delta.content or "" for chunk in self]

    caller = Caller("sync")
    client = caller.wrapped(Wire(answer), telemetry)
    stream = client.post(
        "/chat/completions",
        body=caller.request(stream=True),
        cast_to=openai.types.chat.ChatCompletionChunk,
        stream=True,
        stream_cls=Words,
    )
    assert "".join(stream.words()) == "one two three four five six seven"
    assert telemetry.requests() == FORCED


@pytest.mark.parametrize("caller", [Caller("sync"), Caller("async")], ids=str)
@pytest.mark.parametrize("raw", [False, True])
async def test_a_stream_whose_class_is_left_open_is_observed(
    caller: Caller, telemetry: Telemetry, *, raw: bool
) -> None:
    shown: list[Any] = []
    for client in (
        caller.bare(Wire(answer)),
        caller.wrapped(Wire(answer), telemetry),
    ):
        headers = {"x-stainless-raw-response": "true"} if raw else {}
        result = await caller.done(
            client.post(
                "/chat/completions",
                body=caller.request(stream=True),
                cast_to=openai.types.chat.ChatCompletionChunk,
                stream=True,
                options={"headers": headers},
            )
        )
        stream = result.parse() if raw else result
        shown.append(
            (type(stream).__name__, list(map(repr, await caller.read(stream))))
        )
    assert shown[0] == shown[1]
    assert telemetry.requests() == FORCED


async def test_where_no_class_of_streams_is_known_nothing_is_asked_for(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_types, "DEFAULT_STREAM", "_moved_elsewhere")
    caller, wire = Caller("sync"), Wire(answer)
    stream = caller.wrapped(wire, telemetry).post(
        "/chat/completions",
        body=caller.request(stream=True),
        cast_to=openai.types.chat.ChatCompletionChunk,
        stream=True,
    )
    assert len(list(stream)) == 4
    assert "stream_options" not in wire.bodies[0]
    assert telemetry.requests() == []


class AsSent(TypedDict):
    """What a caller may call the chunks that he gets as the server sent them."""

    id: str


@pytest.mark.parametrize("kind", [object, dict, dict[str, Any], Any, AsSent, str])
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_stream_of_something_else_than_models_is_the_same_as_with_a_bare_client(
    caller: Caller, kind: Any, telemetry: Telemetry
) -> None:
    """Nothing is asked for where no chunk of it could be kept from the caller."""
    stream_class = openai.AsyncStream if caller.is_async else openai.Stream
    path = "/chat/completions" if caller.endpoint == "chat" else "/completions"
    seen: list[Any] = []
    for client in (caller.bare(Wire(answer)), caller.wrapped(Wire(answer), telemetry)):
        stream = await caller.done(
            client.post(
                path,
                body=caller.request(stream=True),
                cast_to=object,
                stream=True,
                stream_cls=stream_class[kind],
            )
        )
        seen.append([type(stream).__name__, *await caller.read(stream)])
    assert seen[0] == seen[1]
    assert telemetry.requests() == ([] if kind is str else FORCED)


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_an_answer_that_is_handed_on_as_json_is_read(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    body, path = caller.request(), "/chat/completions"
    result = await caller.done(client.post(path, body=body, cast_to=object))
    assert result["usage"]["completion_tokens"] == telemetry.total("output_tokens")
    assert telemetry.requests() == COMPLETE


class Chunks(openai.Stream[openai.types.chat.ChatCompletionChunk]):
    """Reads by something that is no generator."""

    def __stream__(self) -> Any:
        return map(self.note, super().__stream__())

    @staticmethod
    def note(chunk: Any) -> Any:
        return chunk


class Readable(openai.Stream[openai.types.chat.ChatCompletionChunk]):
    """Reads by an iterator of its own."""

    def __stream__(self) -> Any:
        return Reader(super().__stream__())


class Reader:
    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    def __next__(self) -> Any:
        return next(self._chunks)


@pytest.mark.parametrize("kind", [Chunks, Readable])
async def test_a_stream_class_that_reads_in_its_own_way_is_observed(
    kind: Any, telemetry: Telemetry
) -> None:
    caller = Caller("sync")
    for most, outcome in ((1000, "completed"), (2, "abandoned")):
        stream = caller.wrapped(Wire(answer), telemetry).post(
            "/chat/completions",
            body=caller.request(stream=True),
            cast_to=openai.types.chat.ChatCompletionChunk,
            stream=True,
            stream_cls=kind,
        )
        assert len(await caller.read(stream, most=most)) == min(most, 4)
        stream.close()
        record = otel_specdecode.record_of(stream)
        assert record is not None
        assert record.outcome == outcome


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_request_is_passed_by_keyword_as_well_as_by_position(
    caller: Caller, telemetry: Telemetry
) -> None:
    from openai._models import FinalRequestOptions

    client = caller.wrapped(Wire(answer), telemetry)
    options = FinalRequestOptions.construct(
        method="post", url="/chat/completions", json_data=caller.request()
    )
    kind = openai.types.chat.ChatCompletion
    completion = await caller.done(client.request(cast_to=kind, options=options))
    assert completion.usage.completion_tokens == 7
    assert telemetry.requests() == COMPLETE


@pytest.mark.parametrize("cast_to", [str, httpx2.Response, dict[str, Any]])
async def test_an_answer_of_the_callers_own_type_is_handed_on(
    cast_to: Any, telemetry: Telemetry
) -> None:
    caller = Caller("sync")
    results: list[Any] = []
    for client in (caller.bare(Wire(answer)), caller.wrapped(Wire(answer), telemetry)):
        result = client.post(
            "/chat/completions", body=caller.request(), cast_to=cast_to
        )
        results.append(result.text if cast_to is httpx2.Response else result)
    assert results[0] == results[1]
    assert [outcome for outcome, *_ in telemetry.requests()] == ["completed"]


@pytest.mark.parametrize("method", ["get", "post"])
async def test_other_endpoints_are_left_alone(
    method: str, telemetry: Telemetry
) -> None:
    client = Caller("sync").wrapped(Wire(lambda body: json_reply({})), telemetry)
    path = "/chat/completions" if method == "get" else "/embeddings"
    more = {} if method == "get" else {"body": {"input": "x"}}
    wire = httpx2.Client(
        transport=httpx2.MockTransport(lambda request: httpx2.Response(200, json={}))
    )
    client = client.with_options(http_client=wire)
    getattr(client, method)(path, cast_to=object, **more)
    assert telemetry.spans == []
    assert telemetry.requests() == []


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_raw_body_that_is_left_early_is_abandoned(
    caller: Caller, telemetry: Telemetry
) -> None:
    async def use(response: Any) -> Any:
        lines = response.iter_lines()
        return await caller.step(lines)

    await opened(caller, caller.wrapped(Wire(answer), telemetry), use, stream=True)
    assert telemetry.requests() == [("abandoned", "absent", "absent")]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_raw_body_that_is_not_read_is_abandoned(
    caller: Caller, telemetry: Telemetry
) -> None:
    async def use(response: Any) -> Any:
        return response.status_code

    await opened(caller, caller.wrapped(Wire(answer), telemetry), use)
    assert telemetry.requests() == [("abandoned", "absent", "absent")]


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_raw_body_left_behind_done_is_complete(
    caller: Caller, telemetry: Telemetry
) -> None:
    async def use(response: Any) -> Any:
        lines = response.iter_lines()
        while (line := await caller.step(lines)) != "data: [DONE]":
            assert line is not None

    client = caller.wrapped(Wire(answer), telemetry, raw_usage="force")
    await opened(caller, client, use, stream=True)
    assert telemetry.requests() == FORCED


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_usage_may_be_asked_for_where_the_caller_reads_lines(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(answer)
    client = caller.wrapped(wire, telemetry, raw_usage="force")
    lines = await open_lines_streamed(caller, client)
    assert wants_usage(wire.bodies[0])
    assert any('"usage"' in line for line in lines)
    assert telemetry.requests() == FORCED
    assert telemetry.total("accepted_tokens") == 4
    assert telemetry.attributes["specdecode.num_content_chunks"] == 3


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_usage_asked_for_raw_is_still_hidden_from_who_parses(
    caller: Caller, telemetry: Telemetry
) -> None:
    bare = await open_parse_streamed(caller, caller.bare(Wire(answer)))
    client = caller.wrapped(Wire(answer), telemetry, raw_usage="force")
    assert await open_parse_streamed(caller, client) == bare
    assert telemetry.requests() == FORCED


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_raw_stream_that_is_never_parsed_is_recorded_when_collected(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(answer), telemetry)
    resource = caller.resource(client).with_raw_response
    response = await caller.done(resource.create(**caller.request(stream=True)))
    assert response.status_code == 200
    response = None
    await collect_garbage()
    assert telemetry.requests() == [("abandoned", "absent", "absent")]


async def test_a_raw_stream_that_is_all_there_is_recorded_when_it_is_parsed(
    telemetry: Telemetry,
) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        body = b"".join(answer(json.loads(request.content)).parts)
        return httpx2.Response(200, content=body)

    http_client = httpx2.Client(transport=httpx2.MockTransport(handle))
    client = openai.OpenAI(api_key="k", base_url=BASE_URL, http_client=http_client)
    caller = Caller("sync")
    bare = await raw_streamed(caller, client)
    otel_specdecode.wrap(client, **telemetry.providers)
    assert await raw_streamed(caller, client) == bare
    assert telemetry.requests() == FORCED


def dropping(body: Json) -> Reply:
    return Reply([b'data: {"choices": []}\n\n', ServerGone()])


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_raw_body_that_breaks_off_is_an_error_and_the_callers_to_see(
    caller: Caller, telemetry: Telemetry
) -> None:
    errors: list[Any] = []
    for client in (
        caller.bare(Wire(dropping)),
        caller.wrapped(Wire(dropping), telemetry),
    ):
        with pytest.raises(httpx2.RemoteProtocolError) as caught:
            await open_lines_streamed(caller, client)
        errors.append(shown(caught.value))
    assert errors[0] == errors[1]
    assert telemetry.attributes["specdecode.outcome"] == "error"
    assert telemetry.attributes["error.type"] == "scripted_wire.ServerGone"


def failing(body: Json) -> Reply:
    return Reply([b'data: {"error": {"message": "no"}}\n\n', b"data: [DONE]\n\n"])


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_an_error_among_raw_lines_is_an_error_although_nothing_is_raised(
    caller: Caller, telemetry: Telemetry
) -> None:
    client = caller.wrapped(Wire(failing), telemetry)
    lines = await open_lines_streamed(caller, client)
    assert any("error" in line for line in lines)
    assert telemetry.attributes["specdecode.outcome"] == "error"
    assert telemetry.attributes["error.type"] == "stream_error"


def compressed(body: Json) -> Reply:
    reply = answer(body)
    data = gzip.compress(b"".join(reply.parts))
    return Reply(
        [data], content_type=reply.content_type, headers={"content-encoding": "gzip"}
    )


@pytest.mark.parametrize("use", [open_read, open_lines_streamed])
async def test_a_compressed_raw_body_is_not_unpacked_for_us(
    use: Callable[[Caller, Any], Awaitable[Any]], telemetry: Telemetry
) -> None:
    caller = Caller("sync")
    bare = await use(caller, caller.bare(Wire(compressed)))
    assert await use(caller, caller.wrapped(Wire(compressed), telemetry)) == bare
    assert telemetry.requests() == NO_USAGE


@pytest.mark.parametrize(
    "body", [b"<html>busy</html>", b"[1, 2]", b"x" * (5 * 1024 * 1024)]
)
async def test_a_raw_body_that_is_no_completion_says_nothing(
    body: bytes, telemetry: Telemetry
) -> None:
    wire = Wire(
        lambda _: Reply([body[:1], body[1:-1], body[-1:]], content_type="text/html")
    )
    caller = Caller("sync")
    client = caller.wrapped(wire, telemetry)
    assert await open_read(caller, client) == body
    assert telemetry.requests() == NO_USAGE


async def test_an_endless_line_of_a_raw_stream_is_not_kept(
    telemetry: Telemetry,
) -> None:
    piece = b"x" * (3 * 1024 * 1024)
    tail = streaming(chat_chunk(delta("hi", "stop")), chat_chunk(usage=usage(3)))({})
    wire = Wire(lambda _: Reply([piece, piece, b"\n", *tail.parts]))
    caller = Caller("sync")
    client = caller.wrapped(wire, telemetry, raw_usage="force")
    await open_bytes_streamed(caller, client)
    assert telemetry.requests() == [("completed", "forced", "absent")]


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (object(), "expected an OpenAI client, got object without request"),
        (openai.OpenAI, "got the class OpenAI"),
    ],
)
def test_only_a_client_can_be_wrapped(client: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        otel_specdecode.wrap(client)


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
@pytest.mark.parametrize(
    "imitate",
    [
        lambda kind: mock.MagicMock(spec=kind),
        lambda kind: mock.create_autospec(kind, instance=True),
    ],
)
def test_a_mock_of_a_client_goes_through(kind: type, imitate: Any) -> None:
    client = imitate(kind)
    client.copy.return_value = client
    assert otel_specdecode.wrap(client) is client
    assert client.copy(timeout=1) is client
    client.close.assert_not_called()


def test_a_wrapped_client_is_the_same_object(telemetry: Telemetry) -> None:
    caller = Caller("sync")
    client = caller.bare(Wire(answer))
    assert otel_specdecode.wrap(client, **telemetry.providers) is client


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_a_shallow_copy_is_as_a_bare_one(
    caller: Caller, telemetry: Telemetry
) -> None:
    bare, wire = Wire(answer), Wire(answer)
    for client, served_by in (
        (caller.bare(bare), bare),
        (caller.wrapped(wire, telemetry), wire),
    ):
        copied = copy.copy(client)
        copied.api_key = "another"
        assert set(vars(copied)) <= set(vars(caller.bare(served_by)))
        await caller.create(copied)
    sent = [served_by.headers[-1]["authorization"] for served_by in (bare, wire)]
    assert sent[0] == sent[1]


class Reduced(openai.OpenAI):
    """A client that says itself what a copy takes over."""

    def __getstate__(self) -> object:
        return self.__dict__ | {"told": "by the class"}


class Slotted(openai.OpenAI):
    """A client whose state is more than its fields."""

    def __getstate__(self) -> object:
        return {"told": "by the class"}, None


@pytest.mark.parametrize("kind", [Reduced, Slotted])
def test_a_class_that_says_what_a_copy_takes_over_is_asked(
    kind: type[openai.OpenAI], telemetry: Telemetry
) -> None:
    client = otel_specdecode.wrap(kind(api_key="unused"), **telemetry.providers)
    copied = copy.copy(client)
    assert vars(copied)["told"] == "by the class"
    assert "request" not in vars(copied)
