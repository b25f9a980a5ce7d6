"""One request while it is under way, turned into a record when it ends.

Everything after "a chunk arrived" is here and is the same for sync and async.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.instrumentation import abandoned, captures, consumers
from otel_specdecode.instrumentation._guard import attempt, failed
from otel_specdecode.instrumentation.chunk_gaps import recording_gaps
from otel_specdecode.instrumentation.chunk_reader import (
    ChunkReader,
    note_unread,
    reader_method,
)
from otel_specdecode.instrumentation.clock import monotonic_s, wall_ns
from otel_specdecode.instrumentation.findings import Findings, extras_of
from otel_specdecode.instrumentation.options import Options
from otel_specdecode.model import Outcome, RequestRecord, UsageOrigin
from otel_specdecode.recording import Recorder, StandardMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.trace import Span

    from otel_specdecode.instrumentation.client_view import ClientView
    from otel_specdecode.instrumentation.neighbours import Neighbour
    from otel_specdecode.instrumentation.request_view import RequestView


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a request is observed with.

    Attributes:
        recorder: where the record goes; `None` for captures alone.
        options: what the instrumentation may do.
    """

    recorder: Recorder | None
    options: Options


class Observation:
    """Collects what is measured of one request, and ends exactly once."""

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
        self.asked = UsageOrigin.ABSENT
        self.sent_options: object = None
        self.span: Span | None = None
        self.neighbour: Neighbour | None = None
        self.record: RequestRecord | None = None
        self.parsed = False
        self.consumer: consumers.Consumer | None = None
        self._tags = tags
        self._requested_at = monotonic_s() if requested_at is None else requested_at
        self._request_seen = request_seen
        self._attempts: list[float] = []
        self._attempted: object = None
        self._num_taken_back = 0
        self._reader: ChunkReader | None = None
        self._generation = abandoned.generation()
        # Emptied by whoever ends the observation first; list.pop is atomic.
        self._open = [True]

    @property
    def ended(self) -> bool:
        """Whether the request has ended."""
        return not self._open

    def note_attempt(self, request: object) -> None:
        """Note that the client sends the request, for the first time or again.

        Args:
            request: the HTTP request of this attempt; noted once, although the
                client and its class may both be hooked.
        """
        if request is not self._attempted:
            self._attempted = request
            self._attempts.append(monotonic_s())

    def take_back_attempt(self) -> None:
        """Note that what follows is no retry of the client's, but one of ours."""
        self._num_taken_back += 1

    def note_consumer(self) -> None:
        """Note the function that asks for the first chunk; called from that step."""
        if self.consumer is None and self.setting.options.chunk_count_check:
            self.consumer = consumers.consumer_here()

    def note_unread(self, chunk: Any, at: float, error: Exception) -> bool:
        """Note a chunk whose reading failed; return whether the caller gets it not."""
        return note_unread(self.open_reader(), self.view.endpoint, chunk, at, error)

    def open_reader(self) -> ChunkReader:
        """Return the reader of this request's chunks, made when first asked for."""
        if self._reader is None:
            options = self.setting.options
            forced = self.asked is UsageOrigin.FORCED
            self._reader = ChunkReader(
                self.findings,
                num_choices=self.view.num_choices,
                hides=forced and options.hide_usage_chunk,
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
        recorder, span = self.setting.recorder, self.span
        wanted = self.setting.options.time_per_output_chunk and self.neighbour is None
        if not wanted or recorder is None or span is None:
            return read
        return recording_gaps(read, self, recorder, span)

    def read_response(self, response: Any) -> None:
        """Read an answer that is no stream."""
        findings = self.findings
        findings.note_identity(response)
        usage = getattr(response, "usage", None)
        if usage is not None:
            findings.note_usage(usage)
        findings.note_statistics(extras_of(response))
        choices = getattr(response, "choices", None)
        if isinstance(choices, list):
            for choice in cast("list[object]", choices):
                findings.note_finish(choice)

    def end_with(self, error: BaseException) -> None:
        """End a request that raised, whatever it raised."""
        if isinstance(error, GeneratorExit):
            # A coroutine thrown away while it waited, perhaps by the collector.
            abandoned.put(self)
            return
        cancelled = isinstance(error, asyncio.CancelledError) or (
            # trio's, which need not be installed
            type(error).__name__ == "Cancelled"
        )
        if cancelled:
            self.end(Outcome.CANCELLED)
        else:
            self.end(Outcome.ERROR, error_type=qualified_name(type(error)))

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
        if self._generation != abandoned.generation():
            # A stream of the parent's, collected in a forked child as well.
            return
        try:
            self._record(
                self._freeze(outcome, error_type, ended_at or monotonic_s()),
                end_time_ns or wall_ns(),
            )
        except Exception as error:  # noqa: BLE001 (never break the caller)
            attempt("counting a loss", self.count_lost)
            failed("recording a request", error)

    def count_lost(self) -> None:
        """Count a request of which nothing can be recorded, for a fault of ours."""
        if self.setting.recorder is not None:
            self.setting.recorder.count_dropped("failed")

    def _record(self, record: RequestRecord, end_time_ns: int) -> None:
        self.record = record
        captures.collect(record)
        recorder = self.setting.recorder
        if recorder is None or self.span is None:
            return
        recorder.finish(
            record,
            self.span,
            standard=self._standard_metrics(record),
            end_time_ns=None if self.neighbour else end_time_ns,
        )
        if self.consumer is not None:
            consumers.finish(self.consumer, record, recorder)

    def _standard_metrics(self, record: RequestRecord) -> StandardMetrics:
        """Say which standard metrics are left for us to record."""
        if self.neighbour is None:
            return StandardMetrics.ALL
        usage = record.usage if record.usage_origin is UsageOrigin.FORCED else None
        if usage is not None and not self.neighbour.take(usage):
            return StandardMetrics.TOKENS
        return StandardMetrics.NONE

    def _freeze(
        self, outcome: Outcome, error_type: str | None, ended_at: float
    ) -> RequestRecord:
        view, findings, reader = self.view, self.findings, self._reader
        single = view.num_choices == 1
        applicable = single and view.endpoint.reports_acceptance
        state, acceptance, reason = findings.acceptance(applicable=applicable)
        attempts = self._attempts
        return RequestRecord(
            operation=view.endpoint.operation,
            provider=self.setting.options.provider_name or self.client.provider,
            request_model=view.model,
            response_model=findings.model,
            response_id=findings.response_id,
            finish_reasons=tuple(
                findings.finish_reasons[i] for i in sorted(findings.finish_reasons)
            ),
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
            tags=self._tags,
        )

    def _usage_origin(self) -> UsageOrigin:
        unasked = self._reader is not None and self._reader.usage_unasked
        return self.findings.usage_origin(asked=self.asked, unasked=unasked)

    def _why_not_applicable(self) -> str:
        if not self.view.endpoint.reports_acceptance:
            return "servers report none in the Responses API"
        return f"servers report none for {self.view.num_choices} choices together"


def qualified_name(kind: type) -> str:
    """Return an exception's name with its module, built-ins without."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
