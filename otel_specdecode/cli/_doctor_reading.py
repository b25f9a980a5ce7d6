"""What one probe's answer shows: usage, statistics and times, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.instrumentation import observe_sse, record_from
from otel_specdecode.instrumentation.refusals import is_refusal
from otel_specdecode.model import AcceptanceState, Outcome, RequestRecord

if TYPE_CHECKING:
    from otel_specdecode.cli._doctor_http import Reply

# vLLM's arrays with an entry a step, which only its level `detailed` sends.
_DETAILED_KEY = "per_step_accepted"


class Statistics(StrEnum):
    """Whether an answer says what became of its draft tokens."""

    SUMMARY = "summary"
    DETAILED = "detailed"
    ABSENT = "absent"
    MALFORMED = "malformed"
    UNKNOWN = "unknown"


class UsagePlace(StrEnum):
    """Which events of a stream carry token counts."""

    LAST = "last_chunk"
    EVERY = "every_chunk"
    NONE = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One answer that came, read.

    Attributes:
        statistics: of speculation.
        reason: why they are malformed; `None` otherwise.
        usage: where its usage was.
        has_timing: whether it told the engine's own times.
        engine: the adapter that recognised it; `None` when none did.
    """

    statistics: Statistics
    reason: str | None
    usage: UsagePlace
    has_timing: bool
    engine: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No answer that can be read.

    Attributes:
        why: in words, for a reader.
        status: the HTTP status; `None` when there was none.
        refuses_stream_options: whether it is about that option.
        refuses_max_tokens: whether it wants `max_completion_tokens` instead.
    """

    why: str
    status: int | None = None
    refuses_stream_options: bool = False
    refuses_max_tokens: bool = False


class _StatusError(Exception):
    """A refusal, in the form in which the client raises it."""

    def __init__(self, status_code: int, body: object) -> None:
        super().__init__(status_code)
        self.status_code = status_code
        self.body = body


def read_stream(reply: Reply, request: Mapping[str, Any]) -> Reading | Failed:
    """Read the answer to a request for a stream."""
    if (failed := _failed(reply)) is not None:
        return failed
    lines = reply.body.splitlines()
    events = list(_events(lines))
    if not events:
        return _no_api(reply, "no event stream")
    observed = observe_sse(lines, request=request)
    for _ in observed:
        pass
    record = observed.record
    if record is None or record.outcome is Outcome.ERROR:
        return Failed(
            why="the stream ended with an error event, or with what is no JSON",
            status=reply.status,
        )
    counts = sum(_has_counts(event) for event in events)
    return _reading(record, events, _place(counts))


def read_answer(reply: Reply, request: Mapping[str, Any]) -> Reading | Failed:
    """Read the answer to a request for a whole answer."""
    if (failed := _failed(reply)) is not None:
        return failed
    payload = reply.json()
    if not isinstance(payload, Mapping):
        return _no_api(reply, "no JSON object")
    answer = cast("Mapping[str, Any]", payload)
    record = record_from(answer, request=request)
    return _reading(record, [answer], _place(int(_has_counts(answer))))


def _failed(reply: Reply) -> Failed | None:
    if reply.status is None:
        return Failed(why=reply.failure or "no answer")
    if reply.status != HTTPStatus.OK:
        return _refused(reply, reply.status)
    if reply.failure is not None:
        return Failed(why=reply.failure, status=reply.status)
    return None


def answered(reply: Reply) -> str:
    """Say what came in the place of an answer: in the server's words, if it has any."""
    if reply.location is not None:
        return f"{reply.status}, to {reply.location}"
    said = message_of(reply.json())
    if said is None and reply.status != HTTPStatus.OK and reply.body[:1] != b"<":
        said = reply.body.decode(errors="replace")
    kind = reply.headers.get("content-type", "no content type")
    return f"{reply.status}: {said}" if said else f"{reply.status} with {kind}"


def _refused(reply: Reply, status: int) -> Failed:
    return Failed(
        why=f"answered {answered(reply)}",
        status=status,
        refuses_stream_options=is_refusal(_StatusError(status, reply.json())),
        refuses_max_tokens=b"max_completion_tokens" in reply.body,
    )


def message_of(body: object) -> str | None:
    """Return the message of an error body, wherever servers put it; else `None`."""
    for _ in range(3):
        if isinstance(body, str):
            return body
        if not isinstance(body, Mapping):
            return None
        fields = cast("Mapping[str, object]", body)
        body = fields.get("error") or fields.get("message") or fields.get("detail")
    return body if isinstance(body, str) else None


def _no_api(reply: Reply, expected: str) -> Failed:
    kind = reply.headers.get("content-type", "no content type")
    return Failed(why=f"answered with {kind}, {expected}", status=reply.status)


def _events(lines: list[bytes]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        if not line.startswith(b"data:"):
            continue
        try:
            event: object = json.loads(line[5:])
        except (ValueError, RecursionError):
            continue
        if isinstance(event, Mapping):
            yield cast("Mapping[str, Any]", event)


def _has_counts(event: Mapping[str, Any]) -> bool:
    # Some servers put zeros on every chunk and the real counts on the last.
    usage: object = event.get("usage")
    return isinstance(usage, Mapping) and bool(
        cast("Mapping[str, object]", usage).get("completion_tokens")
    )


def _place(num_events: int) -> UsagePlace:
    if num_events > 1:
        return UsagePlace.EVERY
    return UsagePlace.LAST if num_events else UsagePlace.NONE


def _reading(
    record: RequestRecord, events: list[Mapping[str, Any]], usage: UsagePlace
) -> Reading:
    malformed = record.acceptance_state is AcceptanceState.MALFORMED
    if malformed:
        statistics = Statistics.MALFORMED
    elif record.acceptance is None:
        statistics = Statistics.ABSENT
    else:
        detailed = any(_is_detailed(event) for event in events)
        statistics = Statistics.DETAILED if detailed else Statistics.SUMMARY
    return Reading(
        statistics=statistics,
        reason=record.acceptance_reason if malformed else None,
        usage=usage,
        has_timing=record.server_timing is not None,
        engine=record.engine,
    )


def _is_detailed(event: Mapping[str, Any]) -> bool:
    found: object = event
    for key in ("metrics", "speculative_decoding", _DETAILED_KEY):
        if not isinstance(found, Mapping):
            return False
        found = cast("Mapping[str, object]", found).get(key)
    return found is not None
