"""Switching the instrumentation on and off, and what its options take."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import openai
import pytest
from callers import CHAT_CALLERS, Caller
from opentelemetry.instrumentation.utils import suppress_instrumentation
from scripted_wire import BASE_URL, Wire, answer

import otel_specdecode
from otel_specdecode import ConfigError, SpecDecodeInstrumentor
from otel_specdecode.instrumentation import Options

if TYPE_CHECKING:
    from telemetry import Telemetry

SYNC = Caller("sync")
KINDS = (openai.OpenAI, openai.AsyncOpenAI)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_suppressed_call_goes_out_as_it_is_and_is_not_recorded(
    caller: Caller, telemetry: Telemetry, *, stream: bool
) -> None:
    wire = Wire(answer)
    client = caller.wrapped(wire, telemetry)
    with suppress_instrumentation(), otel_specdecode.capture() as records:
        result = await caller.create(client, stream=stream)
        if stream:
            await caller.read(result)
    assert wire.bodies == [caller.request(stream=stream)]
    assert "traceparent" not in wire.headers[0]
    assert records == []
    assert telemetry.spans == []
    assert telemetry.requests() == []


@pytest.mark.parametrize("order", ["wrap first", "instrument first"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_wrapped_and_instrumented_records_once(
    caller: Caller,
    order: str,
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    *,
    stream: bool,
) -> None:
    client = caller.bare(Wire(answer))
    if order == "instrument first":
        instrumentor.instrument(**telemetry.providers)
    otel_specdecode.wrap(client, **telemetry.providers)
    otel_specdecode.wrap(client, **telemetry.providers)
    if order == "wrap first":
        instrumentor.instrument(**telemetry.providers)
    result = await caller.create(client, stream=stream)
    if stream:
        await caller.read(result)
    assert len(telemetry.spans) == 1
    assert len(telemetry.requests()) == 1
    assert telemetry.attributes["specdecode.retries"] == 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
async def test_a_request_of_the_callers_own_between_both_hooks_is_recorded_once(
    kind: type[Any],
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    *,
    stream: bool,
) -> None:
    class Copying(kind):
        def request(self, cast_to: Any, options: Any, **more: Any) -> Any:
            return super().request(cast_to, options.model_copy(), **more)

    caller, wire = Caller("sync" if kind is openai.OpenAI else "async"), Wire(answer)
    http = wire.async_client if caller.is_async else wire.sync_client
    client = Copying(api_key="k", base_url=BASE_URL, http_client=http)
    instrumentor.instrument(**telemetry.providers)
    otel_specdecode.wrap(client, **telemetry.providers)
    result = await caller.create(client, stream=stream)
    if stream:
        await caller.read(result)
    assert len(telemetry.spans) == 1
    assert len(telemetry.requests()) == 1


async def test_instrumenting_twice_records_once(
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    instrumentor.instrument(**telemetry.providers)
    SpecDecodeInstrumentor().instrument(**telemetry.providers)
    assert "already instrumented" in caplog.text
    await SYNC.create(SYNC.bare(Wire(answer)))
    assert len(telemetry.requests()) == 1


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_uninstrument_restores_what_was_there(
    caller: Caller, telemetry: Telemetry, instrumentor: SpecDecodeInstrumentor
) -> None:
    before = [dict(vars(kind)) for kind in KINDS]
    instrumentor.instrument(**telemetry.providers)
    assert [dict(vars(kind)) for kind in KINDS] != before
    client = caller.bare(Wire(answer))
    instrumentor.uninstrument()
    assert [dict(vars(kind)) for kind in KINDS] == before
    await caller.create(client)
    assert telemetry.requests() == []


@pytest.mark.parametrize("caller", CHAT_CALLERS, ids=str)
async def test_a_wrapper_that_came_later_survives_and_ours_in_it_falls_silent(
    caller: Caller,
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = openai.AsyncOpenAI if caller.is_async else openai.OpenAI
    monkeypatch.setattr(kind, "request", kind.request)  # put back at the end
    monkeypatch.setattr(kind, "_prepare_request", kind._prepare_request)
    instrumentor.instrument(**telemetry.providers)
    ours = kind.request
    calls: list[str] = []

    @functools.wraps(ours)
    def later(*args: Any, **kwargs: Any) -> Any:
        calls.append("later")
        return ours(*args, **kwargs)

    monkeypatch.setattr(kind, "request", later)
    client = caller.bare(Wire(answer))
    await caller.create(client)
    assert len(telemetry.requests()) == 1

    instrumentor.uninstrument()
    assert kind.request is later
    await caller.create(client)
    assert len(telemetry.requests()) == 1

    instrumentor.instrument(**telemetry.providers)
    await caller.read(await caller.stream(client))
    assert len(telemetry.requests()) == 2
    assert calls == ["later"] * 3


async def test_a_stream_that_is_open_when_the_hooks_go_is_recorded(
    telemetry: Telemetry, instrumentor: SpecDecodeInstrumentor
) -> None:
    instrumentor.instrument(**telemetry.providers)
    stream = await SYNC.stream(SYNC.bare(Wire(answer)))
    instrumentor.uninstrument()
    await SYNC.read(stream)
    assert telemetry.requests() == [("completed", "forced", "present")]


async def test_a_client_that_was_wrapped_stays_so_when_the_classes_are_not(
    telemetry: Telemetry, instrumentor: SpecDecodeInstrumentor
) -> None:
    client = SYNC.bare(Wire(answer))
    instrumentor.instrument(**telemetry.providers)
    otel_specdecode.wrap(client, **telemetry.providers)
    instrumentor.uninstrument()
    await SYNC.create(client)
    assert len(telemetry.requests()) == 1


def test_what_must_be_installed_is_what_the_package_declares() -> None:
    needed = SpecDecodeInstrumentor().instrumentation_dependencies()
    assert list(needed) == ["openai >= 1.40, < 4"]


GOOD: list[tuple[str, object, str, object]] = [
    ("usage", "UNSET ", "unset", "unset"),
    ("raw_usage", "force", "Force", "force"),
    ("hide_usage_chunk", False, "no", False),
    ("continuous_usage", True, " ON ", True),
    ("propagation_excluded_hosts", ["a.test", "b.test"], "a.test, b.test,", None),
    ("propagation_excluded_hosts", "a.test,b.test", "a.test,b.test", None),
    ("propagation_excluded_hosts", ["A.test", "[b.test]"], "a.TEST,b.test", None),
    ("propagation_excluded_hosts", (), " , ", ()),
    ("propagation_excluded_hosts", "[::1]", "::1", ("::1",)),
    ("provider_name", "vllm", "vllm", "vllm"),
    ("genai_names", "next", "NEXT", "next"),
]


@pytest.mark.parametrize(("name", "keyword", "variable", "expected"), GOOD)
def test_an_option_is_taken_by_keyword_or_by_variable(
    name: str, keyword: object, variable: str, expected: object
) -> None:
    by_keyword = Options.of({name: keyword}, {})
    by_variable = Options.of({}, {f"OTEL_SPECDECODE_{name.upper()}": variable})
    assert by_keyword == by_variable
    wanted = ("a.test", "b.test") if expected is None else expected
    assert getattr(by_keyword, name) == wanted


def test_a_keyword_wins_over_a_variable_and_none_is_no_keyword() -> None:
    environ = {"OTEL_SPECDECODE_USAGE": "never"}
    assert Options.of({"usage": "unset"}, environ).usage == "unset"
    assert Options.of({"usage": None}, environ).usage == "never"
    assert Options.of({}, {"OTEL_SPECDECODE_USAGE": ""}).usage == "always"


BAD: list[tuple[str, object, str]] = [
    ("usage", "sometimes", "expected one of always, unset, never, got 'sometimes'"),
    ("usage", 3, "expected one of always, unset, never, got 3"),
    ("hide_usage_chunk", "maybe", "expected true or false, got 'maybe'"),
    ("hide_usage_chunk", 1, "expected true or false, got 1"),
    ("propagation_excluded_hosts", [1], r"or one string with commas, got \[1\]"),
    ("propagation_excluded_hosts", 1, "or one string with commas, got 1"),
    ("propagation_excluded_hosts", "a:80", "without scheme, port and path, got 'a:80'"),
    ("propagation_excluded_hosts", "http://a", "without scheme, port and path"),
    ("propagation_excluded_hosts", ["[::1]:80"], "without scheme, port and path"),
    ("provider_name", 1, "expected a string, got int"),
    ("use_usage", True, "expected options out of usage, .*, got use_usage"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_a_wrong_option_is_an_error_at_set_up(
    name: str,
    value: object,
    message: str,
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
) -> None:
    client: Any = SYNC.bare(Wire(answer))
    options: dict[str, Any] = {name: value}
    with pytest.raises(ConfigError, match=message):
        otel_specdecode.wrap(client, **options)
    with pytest.raises(ConfigError, match=message):
        instrumentor.instrument(**telemetry.providers, **options)
    assert "request" not in vars(client)
    assert "request" not in vars(openai.OpenAI)


def test_a_wrong_variable_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SPECDECODE_RAW_USAGE", "yes")
    with pytest.raises(ConfigError, match="OTEL_SPECDECODE_RAW_USAGE: expected one"):
        otel_specdecode.wrap(SYNC.bare(Wire(answer)))


async def test_variables_set_the_options_of_an_instrumented_process(
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_SPECDECODE_USAGE", "never")
    instrumentor.instrument(**telemetry.providers)
    await SYNC.read(await SYNC.stream(SYNC.bare(Wire(answer))))
    assert telemetry.requests() == [("completed", "absent", "absent")]


@pytest.mark.parametrize(
    "loader", [{"raise_exception_on_conflict": True}, {"skip_dep_check": True}]
)
async def test_without_code_a_wrong_value_is_logged_and_the_program_runs(
    loader: dict[str, bool],
    telemetry: Telemetry,
    instrumentor: SpecDecodeInstrumentor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OTEL_SPECDECODE_USAGE", "sometimes")
    instrumentor.instrument(**loader)
    (warning,) = [r for r in caplog.records if r.name == "otel_specdecode"]
    assert warning.levelname == "WARNING"
    assert "OTEL_SPECDECODE_USAGE: expected one of" in warning.getMessage()
    await SYNC.create(SYNC.bare(Wire(answer)))
    assert telemetry.requests() == []
