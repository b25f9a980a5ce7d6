"""What the standard variables and the arguments of `configure` decide."""

from __future__ import annotations

import multiprocessing
import os
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, Resource
from otlp_receiver import receive

from otel_specdecode.errors import ConfigError
from otel_specdecode.otlp import Telemetry
from otel_specdecode.otlp.exporters import metric_exporter, span_exporter
from otel_specdecode.otlp.process_resource import ProcessResource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otlp_receiver import Receiver

PROTOCOLS = ["grpc", "http/protobuf"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receive() as made:
        yield made


@pytest.fixture(params=PROTOCOLS)
def protocol(
    request: pytest.FixtureRequest,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The variables name this protocol and the receiver."""
    http = request.param == "http/protobuf"
    endpoint = receiver.http_endpoint if http else receiver.grpc_endpoint
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", request.param)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    return request.param


def made() -> Telemetry:
    return Telemetry(
        resource=ProcessResource.of(Resource.create({}), {}),
        spans=span_exporter(),
        interval_s=3600,
        exit_timeout_s=60,
    )


def record(telemetry: Telemetry) -> None:
    telemetry.tracer_provider.get_tracer("app").start_span("a span").end()
    telemetry.meter_provider.get_meter("app").create_counter("a.counter").add(2)
    own = telemetry.own_meter_provider().get_meter("otel_specdecode")
    own.create_counter("our.counter").add(3)


@pytest.mark.parametrize("how", ["flush", "shutdown"])
def test_everything_recorded_goes_out_over_the_protocol_that_is_named(
    how: str, protocol: str, receiver: Receiver
) -> None:
    telemetry = made()
    record(telemetry)

    assert getattr(telemetry, how)()
    assert [span.name for span in receiver.spans] == ["a span"]
    assert [point.value for point in receiver.latest("a.counter")] == [2]
    assert [point.value for point in receiver.latest("our.counter")] == [3]
    assert receiver.protocols == {f"traces {protocol}", f"metrics {protocol}"}
    telemetry.shutdown()


def test_our_metrics_do_not_go_out_of_the_global_provider_as_well(
    protocol: str, receiver: Receiver
) -> None:
    telemetry = made()
    meter = telemetry.meter_provider.get_meter("otel_specdecode")
    meter.create_counter("our.counter").add(3)

    telemetry.shutdown()
    assert receiver.metric_names() == set()


def test_none_turns_a_signal_off(
    protocol: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    telemetry = made()
    record(telemetry)

    assert telemetry.shutdown()
    assert receiver.protocols == set()


def test_shutting_down_twice_is_shutting_down_once(protocol: str) -> None:
    telemetry = made()
    assert [telemetry.shutdown(), telemetry.shutdown()] == [True, True]


@pytest.mark.parametrize("signal", ["TRACES", "METRICS"])
@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("OTEL_EXPORTER_OTLP_{}_PROTOCOL", "expected grpc or http/protobuf, got 'x'"),
        ("OTEL_{}_EXPORTER", "expected otlp or none, got 'x'"),
    ],
)
def test_a_value_that_is_not_known_is_named_at_set_up(
    signal: str, variable: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable.format(signal), "x")
    exporter = span_exporter if signal == "TRACES" else metric_exporter
    with pytest.raises(ConfigError) as raised:
        exporter()
    assert str(raised.value) == f"{variable.format(signal)}: {message}"


def test_the_protocol_of_one_signal_wins_over_that_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "x")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")
    assert span_exporter() is not None


def id_of(resource: ProcessResource) -> str:
    return resource.attributes[SERVICE_INSTANCE_ID]


def test_a_process_keeps_the_id_that_it_made_up() -> None:
    resource = ProcessResource.of(Resource({}), {})
    assert id_of(resource) == id_of(resource)
    assert id_of(resource) != id_of(ProcessResource.of(Resource({}), {}))


@pytest.mark.parametrize("source", ["variable", "argument"])
def test_an_id_that_is_given_gets_the_process_id_appended(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {SERVICE_INSTANCE_ID: "pod-7"} if source == "argument" else {}
    if source == "variable":
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=pod-7")
    resource = ProcessResource.of(Resource({"service.name": "a"}), given)
    assert id_of(resource) == f"pod-7/{os.getpid()}"


def test_a_forked_child_has_another_id() -> None:
    resource = ProcessResource.of(Resource({}), {})
    own = id_of(resource)
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=lambda: writer.send(id_of(resource))
    )
    child.start()
    child.join()
    assert reader.recv() != own
