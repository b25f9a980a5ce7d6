"""How much of a wrapped plain request is OpenTelemetry's own work.

    sdk_share.py    bytecode instructions and CPU time, as a Markdown table

One wrapped request is recorded; what it sent to the SDK is then sent again without
us, around bare requests: the same span with the same attributes, and the same values
into the same histograms. That is the floor of any instrumentation with these signals.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from instruction_count import counting_opcodes
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Histogram, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, SpanKind
from overhead import ask_plainly, observed, plain_client
from traffic import ASK, DroppingExporter

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_ROUNDS = 60
NUM_REQUESTS = 10
# Not a chunk is read here.
NO_CHUNKS = 2
# Not an empty one: the SDK takes that for none given, and looks for the current one.
NO_SPAN = trace.set_span_in_context(trace.INVALID_SPAN, Context())
# What a caller's own header costs the client, ours being one like it.
TRACEPARENT = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What one request sent to the SDK.

    Attributes:
        name: the span's.
        attributes: the span's, all of them.
        records: histogram's name, buckets and value, and the point's attributes.
    """

    name: str
    attributes: dict[str, Any]
    records: tuple[tuple[str, tuple[float, ...], float, dict[str, Any]], ...]


def what_is_sent() -> Sent:
    """Make one wrapped request, and return what the SDK was given."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider(metric_readers=[reader])
    client = otel_specdecode.wrap(
        plain_client(NO_CHUNKS), tracer_provider=spans, meter_provider=meters
    )
    ask_plainly(client)
    (span,) = exporter.get_finished_spans()
    data = reader.get_metrics_data()
    scopes = data.resource_metrics[0].scope_metrics if data else []
    return Sent(
        name=span.name,
        attributes=dict(span.attributes or {}),
        records=tuple(
            (metric.name, tuple(point.explicit_bounds), point.sum, point.attributes)
            for scope in scopes
            for metric in scope.metrics
            if isinstance(metric.data, Histogram)
            for point in metric.data.data_points
        ),
    )


class Replay:
    """Sends the same to an SDK of its own, around requests of a bare client."""

    def __init__(self, sent: Sent) -> None:
        spans = TracerProvider()
        spans.add_span_processor(BatchSpanProcessor(DroppingExporter()))
        self._tracer = spans.get_tracer("replay")
        meter = MeterProvider(metric_readers=[InMemoryMetricReader()]).get_meter("x")
        named = {
            name: meter.create_histogram(
                name, explicit_bucket_boundaries_advisory=bounds
            )
            for name, bounds, *_ in sent.records
        }
        self._records = [
            (named[n], value, attrs) for n, _, value, attrs in sent.records
        ]
        self._sent = sent
        self._client = plain_client(NO_CHUNKS)

    def bare(self) -> None:
        """Ask, with nothing around it."""
        ask_plainly(self._client)

    def header(self) -> None:
        """Ask with a header of the caller's own."""
        self._client.chat.completions.create(**ASK, extra_headers=TRACEPARENT)

    def empty_span(self) -> None:
        """Ask inside a span without attributes."""
        span = self._tracer.start_span(self._sent.name, kind=SpanKind.CLIENT)
        self.bare()
        span.end()

    def span(self) -> None:
        """Ask inside the span that was recorded."""
        span = self._tracer.start_span(self._sent.name, kind=SpanKind.CLIENT)
        self.bare()
        span.set_attributes(self._sent.attributes)
        span.end()

    def records(self) -> None:
        """Ask, and record the same values."""
        self.bare()
        self._record(NO_SPAN)

    def records_alone(self) -> None:
        """Record the same values, and ask nothing."""
        self._record(NO_SPAN)

    def records_without_attributes(self) -> None:
        """Record the same values as if all requests were alike."""
        for histogram, value, _ in self._records:
            histogram.record(value, None, NO_SPAN)

    def record(self, index: int, context: Context = NO_SPAN) -> None:
        """Record one of the values."""
        histogram, value, attributes = self._records[index]
        histogram.record(value, attributes, context)

    def recording_span(self) -> Span:
        """Return a span that exemplars may lead to."""
        return self._tracer.start_span(self._sent.name)

    def all(self) -> None:
        """Ask with header, span and records."""
        span = self._tracer.start_span(self._sent.name, kind=SpanKind.CLIENT)
        self.header()
        span.set_attributes(self._sent.attributes)
        self._record(NO_SPAN)
        span.end()

    def all_with_exemplars(self) -> None:
        """The same, and offer each value as an exemplar."""
        span = self._tracer.start_span(self._sent.name, kind=SpanKind.CLIENT)
        self.header()
        span.set_attributes(self._sent.attributes)
        self._record(trace.set_span_in_context(span))
        span.end()

    def _record(self, context: Context) -> None:
        for histogram, value, attributes in self._records:
            histogram.record(value, attributes, context)


