"""How many spans one collector carries beside its clients, and that none is lost.

The figure depends on the machine and is printed, not asserted (`-rP` shows it);
docs/collector.md states one. Sender, collector and backend share the machine.
"""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

import pytest
import requests
from collector_programs import wait_until
from loopback import Quiet, serving
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collector_programs import Collector
    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

BATCH = 512  # of the SDK's span processor
FOR_S = 10.0
SENDERS = 2


@pytest.fixture
def nowhere() -> Iterator[str]:
    """A backend that takes everything and keeps nothing."""

    class Handler(Quiet):
        def post(self, body: bytes) -> None:
            self.reply()

    with serving(Handler) as url:
        yield url


def batch_of_requests() -> bytes:
    """Spans as the instrumentation makes them of small requests, encoded."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("throughput")
    for number in range(BATCH):
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.response.id": f"chatcmpl-{number:032x}",
            "gen_ai.usage.input_tokens": number,
            "gen_ai.usage.output_tokens": 2 * number,
            "specdecode.outcome": "completed",
            "specdecode.acceptance_histogram": [number, 3, 2, 1],
            **{f"specdecode.num_{at}": at * number for at in range(20)},
        }
        tracer.start_span("chat m", attributes=attributes).end()
    return encode_spans(memory.get_finished_spans()).SerializeToString()


def count(collector: Collector, name: str) -> int:
    found = re.findall(
        rf"^{name}\{{.*\}} (\S+)$", collector.own_metrics(), re.MULTILINE
    )
    return sum(int(float(value)) for value in found)


def test_what_two_cores_carry_arrives_whole(
    stack: Stack, nowhere: str, record_property: pytest.RecordProperty
) -> None:
    collector = stack.collector(
        "export-otlp", env={"SPECDECODE_OTLP_ENDPOINT": nowhere}
    )
    body = batch_of_requests()
    headers = {"Content-Type": "application/x-protobuf"}
    end = time.monotonic() + FOR_S
    taken = [0] * SENDERS
    refused = [0] * SENDERS

    def send(sender: int) -> None:
        with requests.Session() as session:
            while time.monotonic() < end:
                answer = session.post(
                    f"{collector.url}/v1/traces", data=body, headers=headers, timeout=30
                )
                (taken if answer.status_code == 200 else refused)[sender] += BATCH

    senders = [threading.Thread(target=send, args=(at,)) for at in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()

    wait_until(
        "everything taken to be sent on",
        lambda: count(collector, "otelcol_exporter_sent_spans") == sum(taken),
    )
    assert sum(taken) > 0
    assert count(collector, "otelcol_receiver_accepted_spans") == sum(taken)
    rate = sum(taken) / FOR_S
    record_property("spans_per_second", round(rate))
    print(f"{rate:,.0f} spans/s taken, {sum(refused):,} refused for want of queue")
