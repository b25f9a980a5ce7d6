"""From engine steps to the bytes of an answer, with their times.

Here is decided which step sends a chunk: the stream interval, a lagging consumer,
and a server that splits steps are all rules about that, and about nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from otel_specdecode.simulator._answer import DONE, Answer
from otel_specdecode.simulator._request import Endpoint

if TYPE_CHECKING:
    from otel_specdecode.simulator._chunks import Wire
    from otel_specdecode.simulator._engine import Choice, Step
    from otel_specdecode.simulator._faults import TimedBytes

Lagging = Callable[[], bool]
"""Says whether the consumer has not taken what was sent before."""


class SendRule:
    """Whether a step's tokens go out now, or wait for the next step."""

    def __init__(self, answer: Answer, lagging: Lagging | None) -> None:
        directives = answer.directives
        # A request may ask for a longer interval than the server's, not a shorter.
        self._interval = max(
            directives.stream_interval or answer.profile.stream_interval,
            answer.request.stream_interval,
        )
        self._merge = directives.merge
        self._draws = random.Random(f"merge|{answer.key}")  # noqa: S311
        self._lagging = lagging

    def holds_back(self, choice: Choice) -> bool:
        """Whether to wait. The first token and the end never do."""
        if choice.finished or choice.num_sent == 0:
            return False
        if choice.num_tokens - choice.num_sent < self._interval:
            return True
        if self._merge and self._draws.random() < self._merge:
            return True
        return self._lagging is not None and self._lagging()


def stream_bytes(
    answer: Answer,
    wire: Wire,
    steps: Iterator[Step],
    generated: Callable[[], None],
    lagging: Lagging | None,
) -> Iterator[TimedBytes]:
    """Yield every event of a stream; empty bytes for steps that send none."""
    rule = SendRule(answer, lagging)
    split = answer.directives.split
    opened = False
    at_s = 0.0
    for data in wire.preamble():
        yield at_s, data
    for at_s, choice in steps:
        if not opened:
            opened = True
            answer.first_token_at_s = at_s
            for data in wire.opening():
                yield at_s, data
        if rule.holds_back(choice):
            yield at_s, b""
            continue
        first, last = choice.num_sent, choice.num_tokens
        choice.num_sent = last
        if split:
            for at in range(first, last):
                yield at_s, wire.chunk(choice, at, at + 1) or b""
        else:
            yield at_s, wire.chunk(choice, first, last) or b""
    answer.last_token_at_s = at_s
    # Before the last bytes go out: whoever has read them may scrape at once.
    generated()
    for data in wire.closing():
        yield at_s, data
    if answer.request.endpoint is not Endpoint.RESPONSES:
        yield at_s, DONE


def whole_bytes(
    answer: Answer, wire: Wire, steps: Iterator[Step], generated: Callable[[], None]
) -> Iterator[TimedBytes]:
    """Yield the body of an answer in one piece, after its steps took their time."""
    at_s = 0.0
    for at_s, _ in steps:
        answer.first_token_at_s = answer.first_token_at_s or at_s
        yield at_s, b""
    answer.last_token_at_s = at_s
    # Before the last bytes go out: whoever has read them may scrape at once.
    generated()
    yield at_s, wire.whole()
