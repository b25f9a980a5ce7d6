"""`diagnose()` says of this process what a user must know when nothing arrives."""

from __future__ import annotations

import functools
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest
import wrapt
from callers import Caller, collect, collect_garbage
from openai.resources.chat.completions import Completions
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NoOpTracerProvider
from scripted_wire import Wire, answer

import otel_specdecode
from otel_specdecode import diagnose
from otel_specdecode.instrumentation import abandoned, diagnosis
from otel_specdecode.instrumentation._guard import RERAISE_VARIABLE
from otel_specdecode.instrumentation.diagnosis import ClientState, RefusedUsage
from otel_specdecode.instrumentation.diagnosis_servers import ServerState
from otel_specdecode.simulator import named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from telemetry import Telemetry

    from otel_specdecode import SpecDecodeInstrumentor
    from otel_specdecode.instrumentation import Diagnosis

SYNC = Caller("sync")
MESSAGES = [{"role": "user", "content": "hi"}]


def clients_at(base_url: str) -> tuple[ClientState, ...]:
    """The clients of this test; others of the process may be alive."""
    return tuple(c for c in diagnose().clients if c.base_url == base_url)


def client_of(base_url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=base_url, api_key="unused", max_retries=0)


def test_a_wrapped_client_is_listed_without_credentials_and_not_kept_alive() -> None:
    url = "http://user:hush@listed.test:1/v1"
    client = otel_specdecode.wrap(client_of(url), raw_usage="force")
    (state,) = clients_at("http://listed.test:1/v1/")
    assert (state.kind, state.wrapped, state.instrumented) == ("OpenAI", True, False)
    assert state.options is not None
    assert state.options.raw_usage == "force"
    gone = weakref.ref(client)
    found = diagnose()
    del client
    collect()
    assert gone() is None
    assert clients_at("http://listed.test:1/v1/") == ()
    assert state in found.clients


def test_a_copy_of_a_wrapped_client_is_wrapped_too() -> None:
    client = otel_specdecode.wrap(client_of("http://copied.test:1/v1"))
    copy = client.with_options(timeout=1)
    assert [c.wrapped for c in clients_at("http://copied.test:1/v1/")] == [True, True]
    assert copy is not client


async def test_an_instrumented_client_is_listed_once_it_made_a_request(
    telemetry: Telemetry, instrumentor: SpecDecodeInstrumentor
) -> None:
    instrumentor.instrument(**telemetry.providers, provider_name="house")
    client = SYNC.bare(Wire(answer))
    await SYNC.create(client)
    url = f"{str(client.base_url).rstrip('/')}/"
    states = [s for s in clients_at(url) if not s.wrapped]
    assert {
        (s.instrumented, s.options and s.options.provider_name) for s in states
    } == {(True, "house")}
    assert diagnose().instrumented
    instrumentor.uninstrument()
    after = diagnose()
    assert not after.instrumented
    left = tuple(s for s in clients_at(url) if not s.wrapped)
    assert {s.options for s in left} == {None}
    # The page shows the first few clients, and other tests have theirs.
    page = str(replace(after, clients=left[:1]))
    assert "not any more" in " ".join(page.split())


def difference(before: Diagnosis, after: Diagnosis, field: str) -> dict[str, int]:
    """What a block added to one of the sums.

    What earlier tests have dropped must be collected before, or it is counted here.
    """
    old, new = getattr(before, field), getattr(after, field)
    grown = {word: number - old.get(word, 0) for word, number in new.items()}
    return {word: number for word, number in grown.items() if number}


async def test_requests_are_summed_by_outcome_usage_and_acceptance(
    telemetry: Telemetry,
) -> None:
    await collect_garbage()
    client = SYNC.wrapped(Wire(answer), telemetry)
    before = diagnose()
    await SYNC.read(await SYNC.create(client, stream=True))
    (await SYNC.create(client, stream=True)).close()
    await SYNC.create(client)
    after = diagnose()
    assert difference(before, after, "requests") == {"completed": 2, "abandoned": 1}
    assert difference(before, after, "usage") == {
        "forced": 1,
        "absent": 1,
        "requested": 1,
    }
    assert sum(difference(before, after, "acceptance").values()) == 3
    assert (after.dropped, after.failures) == (before.dropped, before.failures)


