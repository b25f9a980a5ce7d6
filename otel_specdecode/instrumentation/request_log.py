"""Why has this request no acceptance? One line a request, at DEBUG alone.

    logging.getLogger("otel_specdecode").setLevel(logging.DEBUG)

Names, counts and states; nothing of a prompt, an answer, a header or a key.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from otel_specdecode.instrumentation._guard import logger

if TYPE_CHECKING:
    from otel_specdecode.model import Acceptance, RequestRecord

_LINE = (
    "%s %s from %s:%s: %s, %s; usage %s, output tokens %s; engine %s; acceptance %s: %s"
)


def log_request(record: RequestRecord) -> None:
    """Log a request that ended; without DEBUG nothing is formatted.

    Args:
        record: what was measured of it.
    """
    if not logger.isEnabledFor(logging.DEBUG):
        return
    tokens, found = record.num_output_tokens, record.acceptance
    why = record.acceptance_reason if found is None else _counts(found)
    # A filter or a handler of the user's may raise.
    with suppress(Exception):
        logger.debug(
            _LINE,
            record.operation,
            record.request_model,
            record.server_address,
            record.server_port,
            "stream" if record.streaming else "whole answer",
            record.outcome.value,
            record.usage_origin.value,
            "unknown" if tokens is None else tokens,
            record.engine or "unknown",
            record.acceptance_state.value,
            why,
        )


def _counts(found: Acceptance) -> str:
    return (
        f"{found.num_accepted_draft_tokens} of {found.num_draft_tokens} draft tokens"
        f" in {found.num_spec_steps} spec steps"
    )
