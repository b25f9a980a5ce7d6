"""The closed sets of words that a record is described with."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a request ended. Exactly one of these, once."""

    COMPLETED = "completed"
    """Answered whole, or a stream read to its end."""
    ABANDONED = "abandoned"
    """A stream closed, left by `with`, or collected before its end."""
    CANCELLED = "cancelled"
    """The task or thread that waited for it was cancelled."""
    ERROR = "error"
    """The client raised."""


class UsageOrigin(StrEnum):
    """Why the response carried usage, or why it did not."""

    REQUESTED = "requested"
    """The caller asked for it, or a response that is no stream has it anyway."""
    FORCED = "forced"
    """Only this package asked for it."""
    UNASKED = "unasked"
    """The server sent it though nobody asked."""
    REFUSED = "refused"
    """The server refused the option, so that the request went out without it."""
    ABSENT = "absent"
    """No usage arrived."""


class AcceptanceState(StrEnum):
    """Whether the response said what became of the draft tokens."""

    PRESENT = "present"
    ABSENT = "absent"
    """Nothing there: speculation is off, the server's flag is, or it ended early."""
    NOT_APPLICABLE = "not_applicable"
    """Servers give none for this kind of request: n > 1, several prompts, Responses."""
    MALFORMED = "malformed"
    """Something there that contradicts itself."""


class FirstChunk(StrEnum):
    """Where the number of tokens up to the first content chunk comes from."""

    COUNTED = "counted"
    """The server said it: continuous usage, or token ids."""
    ASSUMED = "assumed"
    """Taken to be 1, since nothing said it."""


class Chunking(StrEnum):
    """Why the chunks of a stream carry the number of tokens that they carry."""

    ONE_PER_TOKEN = "one_per_token"
    SPECULATION = "speculation"
    """Consistent with speculation alone; up to k merges can hide in the last step."""
    COALESCING = "coalescing"
    """Nothing accepted, yet merged: a stream interval, a proxy, a slow consumer."""
    BOTH = "both"
    SPLIT = "split"
    """More chunks than engine steps: gaps of zero are bursts, not speed."""
    UNKNOWN = "unknown"
    """No acceptance given, or parsers and several choices swallow steps."""
