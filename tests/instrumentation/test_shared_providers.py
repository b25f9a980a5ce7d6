"""Clients that share a provider, in part or whole, and providers that come and go."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from callers import Caller, collect
from opentelemetry import metrics, trace
from opentelemetry.sdk.trace import TracerProvider
from scripted_wire import NUM_OUTPUT_TOKENS, Wire, answer
from telemetry import Telemetry

import otel_specdecode
from otel_specdecode.instrumentation import recorders

if TYPE_CHECKING:
    import pytest

SYNC = Caller("sync")


async def ask_once(telemetry: Telemetry, **options: object) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry, **options)
    await SYNC.create(client)


async def test_clients_whose_spans_go_apart_are_counted_together(
    telemetry: Telemetry,
) -> None:
    """A provider reads a counter once: a second one of that name takes its place."""
    await ask_once(telemetry)
    telemetry.tracer_provider = TracerProvider(shutdown_on_exit=False)
    await ask_once(telemetry)
    assert telemetry.total("requests") == 2
    assert telemetry.total("output_tokens") == 2 * NUM_OUTPUT_TOKENS


async def test_clients_with_either_names_of_the_standard_metrics_are_counted_together(
    telemetry: Telemetry,
) -> None:
    await ask_once(telemetry, genai_names="published")
    await ask_once(telemetry, genai_names="next")
    assert telemetry.total("requests") == 2
    rates = telemetry.points("specdecode.client.output_token_rate")
    assert [point.count for point in rates] == [2]
    for name in (
        "gen_ai.client.operation.duration",
        "gen_ai.client.inference.duration",
    ):
        assert [point.count for point in telemetry.points(name)] == [1]


async def test_providers_that_nobody_uses_are_not_kept() -> None:
    telemetry = Telemetry()
    await ask_once(telemetry)
    providers = [weakref.ref(one) for one in telemetry.providers.values()]
    del telemetry
    collect()
    assert [provider() for provider in providers] == [None, None]


async def test_providers_that_only_a_client_uses_are_kept_with_it() -> None:
    telemetry = Telemetry()
    client = SYNC.wrapped(Wire(answer), telemetry)
    providers = [weakref.ref(one) for one in telemetry.providers.values()]
    del telemetry
    collect()
    assert None not in [provider() for provider in providers]
    del client
    collect()
    assert [provider() for provider in providers] == [None, None]


async def test_a_provider_in_use_is_counted_on_whatever_else_went_away(
    telemetry: Telemetry,
) -> None:
    for _ in range(3):
        telemetry.tracer_provider = TracerProvider(shutdown_on_exit=False)
        await ask_once(telemetry)
        collect()
    assert telemetry.total("requests") == 3


async def test_the_global_provider_is_one_whether_it_is_named_or_meant(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever another test recorded with the global provider that it had.
    monkeypatch.setattr(recorders, "_metered", [])
    monkeypatch.setattr(recorders, "_made", [])
    await ask_once(telemetry)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: telemetry.meter_provider)
    client = SYNC.bare(Wire(answer))
    otel_specdecode.wrap(client, tracer_provider=telemetry.tracer_provider)
    await SYNC.create(client)
    assert telemetry.total("requests") == 2


class Slotted:
    """A tracer provider of somebody's own, which takes no weak reference."""

    __slots__ = ("_own",)

    def __init__(self, own: TracerProvider) -> None:
        self._own = own

    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        return self._own.get_tracer(*args, **kwargs)


async def test_a_provider_that_takes_no_weak_reference_is_used_all_the_same(
    telemetry: Telemetry,
) -> None:
    slotted = Slotted(telemetry.tracer_provider)
    for _ in range(2):
        client = SYNC.bare(Wire(answer))
        providers = {**telemetry.providers, "tracer_provider": slotted}
        otel_specdecode.wrap(client, **providers)
        await SYNC.create(client)
    assert telemetry.total("requests") == len(telemetry.spans) == 2
