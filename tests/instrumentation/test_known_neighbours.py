"""What is known of single neighbours: whose metrics there are, and when a span ends.

They are played here by their scopes and manners; `make neighbours` runs themselves.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from callers import CALLERS, CHAT_CALLERS, Caller
from genai_util import InferenceData, published
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind
from scripted_wire import DONE, Reply, Wire, answer, chat_chunk, delta, event, role
from telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.trace import Span

OPENINFERENCE = "openinference.instrumentation.openai"
OPENLLMETRY = "opentelemetry.instrumentation.openai.v1"
LOGFIRE = "logfire.openai"

DURATION = "gen_ai.client.operation.duration"
TOKENS = "gen_ai.client.token.usage"


@contextmanager
def neighbour(
    telemetry: Telemetry, scope: str, operation: str = "chat"
) -> Iterator[Span]:
    """Open the span of a neighbour for a call."""
    with telemetry.tracer_provider.get_tracer(scope).start_as_current_span(
        "theirs",
        kind=SpanKind.CLIENT,
        attributes={"gen_ai.operation.name": operation},
        end_on_exit=False,
    ) as span:
        yield span


def durations(telemetry: Telemetry) -> int:
    return sum(point.count for point in telemetry.points(DURATION))


def tokens(telemetry: Telemetry) -> list[float]:
    return sorted(point.sum for point in telemetry.points(TOKENS))


@pytest.mark.parametrize("scope", [OPENINFERENCE, LOGFIRE])
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_standard_metrics_are_ours_where_the_neighbour_has_none(
    caller: Caller, scope: str, telemetry: Telemetry
) -> None:
    with neighbour(telemetry, scope) as span:
        client = caller.wrapped(Wire(answer), telemetry)
        await caller.read(await caller.stream(client))
    span.end()
    assert durations(telemetry) == 1
    assert tokens(telemetry) == [5, 7]
    assert telemetry.span.name == "theirs"


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_openinference_gets_the_tokens_in_its_own_words(
    caller: Caller, telemetry: Telemetry
) -> None:
    with neighbour(telemetry, OPENINFERENCE) as span:
        client = caller.wrapped(Wire(answer), telemetry)
        await caller.read(await caller.stream(client))
    span.end()
    names = ("prompt", "completion", "total")
    counts = [telemetry.attributes[f"llm.token_count.{name}"] for name in names]
    assert counts == [5, 7, 12]


async def test_a_total_of_which_one_part_is_unknown_is_not_given(
    telemetry: Telemetry,
) -> None:
    def without_input(body: Any) -> Reply:
        chunks = (
            *(
                chat_chunk(role()),
                chat_chunk(delta("one")),
                chat_chunk(delta("", "stop")),
            ),
            chat_chunk(usage={"completion_tokens": 2}),
        )
        return Reply([*map(event, chunks), DONE])

    caller = Caller("sync")
    with neighbour(telemetry, OPENINFERENCE) as span:
        client = caller.wrapped(Wire(without_input), telemetry)
        await caller.read(await caller.stream(client))
    span.end()
    theirs = {k: v for k, v in telemetry.attributes.items() if k.startswith("llm.")}
    assert theirs == {"llm.token_count.completion": 2}


@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_openllmetry_has_metrics_for_chat_alone(
    caller: Caller, telemetry: Telemetry
) -> None:
    operation = "chat" if caller.endpoint == "chat" else "text_completion"
    with neighbour(telemetry, OPENLLMETRY, operation) as span:
        await caller.create(caller.wrapped(Wire(answer), telemetry))
    span.end()
    assert durations(telemetry) == (0 if caller.endpoint == "chat" else 1)


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_openllmetry_has_none_for_a_raw_stream(
    caller: Caller, telemetry: Telemetry
) -> None:
    with neighbour(telemetry, OPENLLMETRY) as span:
        client = caller.wrapped(Wire(answer), telemetry)
        create = client.chat.completions.with_raw_response.create
        raw = await caller.done(create(**caller.request(stream=True)))
        span.end()
        await caller.read(raw.parse())
    assert durations(telemetry) == 1


class Instrumentor:
    """OpenLLMetry's, which must not be called: that would set its options anew."""

    _instance: Any = None

    def __init__(self) -> None:
        raise AssertionError