def test_servers_are_told_apart_by_what_they_answer(telemetry: Telemetry) -> None:
    with (
        simulate(replace(named_profile("mtp"), time_scale=0)) as speculating,
        simulate(replace(named_profile("plain"), time_scale=0)) as plain,
    ):
        before = diagnose().servers
        for sim in (speculating, plain):
            client = otel_specdecode.wrap(
                client_of(sim.base_url), **telemetry.providers
            )
            ask = {"model": sim.model, "messages": MESSAGES}
            client.chat.completions.create(**ask)
            # Of these no server says any, and so they say nothing of the server.
            client.chat.completions.create(**ask, n=2)
            with pytest.raises(openai.NotFoundError):
                client.chat.completions.create(**{**ask, "model": "none"})
        found = diagnose()
    new = [state for state in found.servers if state not in before]
    assert [(s.model, s.num_answers, s.num_with_acceptance) for s in new] == [
        ("spec-demo", 1, 1),
        ("spec-demo", 1, 0),
    ]
    (problem,) = [
        p for p in replace(found, servers=tuple(new)).problems if "acceptance from" in p
    ]
    assert f"had acceptance from {new[1]}. `otel" in problem
    assert str(new[0]) not in problem


def test_a_server_whose_url_names_no_host_is_said_to_have_none() -> None:
    state = ServerState(
        address=None, port=None, model="m", num_answers=1, num_with_acceptance=0
    )
    assert str(state) == "no host, m"


def test_many_servers_are_summed_up() -> None:
    silent = [
        ServerState(
            address="model.test",
            port=8000 + number,
            model=None,
            num_answers=3,
            num_with_acceptance=0,
        )
        for number in range(10)
    ]
    found = replace(diagnose(), servers=tuple(silent))
    assert "in 0 of 3 answers of model.test:8007, no model named" in str(found)
    assert "and 2 more servers" in str(found)
    assert any("model.test:8002, no model named; 7 more" in p for p in found.problems)


def test_a_refusal_is_remembered_with_base_url_and_model() -> None:
    profile = replace(named_profile("plain"), time_scale=0, simulate="refuse=openai")
    with simulate(profile) as sim:
        client = otel_specdecode.wrap(client_of(sim.base_url))
        for _ in client.chat.completions.create(
            model=sim.model, messages=MESSAGES, stream=True
        ):
            pass
        found = diagnose()
        (refused,) = [r for r in found.refused if r.base_url == f"{sim.base_url}/"]
    assert 3500 < refused.asked_again_in_s <= 3600
    assert refused == RefusedUsage(
        base_url=f"{sim.base_url}/",
        model=sim.model,
        asked_again_in_s=refused.asked_again_in_s,
    )
    assert any("refuses stream_options for spec-demo" in p for p in found.problems)


async def test_streams_that_wait_to_be_recorded_are_counted(
    telemetry: Telemetry,
) -> None:
    await collect_garbage()
    stream: Any = SYNC.wrapped(Wire(answer), telemetry).chat.completions.create(
        **SYNC.request(stream=True)
    )
    next(stream)
    with abandoned._recording:  # as while another stream is being recorded
        stream = None
        collect()
        assert diagnose().num_pending == 1
    abandoned.flush()
    assert diagnose().num_pending == 0
    assert telemetry.requests() == [("abandoned", "absent", "absent")]


async def test_streams_that_are_open_are_counted() -> None:
    await collect_garbage()
    with simulate(replace(named_profile("plain"), time_scale=0)) as sim:
        client = otel_specdecode.wrap(client_of(sim.base_url))
        before = diagnose().num_open
        stream = client.chat.completions.create(
            model=sim.model, messages=MESSAGES, stream=True
        )
        assert diagnose().num_open == before + 1
        stream.close()
    assert diagnose().num_open == before


def test_what_was_lost_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diagnosis, "failures", lambda: {"reading a chunk": 2})
    found = diagnose()
    assert found.failures == {"reading a chunk": 2}
    assert any("could not be recorded" in problem for problem in found.problems)
    assert "2 reading a chunk" in str(found)


def test_providers_are_listed_once_each_with_what_they_lack(
    telemetry: Telemetry,
) -> None:
    class Own(NoOpTracerProvider):
        """Of the caller's, and of no kind that we know."""

    mute = {"tracer_provider": Own(), "meter_provider": MeterProvider()}
    otel_specdecode.wrap(client_of("http://a.test/v1"), **mute)
    otel_specdecode.wrap(client_of("http://b.test/v1"), **mute)
    otel_specdecode.wrap(client_of("http://c.test/v1"), **telemetry.providers)
    found = [p for p in diagnose().providers if not p.is_global]
    (own,) = [p for p in found if p.kind.endswith(".Own")]
    assert (own.signal, own.hands_over, own.problem) == ("traces", None, None)
    working = [p for p in found if p.hands_over]
    assert {p.signal for p in working} >= {"traces", "metrics"}
    assert all(p.problem is None for p in working)
    mute["meter_provider"].shutdown()


