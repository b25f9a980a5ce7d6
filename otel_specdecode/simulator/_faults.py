"""Streams that go wrong on purpose: the events of an answer, tampered with."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from otel_specdecode.simulator._answer import DONE, event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.simulator.directives import Directives

TimedBytes = tuple[float, bytes]
"""Seconds since the request, and bytes; no bytes where only time passes."""


class ConnectionDropped(Exception):  # noqa: N818 - an event, not a failure of ours
    """The simulated server closes the connection without ending its answer."""


_ERROR_EVENT = {
    "error": {
        "message": "Internal server error",
        "type": "InternalServerError",
        "param": None,
        "code": 500,
    }
}
_FILTER_CHUNK: dict[str, Any] = {
    "id": "",
    "object": "",
    "created": 0,
    "model": "",
    "choices": [],
    "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
}


def with_stream_faults(
    events: Iterator[TimedBytes], faults: Directives
) -> Iterator[TimedBytes]:
    """Yield the events of a stream with the faults in their places.

    Raises:
        ConnectionDropped: where the connection is to be dropped.
    """
    num_sent = 0
    late_s = 0.0
    # The engine must hear that the stream ended early, or it generates on.
    with closing(events):  # pyright: ignore[reportArgumentType] - a generator
        for at_s, data in events:
            if not data:
                yield at_s + late_s, data
                continue
            if faults.disconnect_at == num_sent:
                raise ConnectionDropped
            if faults.error_at == num_sent:
                yield at_s + late_s, event(_ERROR_EVENT)
                yield at_s + late_s, DONE
                return
            if faults.stall_at == num_sent:
                late_s = faults.stall_s
            yield from _beside(at_s + late_s, num_sent, faults)
            if faults.malformed_at == num_sent:
                # Cut in the middle, as a proxy that splits events does.
                yield at_s + late_s, data[: len(data) // 2] + b"\n\n"
            elif not (faults.no_done and data == DONE):
                yield at_s + late_s, data
            num_sent += 1
    if faults.disconnect_at is not None:
        raise ConnectionDropped


def _beside(at_s: float, num_sent: int, faults: Directives) -> Iterator[TimedBytes]:
    """What stands between events and has nothing to do with the answer."""
    if faults.keep_alive_at == num_sent:
        yield at_s, b": keep-alive\n\n"
    if faults.named_event_at == num_sent:
        yield at_s, b'event: request_id\ndata: "5f3c"\n\n'
    if faults.bare_chunk_at == num_sent:
        yield at_s, event(_FILTER_CHUNK)


def with_whole_faults(
    events: Iterator[TimedBytes], faults: Directives
) -> Iterator[TimedBytes]:
    """The same for an answer in one piece: late, cut off, or not JSON.

    Raises:
        ConnectionDropped: after the first half of the body.
    """
    with closing(events):  # pyright: ignore[reportArgumentType] - a generator
        for at_s, data in events:
            late_s = faults.stall_s if data and faults.stall_at is not None else 0.0
            cut = data and (faults.disconnect_at, faults.malformed_at) != (None, None)
            yield at_s + late_s, data[: len(data) // 2] if cut else data
    if faults.disconnect_at is not None:
        raise ConnectionDropped
