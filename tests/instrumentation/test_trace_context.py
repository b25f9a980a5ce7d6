"""The span of a call: its parent, its place in the context, and what is sent along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from callers import CALLERS, CHAT_CALLERS, END, Caller
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags, TraceState
from scripted_wire import BASE_URL, Wire, answer

import otel_specdecode

if TYPE_CHECKING:
    from telemetry import Telemetry

SYNC = Caller("sync")
OWN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def traceparent(context: SpanContext) -> str:
    return (
        f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    )


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_the_span_of_the_call_goes_along(
    caller: Caller, telemetry: Telemetry, *, stream: bool
) -> None:
    wire = Wire(answer)
    result = await caller.create(caller.wrapped(wire, telemetry), stream=stream)
    if stream:
        await caller.read(result)
    (headers,) = wire.headers
    assert headers["traceparent"] == traceparent(telemetry.span.context)


async def test_a_trace_state_goes_along_and_baggage_never_does(
    telemetry: Telemetry,
) -> None:
    wire = Wire(answer)
    state = TraceState([("vendor", "value")])
    remote = SpanContext(1, 2, True, TraceFlags(1), state)
    context = trace.set_span_in_context(trace.NonRecordingSpan(remote), Context())
    token = otel_context.attach(baggage.set_baggage("user", "alice", context))
    try:
        await SYNC.create(SYNC.wrapped(wire, telemetry))
    finally:
        otel_context.detach(token)
    (headers,) = wire.headers
    assert headers["tracestate"] == "vendor=value"
    assert "baggage" not in headers
    assert telemetry.span.context.trace_id == 1


@pytest.mark.parametrize("name", ["traceparent", "TraceParent"])
async def test_a_callers_own_traceparent_stays(name: str, telemetry: Telemetry) -> None:
    wire = Wire(answer)
    client = SYNC.wrapped(wire, telemetry)
    extra = {name: OWN}
    await SYNC.create(client, extra_headers=extra)
    await SYNC.create(client.with_options(default_headers=extra))
    assert [headers["traceparent"] for headers in wire.headers] == [OWN, OWN]
    assert extra == {name: OWN}


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_traceparent_of_the_callers_own_http_client_stays(
    caller: Caller, telemetry: Telemetry
) -> None:
    wire = Wire(answer)
    http_client = wire.async_client if caller.is_async else wire.sync_client
    http_client.headers["TraceParent"] = OWN
    client = caller.wrapped(wire, telemetry).with_options(http_client=http_client)
    await caller.create(client)
    assert wire.headers[0]["traceparent"] == OWN


class Signing(openai.OpenAI):
    """Has a callback of its own, as one that signs requests would."""

    def _prepare_request(self, request: httpx2.Request) -> None:
        request.headers["x-signed"] = ",".join(sorted(request.headers))


@pytest.mark.parametrize("hooked", ["wrap", "instrument"])
async def test_what_the_callers_callback_signs_includes_the_traceparent(
    hooked: str, telemetry: Telemetry, instrumentor: Any
) -> None:
    wire = Wire(answer)
    client = Signing(api_key="k", base_url=BASE_URL, http_client=wire.sync_client)
    if hooked == "wrap":
        otel_specdecode.wrap(client, **telemetry.providers)
    else:
        instrumentor.instrument(**telemetry.providers)
    await SYNC.create(client)
    (headers,) = wire.headers
    assert headers["traceparent"] == traceparent(telemetry.span.context)
    assert "traceparent" in headers["x-signed"].split(",")


async def test_a_traceparent_that_the_caller_leaves_out_stays_out(
    telemetry: Telemetry,
) -> None:
    wire = Wire(answer)
    await SYNC.create(
        SYNC.wrapped(wire, telemetry), extra_headers={"traceparent": openai.Omit()}
    )
    assert "traceparent" not in wire.headers[0]


async def test_the_callers_other_headers_stay(telemetry: Telemetry) -> None:
    wire = Wire(answer)
    extra = {"x-tenant": "blue"}
    await SYNC.create(SYNC.wrapped(wire, telemetry), extra_headers=extra)
    assert wire.headers[0]["x-tenant"] == "blue"
    assert "traceparent" in wire.headers[0]
    assert extra == {"x-tenant": "blue"}


@pytest.mark.parametrize(
    "options",
    [
        {"propagate_trace": False},
        {"propagation_excluded_hosts": ["model.test"]},
        {"propagation_excluded_hosts": "other.test, Model.Test"},
    ],
)
async def test_it_goes_not_where_it_is_not_wanted(
    options: dict[str, Any], telemetry: Telemetry
) -> None:
    wire = Wire(answer)
    await SYNC.create(SYNC.wrapped(wire, telemetry, **options))
    assert "traceparent" not in wire.headers[0]


async def test_other_hosts_than_those_excluded_get_it(telemetry: Telemetry) -> None:
    wire = Wire(answer)
    options = {"propagation_excluded_hosts": ["api.openai.com"]}
    await SYNC.create(SYNC.wrapped(wire, telemetry, **options))
    assert "traceparent" in wire.headers[0]


async def test_credentials_in_a_base_url_are_not_recorded(
    telemetry: Telemetry,
) -> None:
    client = SYNC.bare(Wire(answer), base_url="https://alice:secret@model.test/v1?k=1")
    otel_specdecode.wrap(client, **telemetry.providers)
    await SYNC.create(client)
    assert telemetry.attributes["server.address"] == "model.test"
    assert telemetry.attributes["server.port"] == 443
    assert "secret" not in repr(telemetry.attributes) + repr(telemetry.metrics())


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_the_span_is_a_child_of_the_callers_and_of_kind_client(
    caller: Caller, telemetry: Telemetry, *, stream: bool
) -> None:
    tracer = telemetry.tracer_provider.get_tracer("app")
    client = caller.wrapped(Wire(answer), telemetry)
    with tracer.start_as_current_span("app") as app:
        result = await caller.create(client, stream=stream)
    if stream:
        await caller.read(result)
    ours = next(span for span in telemetry.spans if span.name != "app")
    assert ours.kind is SpanKind.CLIENT
    assert ours.parent is not None
    assert ours.parent.span_id == app.get_span_context().span_id


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_the_callers_span_is_the_current_one_between_chunks(
    caller: Caller, telemetry: Telemetry
) -> None:
    tracer = telemetry.tracer_provider.get_tracer("app")
    client = caller.wrapped(Wire(answer), telemetry)
    with tracer.start_as_current_span("app") as app:
        stream = await caller.stream(client)
        iterator = caller.iterate(stream)
        current = [trace.get_current_span()]
        while await caller.step(iterator) is not END:
            current.append(trace.get_current_span())
        current.append(trace.get_current_span())
    assert set(current) == {app}
    assert trace.get_current_span() is trace.INVALID_SPAN


class Spying(httpx2.BaseTransport):
    """Notes the current span while a request is on its way."""

    def __init__(self, wire: Wire) -> None:
        self._inner = httpx2.MockTransport(wire)
        self.spans: list[trace.Span] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.spans.append(trace.get_current_span())
        return self._inner.handle_request(request)


async def test_while_the_request_is_on_its_way_our_span_is_the_current_one(
    telemetry: Telemetry,
) -> None:
    spying = Spying(Wire(answer))
    client = SYNC.wrapped(Wire(answer), telemetry)
    client = client.with_options(http_client=httpx2.Client(transport=spying))
    await SYNC.create(client)
    (current,) = spying.spans
    assert current.get_span_context() == telemetry.span.context


class Asking(httpx2.BaseTransport):
    """A transport that asks a model itself before it sends on."""

    def __init__(self, wire: Wire, inner_client: Any) -> None:
        self._inner = httpx2.MockTransport(wire)
        self._client = inner_client

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        list(
            self._client.completions.create(
                model="moderator", prompt="fine?", stream=True
            )
        )
        return self._inner.handle_request(request)


async def test_a_call_made_inside_of_a_call_has_a_span_of_its_own(
    telemetry: Telemetry,
) -> None:
    inner = SYNC.wrapped(Wire(answer), telemetry)
    asking = Asking(Wire(answer), inner)
    client = SYNC.bare(Wire(answer)).with_options(
        http_client=httpx2.Client(transport=asking)
    )
    otel_specdecode.wrap(client, **telemetry.providers)
    await SYNC.read(await SYNC.stream(client))
    moderator, outer = telemetry.spans
    assert moderator.name == "text_completion moderator"
    assert moderator.parent is not None
    assert moderator.parent.span_id == outer.context.span_id
    assert len(telemetry.requests()) == 2
    assert telemetry.total("output_tokens") == 14
    durations = telemetry.points("gen_ai.client.operation.duration")
    assert sum(point.count for point in durations) == 2


NEIGHBOURS: list[tuple[str, str, SpanKind]] = [
    ("gen_ai.operation.name", "chat", SpanKind.CLIENT),
    ("openinference.span.kind", "LLM", SpanKind.INTERNAL),
    ("llm.request.type", "chat", SpanKind.CLIENT),
]


@pytest.mark.parametrize(("mark", "value", "kind"), NEIGHBOURS)
async def test_a_neighbours_span_for_this_call_is_enriched_and_left_to_it(
    mark: str, value: str, kind: SpanKind, telemetry: Telemetry
) -> None:
    tracer = telemetry.tracer_provider.get_tracer("neighbour")
    wire = Wire(answer)
    client = SYNC.wrapped(wire, telemetry)
    with tracer.start_as_current_span(
        "theirs", kind=kind, attributes={mark: value}
    ) as theirs:
        await SYNC.create(client)
        assert theirs.is_recording()
    assert telemetry.span.name == "theirs"
    assert telemetry.attributes["specdecode.num_accepted_draft_tokens"] == 4
    assert wire.headers[0]["traceparent"] == traceparent(theirs.get_span_context())
    assert len(telemetry.requests()) == 1
    assert telemetry.points("gen_ai.client.operation.duration") == []
    assert telemetry.points("gen_ai.client.token.usage") == []


async def test_the_context_key_of_the_official_instrumentations_is_understood(
    telemetry: Telemetry,
) -> None:
    tracer = telemetry.tracer_provider.get_tracer("neighbour")
    client = SYNC.wrapped(Wire(answer), telemetry)
    with tracer.start_as_current_span("theirs"):
        key = "opentelemetry.genai.client.inference.context"
        token = otel_context.attach(otel_context.set_value(key, object()))
        await SYNC.create(client)
        otel_context.detach(token)
    assert telemetry.span.name == "theirs"


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "invoke_agent"}, SpanKind.CLIENT),
        ({"gen_ai.operation.name": "chat"}, SpanKind.SERVER),
        ({}, SpanKind.INTERNAL),
    ],
)
async def test_spans_around_the_call_are_no_neighbours(
    attributes: dict[str, str], kind: SpanKind, telemetry: Telemetry
) -> None:
    tracer = telemetry.tracer_provider.get_tracer("app")
    client = SYNC.wrapped(Wire(answer), telemetry)
    with tracer.start_as_current_span("around", kind=kind, attributes=attributes):
        await SYNC.create(client)
    assert len(telemetry.spans) == 2


class Opaque(trace.NonRecordingSpan):
    """A recording span of an SDK that does not show its attributes."""

    def is_recording(self) -> bool:
        return True


async def test_a_span_that_shows_no_attributes_is_no_neighbours(
    telemetry: Telemetry,
) -> None:
    span = Opaque(SpanContext(1, 2, False, TraceFlags(1)))
    client = SYNC.wrapped(Wire(answer), telemetry)
    with trace.use_span(span):
        await SYNC.create(client)
    assert telemetry.span.parent is not None
    assert telemetry.span.parent.span_id == 2


async def test_without_any_sdk_the_numbers_are_there_all_the_same() -> None:
    client = otel_specdecode.wrap(SYNC.bare(Wire(answer), base_url=BASE_URL))
    with otel_specdecode.capture() as records:
        await SYNC.read(await SYNC.stream(client))
    assert [record.num_output_tokens for record in records] == [7]