class _Around(BaseInstrumentor):
    """Another instrumentation of the client, as they are commonly written."""

    def instrumentation_dependencies(self) -> Collection[str]:
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        wrapt.wrap_function_wrapper(
            Completions, "create", lambda wrapped, _, args, more: wrapped(*args, **more)
        )

    def _uninstrument(self, **kwargs: Any) -> None:
        Completions.create = Completions.create.__wrapped__


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def around(*args: Any, **more: Any) -> Any:
        return function(*args, **more)

    return around


def test_who_decorated_the_client_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert __name__ not in diagnose().other_wrappers
    monkeypatch.setattr(openai.OpenAI, "request", decorated(openai.OpenAI.request))
    assert __name__ in diagnose().other_wrappers


def test_other_instrumentations_of_the_client_are_named() -> None:
    assert __name__ not in (*diagnose().other_wrappers, *diagnose().other_instrumentors)
    _Around().instrument()
    try:
        found = diagnose()
    finally:
        _Around().uninstrument()
    assert __name__ in found.other_wrappers
    assert __name__ in found.other_instrumentors
    assert __name__ in str(found)
    assert __name__ not in diagnose().other_wrappers


def test_a_wrapper_that_wraps_itself_does_not_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endless = decorated(openai.OpenAI.request)
    endless.__wrapped__ = endless  # type: ignore[attr-defined]
    monkeypatch.setattr(openai.OpenAI, "request", endless)
    assert __name__ in diagnose().other_wrappers


def test_a_client_class_without_python_code_is_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = diagnose().other_wrappers
    monkeypatch.setattr(openai.OpenAI, "request", print)
    assert diagnose().other_wrappers == before


class ByValue(openai.OpenAI):
    """A caller's subclass that compares by value, and so has no hash."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByValue)

    __hash__ = None  # type: ignore[assignment]


def test_clients_that_compare_by_value_are_told_apart() -> None:
    with simulate(replace(named_profile("plain"), time_scale=0)) as sim:
        here, elsewhere = (
            otel_specdecode.wrap(ByValue(base_url=url, api_key="unused"))
            for url in (sim.base_url, "http://elsewhere.test/v1")
        )
        with otel_specdecode.capture() as records:
            here.chat.completions.create(model=sim.model, messages=MESSAGES)
        kinds = [state.kind for state in clients_at(f"{sim.base_url}/")]
    assert [record.server_address for record in records] == ["127.0.0.1"]
    assert kinds == ["ByValue"]
    assert len(clients_at("http://elsewhere.test/v1/")) == 1
    assert here == elsewhere


def test_a_part_that_fails_is_empty_and_named_and_nothing_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(RERAISE_VARIABLE)

    def fail(*_: object) -> Any:
        raise ZeroDivisionError

    parts = ("other_wrappers", "other_instrumentors", "providers_in_use", "_clients")
    for name in (*parts, "failures", "_refused", "_sums", "version"):
        monkeypatch.setattr(diagnosis, name, fail)
    found = diagnose()
    assert (found.clients, found.requests, found.refused) == ((), {}, ())
    assert set(found.unknown) == {
        *("clients", "other_wrappers", "other_instrumentors", "providers", "requests"),
        *("usage", "acceptance", "dropped", "failures", "refused", "version"),
    }
    assert "not readable" in str(found)


def test_many_clients_are_summed_up_on_the_page() -> None:
    made = [
        otel_specdecode.wrap(client_of(f"http://many-{n}.test/v1")) for n in range(12)
    ]
    text = str(diagnose())
    assert "more clients" in text
    assert text.count("\n  client ") == 8
    assert len(made) == 12


@pytest.mark.parametrize("url", ["http://shown.test/v1/", "http://[::1]:8123/v1/"])
def test_a_base_url_is_shown_as_it_was_written(url: str) -> None:
    client = otel_specdecode.wrap(client_of(url))
    assert [state.kind for state in clients_at(url)] == [type(client).__name__]


def test_where_nothing_is_wrong_nothing_is_said() -> None:
    quiet = replace(
        diagnose(),
        instrumented=True,
        providers=(),
        requests={"completed": 1},
        servers=(),
        refused=(),
        dropped={},
        failures={},
    )
    assert quiet.problems == ()
    assert "Likely wrong" not in str(quiet)
    waiting = replace(quiet, requests={})
    assert waiting.problems == ("No request has ended yet that was observed.",)


def test_a_diagnosis_is_frozen() -> None:
    with pytest.raises(AttributeError):
        diagnose().num_open = 3  # type: ignore[misc]


def test_the_sdks_providers_are_known_by_the_names_that_we_read() -> None:
    traces, metrics = TracerProvider(), MeterProvider()
    assert traces._active_span_processor._span_processors == ()
    assert any(
        getattr(holder, name, None) is not None
        for holder, name in (
            (metrics, "_metric_readers"),
            (getattr(metrics, "_sdk_config", None), "metric_readers"),
        )
    )
    metrics.shutdown()