def install_openllmetry(monkeypatch: pytest.MonkeyPatch, *, on: bool) -> None:
    module: Any = ModuleType("opentelemetry.instrumentation.openai")
    module.OpenAIInstrumentor = Instrumentor
    instance = SimpleNamespace(is_instrumented_by_opentelemetry=on)
    monkeypatch.setattr(Instrumentor, "_instance", instance)
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("caller", CALLERS, ids=str)
async def test_openllmetry_counts_calls_that_are_not_sampled_too(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, *, on: bool
) -> None:
    install_openllmetry(monkeypatch, on=on)
    telemetry = Telemetry(sampler=ALWAYS_OFF)
    with neighbour(telemetry, OPENLLMETRY):
        client = caller.wrapped(Wire(answer), telemetry)
        await caller.read(await caller.stream(client))
    counts_itself = on and caller.endpoint == "chat"
    assert durations(telemetry) == (0 if counts_itself else 1)
    assert tokens(telemetry) == [5, 7]
    assert len(telemetry.requests()) == 1


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_genai_takes_the_tokens_of_calls_that_are_not_sampled_too(
    caller: Caller,
) -> None:
    telemetry, data = Telemetry(sampler=ALWAYS_OFF), InferenceData()
    with neighbour(telemetry, "genai"), published(data):
        client = caller.wrapped(Wire(answer), telemetry)
        await caller.read(await caller.stream(client))
    assert data == InferenceData(5, 7)
    assert (durations(telemetry), tokens(telemetry)) == (0, [])


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_neighbour_that_has_gone_takes_nothing(
    caller: Caller, telemetry: Telemetry
) -> None:
    data = InferenceData()
    with neighbour(telemetry, "genai") as span, published(data):
        client = caller.wrapped(Wire(answer), telemetry)
        stream = await caller.stream(client)
        span.end()
        await caller.read(stream)
    assert data == InferenceData()
    assert (durations(telemetry), tokens(telemetry)) == (0, [5, 7])


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_where_its_span_ends_first_ours_is_a_child_with_what_that_lacks(
    caller: Caller, telemetry: Telemetry, *, asked: bool
) -> None:
    more = {"stream_options": {"include_usage": True}} if asked else {}
    with neighbour(telemetry, "genai") as span:
        client = caller.wrapped(Wire(answer), telemetry)
        stream = await caller.stream(client, **more)
        span.end()
        await caller.read(stream)
    theirs, ours = telemetry.spans
    assert ours.parent == theirs.context
    assert ours.name == "chat spec-demo"
    assert theirs.start_time <= ours.start_time <= theirs.end_time <= ours.end_time
    attributes = dict(ours.attributes or {})
    assert attributes["specdecode.num_accepted_draft_tokens"] == 4
    standard = {k: v for k, v in attributes.items() if k.startswith("gen_ai.")}
    only_ours = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 7}
    assert standard == ({} if asked else only_ours)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_what_logfire_suppresses_around_its_call_is_not_us(
    caller: Caller, telemetry: Telemetry, *, stream: bool
) -> None:
    wire = Wire(answer)
    with neighbour(telemetry, LOGFIRE) as span, suppress_instrumentation():
        result = await caller.create(caller.wrapped(wire, telemetry), stream=stream)
        if stream:
            await caller.read(result)
    span.end()
    assert len(telemetry.requests()) == 1
    assert telemetry.span.name == "theirs"
    told = wire.headers[0]["traceparent"].split("-")[2]
    assert told == trace.format_span_id(span.get_span_context().span_id)
