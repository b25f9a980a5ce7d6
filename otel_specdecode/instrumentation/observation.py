"""One request while it is under way, turned into a record when it ends.

Everything after "a chunk arrived" is here and is the same for sync and async.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

from otel_specdecode.instrumentation import abandoned, captures, consumers
from otel_specdecode.instrumentation._guard import attempt, attempt_or
from otel_specdecode.instrumentation.chunk_gaps import recording_gaps
from otel_specdecode.instrumentation.chunk_reader import (
    ChunkReader,
    guarded,
    pass_over,
    reader_method,
)
from otel_specdecode.instrumentation.chunk_types import ChunkType
from otel_specdecode.instrumentation.clock import monotonic_s, wall_ns
from otel_specdecode.instrumentation.findings import Findings
from otel_specdecode.instrumentation.options import Options
from otel_specdecode.instrumentation.request_log import log_request
from otel_specdecode.instrumentation.span_start import start_name
from otel_specdecode.instrumentation.wire_object import as_wire, reading_json
from otel_specdecode.model import Outcome, RequestRecord, UsageOrigin
from otel_specdecode.recording import Recorder, StandardMetrics
from otel_specdecode.recording.attributes import usage_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.trace import Span

    from otel_specdecode.instrumentation.client_view import ClientView
    from otel_specdecode.instrumentation.neighbours import Neighbour
    from otel_specdecode.instrumentation.request_view import RequestView


_UNDISTURBED = frozenset({Outcome.COMPLETED, Outcome.ABANDONED})
"""Endings at which the answer's own word that it failed has the last say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a request is observed with.

    Attributes:
        recorder: where the record goes; `None` for captures alone.
        options: what the instrumentation may do.
        providers: those given for it, alive as long as something is recorded there.
    """

    recorder: Recorder | None
    options: Options
    providers: tuple[object, ...] = ()

    def count_lost(self) -> None:
        """Count a request of which nothing is recorded, for a fault of ours."""
        if self.recorder is not None:
            self.recorder.count_dropped("failed")


class Observation:
    """Collects what is measured of one request, and ends exactly once.

    Attributes:
        setting: what it is observed with.
        view: what was asked for.
        client: where it went.
        findings: what the answer has said so far.
        tags: what `tag()` had set when the call was made.
        asked: why usage is to be expected, or that it is not.
        sent_options: the request options as the client got them; `None` before.
        trace_headers: added to each attempt.
        span: ours, or the neighbour's that is enriched; `None` without a recorder.
        neighbour: another instrumentation of the same call; `None` without one.
        record: what was measured; `None` until the end, and where it was lost.
        read_as_stream: whether a stream of the client's reads the answer, which then
            says how it ended.
        chunk_type: how that stream's chunks are read.
        hands_on_response: whether the caller gets the HTTP response itself.
        consumer: the function that reads the stream; `None` where unknown.
    """

    # What most requests never change stands here once, for all of them.
    asked = UsageOrigin.ABSENT
    sent_options: object = None
    trace_headers: Mapping[str, str] = MappingProxyType({})
    span: Span | None = None
    neighbour: Neighbour | None = None
    record: RequestRecord | None = None
    read_as_stream = False
    chunk_type = ChunkType.MODEL
    hands_on_response = False
    consumer: consumers.Consumer | None = None
    _attempted: object = None
    _cut_off = False
    _num_taken_back = 0
    _reader: ChunkReader | None = None

    def __init__(
        self,
        setting: Setting,
        view: RequestView,
        client: ClientView,
        tags: Mapping[str, str],
        *,
        requested_at: float | None = None,
        request_seen: bool = True,
    ) -> None:
        self.setting = setting
        self.view = view
        self.client = client
        self.findings = Findings(view.num_choices)
        self.tags = tags
        self._requested_at = monotonic_s() if requested_at is None else requested_at
        self._request_seen = request_seen
        self._attempts: list[float] = []
        self._generation = abandoned.generation()
        # Emptied by whoever ends the observation first; list.pop is atomic.
        self._open = [True]

    @property
    def ended(self) -> bool:
        """Whether the request has ended."""
        return not self._open

    def note_attempt(self, request: Any) -> None:
        """Note that the client sends the request, for the first time or again.

        Args:
            request: the HTTP request of this attempt; noted once, although the
                client and its class may both be hooked. It gets the trace headers.
        """
        if request is not self._attempted:
            self._attempted = request
            self._attempts.append(monotonic_s())
            for name, value in self.trace_headers.items():
                request.headers[name] = value

    def take_back_attempt(self) -> None:
        """Note that what follows is no retry of the client's, but one of ours."""
        self._num_taken_back += 1

    def note_consumer(self) -> None:
        """Note the function that asks for the first chunk; called from that step."""
        if self.consumer is None and self.setting.options.chunk_count_check:
            self.consumer = consumers.consumer_here()

    @property
    def hides_usage(self) -> bool:
        """Whether the caller's stream has a usage chunk that he did not ask for."""
        forced = self.asked is UsageOrigin.FORCED
        return forced and self.setting.options.hide_usage_chunk

    def pass_over(self, chunk: Any, at: float, error: Exception) -> bool:
        """Pass over a chunk that could not be read, unless the fault is ours.

        Returns:
            Whether to keep it from the caller.

        Raises:
            Exception: `error`, when the fault is ours.
        """
        reader, endpoint = self.open_reader(), self.view.endpoint
        return pass_over(reader, endpoint, as_wire(chunk), at, error)

    def open_reader(self) -> ChunkReader:
        """Return the reader of this request's chunks, made when first asked for."""
        if self._reader is None:
            options = self.setting.options
            self._reader = ChunkReader(
                self.findings,
                num_choices=self.view.num_choices,
                hides=self.hides_usage,
                wants_continuous=options.continuous_usage
                or self.view.caller_wants_continuous,
            )
        return self._reader

    def chunk_callback(self) -> Callable[[Any, float], bool]:
        """Return the function to call with each chunk and its arrival."""
        reader = self.open_reader()
        read: Callable[[Any, float], bool] = getattr(
            reader, reader_method(self.view.endpoint)
        )
        if self.chunk_type is ChunkType.JSON:
            read = reading_json(read)
        recorder, span = self.setting.recorder, self.span
        wanted = self.setting.options.time_per_output_chunk and self.neighbour is None
        if not wanted or recorder is None or span is None:
            return read
        return recording_gaps(read, self, recorder, span)

    def guarded_callback(self) -> Callable[[Any, float], bool]:
        """Return the same for events of raw HTTP; it never raises."""
        return guarded(self.open_reader(), self.view.endpoint, self.lose)

    def read_response(self, response: Any) -> None:
        """Read an answer that is no stream."""
        as_sent = isinstance(response, dict)
        self.findings.note_answer(as_wire(response) if as_sent else response)

    def reading(self, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a form of the client's parser that reads the answer first.

        What is in it does not fit the caller's type at times, and the client then
        raises for a whole answer: its tokens were made all the same.
        """

        def read_and_parse(response: Any) -> Any:
            if not self.ended:
                attempt("reading an answer", self.read_response, response)
            return parse(response)

        return read_and_parse

    def end_with(self, error: BaseException) -> None:
        """End a request that raised, whatever it raised."""
        if isinstance(error, GeneratorExit):
            # A coroutine thrown away while it waited.
            self.end_later()
            return
        cancelled = isinstance(error, asyncio.CancelledError) or (
            # trio's, which need not be installed
            type(error).__name__ == "Cancelled"
        )
        if cancelled:
            self.end(Outcome.CANCELLED)
        else:
            self.end(Outcome.ERROR, error_type=qualified_name(type(error)))

    def end_later(self) -> None:
        """Have the request recorded as abandoned: this may be the garbage collector."""
        self._cut_off = True
        abandoned.put_unended(self)

    def end(
        self,
        outcome: Outcome,
        *,
        error_type: str | None = None,
        ended_at: float | None = None,
        end_time_ns: int | None = None,
    ) -> None:
        """Record the request. Calls after the first do nothing.

        Args:
            outcome: how it ended.
            error_type: qualified name of the exception, for an error.
            ended_at: monotonic reading, seconds; `None` for now.
            end_time_ns: wall clock, nanoseconds; `None` for now.
        """
        try:
            self._open.pop()
        except IndexError:
            return
        if self.findings.error_type is not None and outcome in _UNDISTURBED:
            outcome, error_type = Outcome.ERROR, self.findings.error_type
        elif self._cut_off and outcome is Outcome.COMPLETED:
            # Whoever read on was shown nothing more; the answer had not ended.
            outcome = Outcome.ABANDONED
        attempt_or(
            self._lose,
            "recording a request",
            self._end,
            outcome,
            error_type,
            ended_at or monotonic_s(),
            end_time_ns or wall_ns(),
        )

    def lose(self) -> None:
        """End a request without a record, for a fault of ours.

        One that was read in part would show wrong numbers under right names. Its
        span ends bare, since one that is left open is never exported.
        """
        try:
            self._open.pop()
        except IndexError:
            return
        self._lose()

    def _lose(self) -> None:
        attempt("counting a loss", self.setting.count_lost)
        self.end_bare()

    def end_bare(self) -> None:
        """End the span, if it is ours, with nothing but what it started with."""
        span = self.span
        if span is not None and self.neighbour is None and span.is_recording():
            span.end()

    def _end(
        self,
        outcome: Outcome,
        error_type: str | None,
        ended_at: float,
        end_time_ns: int,
    ) -> None:
        if self._generation != abandoned.generation():
            # A stream of the parent's, collected in a forked child as well.
            return
        record = self._freeze(outcome, error_type, ended_at)
        self.record = record
        attempt("logging a request", log_request, record)
        captures.collect(record)
        recorder = self.setting.recorder
        if recorder is None or self.span is None:
            return
        # Asked before anything else: a neighbour takes tokens until its span ends.
        standard = self._standard_metrics(record)
        borrowed = self.neighbour is not None and self.neighbour.span is self.span
        late = borrowed and not self.span.is_recording()
        if late:
            self.span = self._start_late(recorder, record, self.span, end_time_ns)
        recorder.finish(
            record,
            self.span,
            standard=standard,
            end_time_ns=None if borrowed and not late else end_time_ns,
            standard_attributes=not late,
        )
        if self.consumer is not None:
            consumer = self.consumer
            attempt(
                "reporting a consumer", consumers.finish, consumer, record, recorder
            )

    def _standard_metrics(self, record: RequestRecord) -> StandardMetrics:
        if self.neighbour is None:
            return StandardMetrics.ALL
        return self.neighbour.left_to_us(record)

    def _start_late(
        self, recorder: Recorder, record: RequestRecord, theirs: Span, end_time_ns: int
    ) -> Span:
        """Start our own span after all: the neighbour ended the one we shared.

        It has what theirs lacks, so that no call and no token is there twice.
        """
        only_ours = record.usage_origin is UsageOrigin.FORCED
        return recorder.start_span(
            start_name(self),
            usage_attributes(record) if only_ours else {},
            context=trace.set_span_in_context(theirs),
            start_time_ns=end_time_ns - round(record.duration_s * 1e9),
        )

    def _freeze(
        self, outcome: Outcome, error_type: str | None, ended_at: float
    ) -> RequestRecord:
        view, findings, reader = self.view, self.findings, self._reader
        # A count that the server reads otherwise than we do (n as text), or that
        # nobody told us (raw HTTP), shows in the answer.
        single = view.num_choices == 1 and len(findings.finish_reasons) <= 1
        applicable = single and view.endpoint.reports_acceptance
        state, acceptance, reason = findings.acceptance(
            applicable=applicable, stop_strings=view.stop_strings
        )
        attempts = self._attempts
        return RequestRecord(
            operation=view.endpoint.operation,
            provider=self.setting.options.provider_name or self.client.provider,
            request_model=view.model,
            response_model=findings.model,
            response_id=findings.response_id,
            finish_reasons=findings.ordered_finish_reasons,
            server_address=self.client.address,
            server_port=self.client.port,
            engine=findings.engine,
            streaming=view.streaming,
            single_choice=single,
            swallows_steps=view.has_tools or (reader is not None and reader.swallowed),
            outcome=outcome,
            error_type=error_type,
            duration_s=ended_at - self._requested_at,
            request_seen=self._request_seen,
            num_retries=len(attempts) - 1 - self._num_taken_back if attempts else None,
            retry_wait_s=attempts[-1] - attempts[0] if attempts else 0.0,
            usage=findings.usage if reader is None else reader.usage,
            usage_origin=self._usage_origin(),
            acceptance=acceptance,
            acceptance_state=state,
            acceptance_reason=reason if applicable else self._why_not_applicable(),
            arrivals=None
            if reader is None
            else reader.tally.freeze(self._requested_at),
            num_first_tokens=None if reader is None else reader.num_first_tokens,
            server_timing=findings.timing,
            chunk_count_site=self.consumer and self.consumer.site,
            tags=dict(self.tags),
        )

    def _usage_origin(self) -> UsageOrigin:
        unasked = self._reader is not None and self._reader.usage_unasked
        return self.findings.usage_origin(asked=self.asked, unasked=unasked)

    def _why_not_applicable(self) -> str:
        if not self.view.endpoint.reports_acceptance:
            return "servers report none in the Responses API"
        num_choices = max(self.view.num_choices, len(self.findings.finish_reasons))
        return f"servers report none for {num_choices} choices together"


def qualified_name(kind: type) -> str:
    """Return an exception's name with its module, built-ins without."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
