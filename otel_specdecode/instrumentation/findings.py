"""What the chunks or the body of one response have said so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

from otel_specdecode.instrumentation._guard import warn_once
from otel_specdecode.model import (
    Acceptance,
    AcceptanceState,
    ServerTiming,
    Usage,
    UsageOrigin,
)
from otel_specdecode.recording.exportable import exportable_text
from otel_specdecode.servers import EngineReport, read_payload

if TYPE_CHECKING:
    from otel_specdecode.errors import PayloadError

STREAM_ERROR = "stream_error"
"""`error.type` of a stream in which the server said that it failed."""
ERROR_ANSWER = "error_response"
"""`error.type` of a whole answer in which the server says that it failed."""

_MOST_TOKENS = 10**9
# Names and reasons are short, and choices few; what a hostile server sends is not.
_LONGEST_NAME = 512
_MOST_CHOICES = 128
_INPUT_FIELDS = ("prompt_tokens", "input_tokens")
_OUTPUT_FIELDS = ("completion_tokens", "output_tokens")


class Findings:
    """Collects identity, usage and statistics; the last complete word counts."""

    # What a response does not say stands here once, for all of them.
    model: str | None = None
    response_id: str | None = None
    stop_reason: object = None
    """vLLM's: the stop string, the id of the stop token, or null. Never recorded."""
    usage: Usage | None = None
    report: EngineReport | None = None
    timing: ServerTiming | None = None
    malformed: PayloadError | None = None
    error_type: str | None = None
    """Set where the answer says that it failed although the client raises nothing."""

    def __init__(self, num_choices: int = 1) -> None:
        """Start with nothing.

        Args:
            num_choices: how many the request asked for.
        """
        self._most_choices = max(num_choices, _MOST_CHOICES)
        self.finish_reasons: dict[int, str] = {}

    def note_identity(self, response: Any) -> None:
        """Take model and id where the response has them."""
        self.model = _name(getattr(response, "model", None)) or self.model
        self.response_id = _name(getattr(response, "id", None)) or self.response_id

    def note_answer(self, response: Any) -> None:
        """Take everything from an answer that is no stream."""
        self.note_identity(response)
        usage = getattr(response, "usage", None)
        if usage is not None:
            self.note_usage(usage)
        extras = extras_of(response)
        self.note_statistics(extras)
        choices = getattr(response, "choices", None)
        if isinstance(choices, list):
            for choice in cast("list[object]", choices):
                self.note_finish(choice)
        if says_that_it_failed(response, extras):
            self.error_type = ERROR_ANSWER

    def note_finish(self, choice: Any) -> None:
        """Take the finish reason of one choice."""
        reason = _name(getattr(choice, "finish_reason", None))
        index = getattr(choice, "index", None)
        if type(index) is not int:
            index = 0
        known = index in self.finish_reasons
        if reason and (known or len(self.finish_reasons) < self._most_choices):
            self.finish_reasons[index] = reason
            self.stop_reason = (extras_of(choice) or {}).get("stop_reason")

    def note_usage(self, usage: Any) -> bool:
        """Take a usage block.

        Returns:
            Whether it held anything.
        """
        found = read_usage(usage)
        # Some servers put zeros on every chunk and the real counts on the last.
        if found is None or not (found.output_tokens or found.input_tokens):
            return False
        self.usage = found
        return True

    def note_statistics(self, payload: Mapping[str, object] | None) -> None:
        """Let the adapters read the fields that the client does not know."""
        if not payload:
            return
        report = read_payload(payload)
        if report is None:
            return
        self.timing = report.timing or self.timing
        # A later object without counts does not erase those that were there, one
        # that contradicts itself does.
        if report.malformed is not None:
            self.malformed = report.malformed
            _warn_malformed(report.engine, report.malformed)
            self.report = report
        elif self.report is None or report.acceptance is not None:
            self.report = report

    @property
    def ordered_finish_reasons(self) -> tuple[str, ...]:
        """One for each choice that finished, by choice."""
        reasons = self.finish_reasons
        if len(reasons) < 2:
            return (*reasons.values(),)
        return tuple(reasons[index] for index in sorted(reasons))

    @property
    def engine(self) -> str | None:
        """The adapter that recognised the response."""
        return None if self.report is None else self.report.engine

    def acceptance(
        self, *, applicable: bool, stop_strings: Collection[str] = ()
    ) -> tuple[AcceptanceState, Acceptance | None, str | None]:
        """Return state, counts and, where there are none, the reason in words.

        Args:
            applicable: whether servers report any for such a request.
            stop_strings: those that the request named.
        """
        if not applicable:
            return AcceptanceState.NOT_APPLICABLE, None, None
        if self.report is not None and self.report.acceptance is not None:
            return AcceptanceState.PRESENT, self.report.acceptance, None
        if self.malformed is not None:
            return AcceptanceState.MALFORMED, None, str(self.malformed)
        return AcceptanceState.ABSENT, None, self._why_absent(stop_strings)

    def _why_absent(self, stop_strings: Collection[str]) -> str:
        if self.usage is None:
            return "no usage arrived, and the statistics come with it"
        if isinstance(self.stop_reason, str) and self.stop_reason in stop_strings:
            return "it ended at a stop string, where vLLM leaves the statistics out"
        if self.report is None:
            return "the response carries no statistics of a known server"
        return f"{self.report.engine} reports no speculation for this request"

    def usage_origin(self, *, asked: UsageOrigin, unasked: bool) -> UsageOrigin:
        """Say why there is usage, or why there is none."""
        if asked is UsageOrigin.REFUSED:
            return UsageOrigin.UNASKED if self.usage else UsageOrigin.REFUSED
        if self.usage is None:
            return UsageOrigin.ABSENT
        if unasked or asked is UsageOrigin.ABSENT:
            return UsageOrigin.UNASKED
        return asked


