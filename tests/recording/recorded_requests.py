"""Requests given to a recorder, without a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from model_streams import record
from telemetry import Telemetry

from otel_specdecode.model import (
    Acceptance,
    AcceptanceState,
    ServerTiming,
    StreamTally,
    UsageOrigin,
)
from otel_specdecode.recording import GenAINames, Metering, Recorder, StandardMetrics

if TYPE_CHECKING:
    from otel_specdecode.model import RequestRecord

ACCEPTANCE = Acceptance(
    num_spec_steps=2,
    num_draft_tokens=5,
    num_accepted_draft_tokens=4,
    histogram=(0, 0, 2),
    num_spec_tokens=3,
)


def full_stream(**more: Any) -> RequestRecord:
    """A stream of which everything is known."""
    tally = StreamTally()
    tally.add_role_chunk(0.25)
    for at in (0.5, 1.0, 2.0):
        tally.add_content_chunk(at)
    tally.add_chunk(2.25)
    tally.consumer_s = 0.5
    fields: dict[str, Any] = {
        "num_output_tokens": 7,
        "acceptance": ACCEPTANCE,
        "arrivals": tally.freeze(0.0),
        "request_model": "asked",
        "response_model": "answered",
        "response_id": "chatcmpl-1",
        "finish_reasons": ("stop",),
        "server_address": "model.test",
        "server_port": 8000,
        "engine": "vllm",
        "duration_s": 2.5,
        "num_retries": 0,
        "num_first_tokens": 1,
        "server_timing": ServerTiming(queue_s=0.25, prefill_s=0.25, decode_s=1.5),
        "tags": {"task": "code"},
    }
    return record(**{**fields, **more})


def not_present(state: AcceptanceState, **more: Any) -> RequestRecord:
    return full_stream(
        acceptance=None, acceptance_state=state, acceptance_reason="why", **more
    )


UNKNOWN = record(usage_origin=UsageOrigin.ABSENT)


class Recording:
    """A recorder, and what came out of it."""

    def __init__(self, names: GenAINames = GenAINames.PUBLISHED) -> None:
        self.telemetry = Telemetry()
        self.metering = Metering(self.telemetry.meter_provider)
        self.recorder = Recorder(
            self.telemetry.tracer_provider, self.metering, genai_names=names
        )

    def add(
        self,
        *requests: RequestRecord,
        standard: StandardMetrics = StandardMetrics.ALL,
        end_time_ns: int | None = 10**18,
    ) -> None:
        for request in requests:
            span = self.recorder.start_span("chat asked", {})
            self.recorder.finish(
                request, span, standard=standard, end_time_ns=end_time_ns
            )

    def values(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes and value, or sum and count, of each data point."""
        return [
            (dict(point.attributes), getattr(point, "value", None))
            for point in self.telemetry.points(name)
        ]

    @property
    def metric_names(self) -> set[str]:
        return {metric.name for metric in self.telemetry.metrics()}
