"""What a server does not give, and which flag of it turns that on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.model import AcceptanceState, UsageOrigin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_specdecode.model import RequestRecord

_NO_USAGE = (
    "No usage on streams, so the number of tokens is unknown. The request asked for"
    " it (stream_options.include_usage); the server or a gateway before it drops it."
    " vLLM sends it always with --enable-force-include-usage."
)
_REFUSED = (
    "The server refuses stream_options.include_usage, so the number of tokens of a"
    " stream is unknown. Upgrade it, or count tokens on requests that do not stream."
)
_NO_ACCEPTANCE = (
    "No acceptance. vLLM 0.29 and newer sends it when started with"
    " --speculative-config and --per-request-spec-decode-metrics summary. A server"
    " that does not speculate has none, and some gateways drop it (docs/servers.md)."
)
_MALFORMED = "The statistics contradict themselves and were not used: {reason}"
_NO_TIMING = (
    "No times of the engine (queue, prefill, decode). vLLM sends them when started"
    " with --enable-per-request-metrics."
)
_SHORT = (
    "An answer came in fewer than two chunks with content, so no time per output"
    " token can be had. Ask a model that answers at greater length."
)
_SLOW_READER = (
    "This program was the bottleneck for {share:.0%} of a stream: its arrival times"
    " are its own, not the server's."
)
_TOO_SLOW = 0.2


def advise(records: Sequence[RequestRecord]) -> tuple[str, ...]:
    """Say what is missing in these streams, one sentence or two each."""
    return tuple(
        advice
        for advice in (
            _about_usage(records),
            _about_acceptance(records),
            _about_timing(records),
            _about_chunks(records),
            _about_reader(records),
        )
        if advice is not None
    )


def _about_usage(records: Sequence[RequestRecord]) -> str | None:
    if any(record.usage_origin is UsageOrigin.REFUSED for record in records):
        return _REFUSED
    missing = any(record.num_output_tokens is None for record in records)
    return _NO_USAGE if missing else None


def _about_acceptance(records: Sequence[RequestRecord]) -> str | None:
    for record in records:
        if record.acceptance_state is AcceptanceState.MALFORMED:
            return _MALFORMED.format(reason=record.acceptance_reason)
        # Without usage there can be no statistics; one advice at a time.
        if record.acceptance is None and record.usage is not None:
            return _NO_ACCEPTANCE
    return None


def _about_timing(records: Sequence[RequestRecord]) -> str | None:
    missing = any(r.usage is not None and r.server_timing is None for r in records)
    return _NO_TIMING if missing else None


def _about_chunks(records: Sequence[RequestRecord]) -> str | None:
    return _SHORT if any((r.num_content_chunks or 0) < 2 for r in records) else None


def _about_reader(records: Sequence[RequestRecord]) -> str | None:
    share = max((record.consumer_share or 0.0 for record in records), default=0.0)
    return _SLOW_READER.format(share=share) if share > _TOO_SLOW else None
