"""What the server says that a request used: tokens, and time on its own clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of the response's usage block.

    Attributes:
        input_tokens: `prompt_tokens`, or `input_tokens` in the Responses API;
            `None` when absent.
        output_tokens: T, `completion_tokens` or `output_tokens`; `None` when
            absent.

    Raises:
        ValueError: a count is negative.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None

    def __post_init__(self) -> None:
        least = min(self.input_tokens or 0, self.output_tokens or 0)
        if least < 0:
            raise ValueError(f"usage: expected counts of 0 or more, got {least}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTiming:
    """The engine's own clock for one request. Never mixed with the client's.

    Attributes:
        queue_s: waiting before the first step was scheduled, seconds.
        prefill_s: from scheduling to the first token, seconds.
        decode_s: from the first token to the last, seconds.

    Each is `None` where the server does not say.
    """

    queue_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
