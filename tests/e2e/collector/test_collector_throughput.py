"""How many spans one collector carries beside its clients, and that none is lost.

The figures depend on the machine and are printed, not asserted (`-rP` shows them);
docs/collector.md states some. Sender, collector and backend share the machine, so that
CPU time of the collector over spans says more than spans a second: it hardly depends
on who else is there. The sender repeats bytes that were encoded before, and costs
nothing beside a collector that decodes them.
"""

from __future__ import annotations

import http.client
import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from collector_programs import wait_until
from loopback import Quiet, serving
from openai import OpenAI
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_specdecode
from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collector_programs import Collector
    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

BATCH = 512  # of the SDK's span processor
DIFFERENT = 32  # spans in it, each of them so many times
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
    """Spans that the wrapper recorded of small requests, encoded: half are streams.

    Names made up for the purpose would not do: what it costs to look for secrets among
    names depends on what the names are.
    """
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    speculation = Speculation(method="mtp", acceptance_by_position=(0.8, 0.6, 0.4))
    profile = Profile(
        model="m", time_scale=0.0, timing_fields=True, speculation=speculation
    )
    request: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 16,
    }
    with (
        simulate(profile) as server,
        OpenAI(base_url=server.base_url, api_key="made-up") as bare,
    ):
        chat = otel_specdecode.wrap(bare, tracer_provider=provider).chat.completions
        for _ in range(DIFFERENT // 2):
            chat.create(**request)
            list(chat.create(stream=True, **request))
    spans = memory.get_finished_spans() * (BATCH // DIFFERENT)
    return encode_spans(spans).SerializeToString()


def count(collector: Collector, name: str) -> int:
    found = re.findall(
        rf"^{name}\{{.*\}} (\S+)$", collector.own_metrics(), re.MULTILINE
    )
    return sum(int(float(value)) for value in found)


def cpu_s(collector: Collector) -> float:
    """CPU time that the collector has used, user and system."""
    stat = Path(f"/proc/{collector.program.process.pid}/stat").read_text()
    # After the name, which may hold anything, come 11 fields that are not of interest.
    ticks = stat.rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


class Senders:
    """Connections that post one body as fast as the collector takes it."""

    def __init__(self, collector: Collector, body: bytes) -> None:
        self._port = collector.ports.http
        self._body = body
        self.num_taken = 0
        self.num_refused = 0
        self._lock = threading.Lock()

    def run(self, seconds: float) -> None:
        """All of them at once, until the time is up."""
        end = time.monotonic() + seconds
        threads = [
            threading.Thread(target=self._send, args=(end,)) for _ in range(SENDERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send(self, end: float) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        headers = {"Content-Type": "application/x-protobuf"}
        while time.monotonic() < end:
            connection.request("POST", "/v1/traces", self._body, headers)
            answer = connection.getresponse()
            answer.read()
            with self._lock:
                if answer.status == 200:
                    self.num_taken += BATCH
                else:
                    self.num_refused += BATCH
        connection.close()


def test_what_two_cores_carry_arrives_whole(
    stack: Stack, nowhere: str, record_property: pytest.RecordProperty
) -> None:
    collector = stack.collector(
        "export-otlp", env={"SPECDECODE_OTLP_ENDPOINT": nowhere}
    )
    body = batch_of_requests()
    senders = Senders(collector, body)
    before, started = cpu_s(collector), time.monotonic()
    senders.run(FOR_S)
    wait_until(
        "everything taken to be sent on",
        lambda: count(collector, "otelcol_exporter_sent_spans") == senders.num_taken,
    )
    took_s = time.monotonic() - started
    assert senders.num_taken > 0
    accepted = count(collector, "otelcol_receiver_accepted_spans")
    assert accepted == senders.num_taken
    rate = senders.num_taken / took_s
    cpu_per_span_us = 1e6 * (cpu_s(collector) - before) / senders.num_taken
    record_property("spans_per_second", round(rate))
    record_property("cpu_per_span_us", round(cpu_per_span_us, 1))
    print(
        f"{rate:,.0f} spans/s to the backend, {cpu_per_span_us:.1f} µs of CPU a span "
        f"of {len(body) / BATCH:,.0f} bytes, "
        f"{senders.num_refused:,} refused for want of queue"
    )
