"""One metric record a chunk, for those who asked for it: it costs what it costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from otel_specdecode.instrumentation.span_start import identity_attributes
from otel_specdecode.recording.attributes import tag_attributes

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from otel_specdecode.instrumentation.observation import Observation
    from otel_specdecode.recording import Recorder

ReadChunk = Callable[[Any, float], bool]


def recording_gaps(
    read: ReadChunk, observation: Observation, recorder: Recorder, span: Span
) -> ReadChunk:
    """Return a reader that also records the time since the chunk before.

    Chunks that the caller does not see count neither way.

    Args:
        read: the reader of the chunks.
        observation: of their request.
        recorder: where the gaps go.
        span: of their request, for exemplars.
    """
    attributes = {
        **identity_attributes(observation),
        **tag_attributes(observation.tags),
    }
    before: float | None = None

    def read_and_record(chunk: Any, at: float) -> bool:
        nonlocal before
        hidden = read(chunk, at)
        if hidden:
            return True
        if before is not None:
            recorder.record_chunk_gap(at - before, attributes, span)
        before = at
        return False

    return read_and_record