def says_that_it_failed(response: Any, extras: Mapping[str, object] | None) -> bool:
    """Say whether an answer is an error although its status is 200.

    Gateways send an error object in the place of a completion, and the Responses
    API a response that is `failed`. The client raises for neither.

    Args:
        response: the answer.
        extras: `extras_of` it.
    """
    if getattr(response, "object", None) == "response":
        return getattr(response, "status", None) == "failed"
    failed = extras and extras.get("error")
    return bool(failed) and not getattr(response, "choices", None)


def read_usage(usage: Any) -> Usage | None:
    """Read the token counts of a usage block of any endpoint.

    Args:
        usage: a usage object of the client, or of `WireObject`.

    Returns:
        `None` when it holds no usable count.
    """
    read = _first_count(usage, _INPUT_FIELDS), _first_count(usage, _OUTPUT_FIELDS)
    if read == (None, None):
        return None
    return Usage(input_tokens=read[0], output_tokens=read[1])


def _name(value: object) -> str | None:
    if isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME:
        return exportable_text(value)
    return None


def _warn_malformed(engine: str, malformed: PayloadError) -> None:
    warn_once(
        f"{engine} {malformed.path.partition('[')[0]}",
        "%s sent statistics that cannot be right (%s), so such requests have no"
        " acceptance. This is logged once a field.",
        engine,
        malformed,
    )


def _first_count(usage: Any, names: tuple[str, str]) -> int | None:
    for name in names:
        value = getattr(usage, name, None)
        # bool is an int, and true is no count.
        if type(value) is int and 0 <= value <= _MOST_TOKENS:
            return value
    return None


def extras_of(response: Any) -> Mapping[str, object] | None:
    """Return the fields of a response that the client has no name for."""
    extras = getattr(response, "model_extra", None)
    return cast("Mapping[str, object]", extras) if isinstance(extras, Mapping) else None
