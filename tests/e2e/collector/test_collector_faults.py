"""What happens when a part is away, full, or asked by a stranger."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
import requests
from backend import Backend, serving
from bundle_rules import expressions
from collector_programs import free_port, wait_until
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from traffic import run_application

from otel_specdecode.collector.probe import Probe
from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from collector_programs import Collector
    from collector_stack import Stack
    from opentelemetry.sdk.trace import ReadableSpan

pytestmark = [pytest.mark.e2e, pytest.mark.full]

QUEUES = ("persistent-queue-metrics", "persistent-queue-traces")
# As in production, only sooner.
IMPATIENT = tuple(
    f"exporters::otlp_http/{signal_}::retry_on_failure::{key}: {value}"
    for signal_ in ("traces", "metrics")
    for key, value in (("initial_interval", "200ms"), ("max_interval", "500ms"))
)


def spans(num: int) -> Sequence[ReadableSpan]:
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    for number in range(num):
        provider.get_tracer("fault").start_span(f"span {number}").end()
    return memory.get_finished_spans()


def send(collector: Collector, batch: Sequence[ReadableSpan]) -> SpanExportResult:
    exporter = OTLPSpanExporter(endpoint=f"{collector.url}/v1/traces", timeout=10)
    try:
        return exporter.export(batch)
    finally:
        exporter.shutdown()


def test_a_backend_that_was_away_gets_everything_once_it_is_back(
    stack: Stack,
) -> None:
    port = free_port()
    env = {"SPECDECODE_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
    collector = stack.collector("export-otlp", env=env, settings=IMPATIENT)
    for _ in range(20):
        assert send(collector, spans(50)) is SpanExportResult.SUCCESS
    with serving(Backend(), port) as backend:
        wait_until("all spans", lambda: len(backend.times_arrived()) == 1000)
        assert set(backend.times_arrived().values()) == {1}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda s: s.name)
def test_what_waits_on_disk_outlives_a_collector_that_is_stopped(
    how: signal.Signals, stack: Stack, tmp_path: Path
) -> None:
    port = free_port()
    env = {
        "SPECDECODE_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "SPECDECODE_QUEUE_DIRECTORY": str(tmp_path / "queue"),
    }
    first = stack.collector("export-otlp", *QUEUES, env=env, settings=IMPATIENT)
    for _ in range(20):
        assert send(first, spans(50)) is SpanExportResult.SUCCESS
    first.program.stop(how)
    # It says so of a batch that it was sending, and that is in the queue all the same.
    said = "Exporting failed. Dropping data." in first.program.log.read_text()
    assert said == (how is signal.SIGTERM)
    second = stack.collector("export-otlp", *QUEUES, env=env, settings=IMPATIENT)
    assert send(second, spans(50)) is SpanExportResult.SUCCESS
    with serving(Backend(), port) as backend:
        wait_until("all spans", lambda: len(backend.times_arrived()) == 1050)


def test_without_the_queue_on_disk_a_killed_collector_loses_what_waited(
    stack: Stack,
) -> None:
    port = free_port()
    env = {"SPECDECODE_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
    first = stack.collector("export-otlp", env=env, settings=IMPATIENT)
    send(first, spans(50))
    first.program.stop(signal.SIGKILL)
    second = stack.collector("export-otlp", env=env, settings=IMPATIENT)
    send(second, spans(7))
    with serving(Backend(), port) as backend:
        wait_until("the second's spans", backend.times_arrived)
        assert len(backend.times_arrived()) == 7


def test_metrics_of_a_prometheus_that_was_away_are_caught_up_from_disk(
    stack: Stack, tmp_path: Path
) -> None:
    port = free_port()
    env = {
        "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
        "SPECDECODE_QUEUE_DIRECTORY": str(tmp_path / "queue"),
    }
    overlays = ("export-prometheus-otlp", "persistent-queue-metrics")
    impatient = [one for one in IMPATIENT if "metrics" in one]
    first = stack.collector(*overlays, env=env, settings=impatient)
    with simulate(FAST) as simulator:
        target = {"base_url": simulator.base_url, "model": FAST.model, "rounds": 3}
        recorded = run_application(first.url, [target], pause_s=1.2)[FAST.model]
    first.program.stop(signal.SIGKILL)
    stack.collector(*overlays, env=env, settings=impatient)
    prometheus = stack.prometheus(port=port)
    total = "sum(specdecode_client_output_tokens_total)"
    wait_until(
        "the last value", lambda: prometheus.value(total) == recorded["output_tokens"]
    )
    # Not the last value alone: the samples that it took on the way.
    samples = prometheus.query("specdecode_client_output_tokens_total[5m]")
    assert max(len(one["values"]) for one in samples) >= 3


FAST = Profile(
    model="fast",
    time_scale=0.0,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.8, 0.5)),
)


def test_an_application_without_its_collector_is_unharmed() -> None:
    with simulate(FAST) as simulator:
        target = {"base_url": simulator.base_url, "model": FAST.model, "rounds": 3}
        recorded = run_application(f"http://127.0.0.1:{free_port()}", [target])
        truth = simulator.ledger.totals
    assert recorded[FAST.model]["requests"] == 12
    assert recorded[FAST.model]["draft_tokens"] == truth.num_draft_tokens


def test_a_collector_short_of_memory_refuses_and_says_so(stack: Stack) -> None:
    # Nobody takes what it holds, and its memory is soon at the limit.
    env = {"SPECDECODE_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    settings = (
        "processors::memory_limiter::limit_percentage: 0",
        "processors::memory_limiter::spike_limit_percentage: 0",
        "processors::memory_limiter::limit_mib: 60",
        "processors::memory_limiter::spike_limit_mib: 20",
        "processors::memory_limiter::check_interval: 100ms",
        "exporters::otlp_http/traces::sending_queue::queue_size: 1000000",
    )
    collector = stack.collector("export-otlp", env=env, settings=settings)
    prometheus = stack.prometheus(collector=collector)
    batch = spans(4000)
    deadline = time.monotonic() + 90
    body = encoded(batch)
    answers: set[int] = set()
    while time.monotonic() < deadline and 503 not in answers:
        answers.add(post(collector, body).status_code)
    assert answers <= {200, 503}
    assert 503 in answers
    refusing = expressions("alert")["OtelCollectorRefusing"]

    def alert_is_true() -> bool:
        post(collector, body)
        return bool(prometheus.query(refusing))

    wait_until("the alert's expression", alert_is_true)
    assert collector.program.process.poll() is None


def encoded(batch: Sequence[ReadableSpan]) -> bytes:
    return encode_spans(batch).SerializeToString()


def post(collector: Collector, body: bytes) -> requests.Response:
    headers = {"Content-Type": "application/x-protobuf"}
    return requests.post(
        f"{collector.url}/v1/traces", data=body, headers=headers, timeout=30
    )


def test_a_stranger_is_refused_and_a_client_with_the_token_is_not(
    stack: Stack, credentials: Mapping[str, str]
) -> None:
    with serving(Backend()) as backend:
        env = {**credentials, "SPECDECODE_OTLP_ENDPOINT": backend.url}
        collector = stack.collector("export-otlp", "auth", env=env)
        secure = collector.url.replace("http:", "https:")
        authority = credentials["SPECDECODE_TLS_CERT_FILE"]
        tries = {
            "plain": Probe(endpoint=collector.url, token="made-up-token"),
            "no token": Probe(endpoint=secure, ca_file=authority),
            "wrong token": Probe(endpoint=secure, ca_file=authority, token="guess"),
            "unknown authority": Probe(endpoint=secure, token="made-up-token"),
            "right": Probe(endpoint=secure, ca_file=authority, token="made-up-token"),
        }
        passed = {
            name: all(answer.passed for answer in probe.run())
            for name, probe in tries.items()
        }
        wait_until("the one right span", lambda: len(backend.spans()) == 1)
    assert passed == {
        "plain": False,
        "no token": False,
        "wrong token": False,
        "unknown authority": False,
        "right": True,
    }


def test_an_agent_shows_its_token_to_a_gateway_that_wants_one(
    stack: Stack, credentials: Mapping[str, str]
) -> None:
    with serving(Backend()) as backend:
        gateway = stack.collector(
            "export-otlp",
            "gateway",
            "auth",
            env={**credentials, "SPECDECODE_OTLP_ENDPOINT": backend.url},
        )
        agent = stack.collector(
            "export-otlp",
            "auth-backend",
            env={
                "SPECDECODE_OTLP_ENDPOINT": gateway.url.replace("http:", "https:"),
                "SPECDECODE_BACKEND_TOKEN": credentials["SPECDECODE_BACKEND_TOKEN"],
                "SPECDECODE_BACKEND_CA_FILE": credentials["SPECDECODE_TLS_CERT_FILE"],
            },
        )
        assert send(agent, spans(5)) is SpanExportResult.SUCCESS
        wait_until("the spans behind the gateway", lambda: len(backend.spans()) == 5)