def num_opcodes(work: Callable[[], None]) -> int:
    for _ in range(3):
        work()
    with counting_opcodes() as count:
        work()
    return count[0]


def cpu_us(works: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    """Return microseconds a request, one value a round, the kinds turn by turn."""
    spent: dict[str, list[float]] = {name: [] for name in works}
    gc.collect()
    for turn in range(NUM_ROUNDS):
        order = list(works)
        # None always follows the same one, whose garbage it would clear away.
        order = order[turn % len(order) :] + order[: turn % len(order)]
        for name in order:
            started = time.process_time()
            for _ in range(NUM_REQUESTS):
                works[name]()
            spent[name].append((time.process_time() - started) / NUM_REQUESTS * 1e6)
    return spent


def price_list(sent: Sent, replay: Replay) -> dict[str, float]:
    """Count the instructions of each thing that is sent, by its name.

    They are what would be saved by sending it not: what does not depend on how many
    there are is left out.
    """
    prices: dict[str, float] = {}
    for index, (name, _, _, attributes) in enumerate(sent.records):
        kind = attributes.get("gen_ai.token.type", "")
        title = f"{name} {kind}".strip()
        prices[title] = num_opcodes(lambda at=index: replay.record(at))
    named = sum(len(attributes) for *_, attributes in sent.records)
    bare_records = num_opcodes(replay.records_without_attributes)
    with_attributes = num_opcodes(replay.records_alone)
    prices["an attribute of a record"] = (with_attributes - bare_records) / named
    context = trace.set_span_in_context(replay.recording_span())
    led = num_opcodes(lambda: replay.record(0, context))
    prices["an exemplar"] = led - num_opcodes(lambda: replay.record(0))
    described = num_opcodes(replay.span) - num_opcodes(replay.empty_span)
    prices["an attribute of the span"] = described / len(sent.attributes)
    return prices


def main() -> None:
    sent = what_is_sent()
    replay = Replay(sent)
    wrapped = observed(plain_client(NO_CHUNKS))
    works: dict[str, Callable[[], None]] = {
        "bare": replay.bare,
        "a header more": replay.header,
        "an empty span": replay.empty_span,
        f"a span of {len(sent.attributes)} attributes": replay.span,
        f"{len(sent.records)} histogram records": replay.records,
        "header, span and records": replay.all,
        "the same, each with an exemplar": replay.all_with_exemplars,
        "wrapped": lambda: ask_plainly(wrapped),
    }
    counts = {name: num_opcodes(work) for name, work in works.items()}
    spent = cpu_us(works)
    print("| | instructions | to bare | CPU, least | to bare | median | to bare |")
    print("|---|---|---|---|---|---|---|")
    bare, bare_us = counts["bare"], spent["bare"]
    for name, count in counts.items():
        least, median = min(spent[name]), statistics.median(spent[name])
        to_least, to_median = least / min(bare_us), median / statistics.median(bare_us)
        print(
            f"| {name} | {count:,} | {count / bare:.3f} | {least:.0f} us"
            f" | {to_least:.2f} | {median:.0f} us | {to_median:.2f} |"
        )
    print("\n| left out | instructions | of a bare request |")
    print("|---|---|---|")
    for name, price in price_list(sent, replay).items():
        print(f"| {name} | {price:,.0f} | {price / bare:.2%} |")


if __name__ == "__main__":
    main()
