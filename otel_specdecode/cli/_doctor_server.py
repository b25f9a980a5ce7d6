"""What does this server give? Three pages and at most five tiny requests tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict

from otel_specdecode.cli._doctor_http import Exchanges
from otel_specdecode.cli._doctor_identity import (
    MetricsPage,
    SpecFamilies,
    models_of,
    read_metrics,
    recognise,
)
from otel_specdecode.cli._doctor_reach import (
    KEY_OPTION,
    REFUSES_KEY,
    fix_of_url,
    unreachable,
)
from otel_specdecode.cli._doctor_reading import (
    Failed,
    Reading,
    Statistics,
    UsagePlace,
    read_answer,
    read_stream,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_specdecode.cli._server_address import Address

# Repeats itself, so that copying methods such as n-gram find something to draft.
_PROMPT = "Say this again: one two three one two three one two three one two three"
_MAX_TOKENS = 16
_ASKS_FOR_USAGE = {"stream": True, "stream_options": {"include_usage": True}}
UNKNOWN_FIELD = "otel_specdecode_doctor"

_NOT_READ = MetricsPage(speculation=SpecFamilies.UNKNOWN)


class Asked(StrEnum):
    """What became of `stream_options.include_usage`."""

    PRESENT = "present"
    ABSENT = "absent"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Handling(StrEnum):
    """What the server does with a field that it does not know."""

    IGNORED = "ignored"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReport:
    """What one server gave.

    Attributes:
        base_url: for people, without credentials.
        reachable: whether it answered as an OpenAI API does.
        failure: why it did not, or why no probe was answered; `None` when all were.
        fix: what mends that; `None` when nothing here does.
        kind: such as `vLLM`; `None` when it does not say.
        version: `None` when it does not say.
        models: names of the served models.
        model: the one that was asked.
        usage_asked: usage on a stream that asks for it.
        usage_unasked: usage on a stream that does not; `None` when unknown.
        stream_statistics: of speculation, on a stream that asks for usage.
        answer_statistics: the same in a whole answer.
        malformed: why they are not used; `None` when they are not malformed.
        has_timing: whether the engine's own times are there; `None` when unknown.
        engine: the adapter that recognised an answer; `None` when none did.
        metrics: what its `/metrics` page shows.
        unknown_fields: what becomes of a field that it does not know.
        num_requests: how many requests were sent, pages included.
    """

    base_url: str
    reachable: bool
    failure: str | None = None
    fix: str | None = None
    kind: str | None = None
    version: str | None = None
    models: tuple[str, ...] = ()
    model: str | None = None
    usage_asked: Asked = Asked.UNKNOWN
    usage_unasked: UsagePlace | None = None
    stream_statistics: Statistics = Statistics.UNKNOWN
    answer_statistics: Statistics = Statistics.UNKNOWN
    malformed: str | None = None
    has_timing: bool | None = None
    engine: str | None = None
    metrics: MetricsPage = _NOT_READ
    unknown_fields: Handling = Handling.UNKNOWN
    num_requests: int = 0


def examine(address: Address, model: str | None, timeout_s: float) -> ServerReport:
    """Ask a server a handful of times, and say what it gave.

    Args:
        address: where it is.
        model: the model to ask; `None` for the only one that is served.
        timeout_s: the longest that one request takes, seconds.
    """
    exchanges = Exchanges(address, timeout_s)
    listed = exchanges.get(f"{address.base_url}/models")
    models = models_of(listed)
    nothing = listed.status is None or listed.status in REFUSES_KEY
    if nothing or (models is None and model is None):
        why = unreachable(exchanges, address, listed)
        return ServerReport(
            base_url=address.shown,
            reachable=False,
            failure=address.blot(why.why),
            fix=None if why.fix is None else address.blot(why.fix),
            num_requests=exchanges.num_requests,
        )
    version = exchanges.get(f"{address.root_url}/version")
    asked = model or _only(models)
    probes = _Probes(exchanges, f"{address.base_url}/chat/completions", asked)
    if asked is not None:
        probes.run()
    # Last, so that it counts what the probes drafted.
    page = exchanges.get(f"{address.root_url}/metrics")
    kind, number = recognise(listed, version, page)
    # A page that is no list of models may still be an API that has none.
    reachable = models is not None or probes.answered
    fix = probes.fix(models) if reachable else fix_of_url(exchanges, address)
    return ServerReport(
        base_url=address.shown,
        reachable=reachable,
        failure=None if probes.failure is None else address.blot(probes.failure),
        fix=None if fix is None else address.blot(fix),
        kind=kind,
        version=None if number is None else address.blot(number),
        models=tuple(address.blot(name) for name in models or ()),
        model=None if asked is None else address.blot(asked),
        metrics=read_metrics(page),
        num_requests=exchanges.num_requests,
        **probes.found(),
    )


def _only(models: tuple[str, ...] | None) -> str | None:
    return models[0] if models is not None and len(models) == 1 else None


class _Found(TypedDict):
    """The fields of a `ServerReport` that answers tell, and pages do not."""

    usage_asked: Asked
    usage_unasked: UsagePlace | None
    stream_statistics: Statistics
    answer_statistics: Statistics
    malformed: str | None
    has_timing: bool | None
    engine: str | None
    unknown_fields: Handling


class _Probes:
    """The requests for answers, and what they show. The first failure ends them."""

    def __init__(self, exchanges: Exchanges, url: str, model: str | None) -> None:
        self._exchanges = exchanges
        self._url = url
        self._limit = {"max_tokens": _MAX_TOKENS}
        self._model = model
        self._asked: Reading | None = None
        self._unasked: Reading | None = None
        self._whole: Reading | None = None
        self._refused = False
        self._handling = Handling.UNKNOWN
        self.failure: str | None = None
        self._failed_with: int | None = None

    @property
    def answered(self) -> bool:
        """Whether any request was."""
        return bool(self._asked or self._unasked)

    def run(self) -> None:
        """Ask with usage, without, and for a whole answer with an unknown field."""
        asked = self._ask(_ASKS_FOR_USAGE)
        if isinstance(asked, Failed) and asked.refuses_max_tokens:
            self._limit = {"max_completion_tokens": _MAX_TOKENS}
            asked = self._ask(_ASKS_FOR_USAGE)
        if isinstance(asked, Reading):
            self._asked = asked
        elif asked.refuses_stream_options:
            self._refused = True
        else:
            self._fail(asked)
            return
        unasked = self._ask({"stream": True})
        if isinstance(unasked, Failed):
            self._fail(unasked)
            return
        self._unasked = unasked
        self._ask_for_whole()

    def _ask_for_whole(self) -> None:
        whole = self._ask({UNKNOWN_FIELD: True})
        if isinstance(whole, Failed) and whole.status in {400, 422}:
            self._handling = Handling.REFUSED
            whole = self._ask({})
        elif isinstance(whole, Reading):
            self._handling = Handling.IGNORED
        if isinstance(whole, Reading):
            self._whole = whole
        else:
            self._fail(whole)

    def _fail(self, failed: Failed) -> None:
        self.failure, self._failed_with = failed.why, failed.status

    def fix(self, models: tuple[str, ...] | None) -> str | None:
        """Say what mends the failure; `None` when nothing here does.

        Args:
            models: those that the server lists; `None` when it lists none.
        """
        if self._failed_with in REFUSES_KEY:
            return KEY_OPTION
        if self.failure is not None and models and self._model not in models:
            return f"--model {models[0]}"
        return None

    def _ask(self, more: Mapping[str, Any]) -> Reading | Failed:
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": _PROMPT}],
            "temperature": 0,
            **self._limit,
            **more,
        }
        reply = self._exchanges.post(self._url, body)
        read = read_stream if more.get("stream") else read_answer
        return read(reply, body)

    def found(self) -> _Found:
        """Return what the answers tell; of those that did not come, nothing."""
        readings = [r for r in (self._asked, self._unasked, self._whole) if r]
        return {
            "usage_asked": self._usage_asked(),
            "usage_unasked": None if self._unasked is None else self._unasked.usage,
            "stream_statistics": _statistics(
                self._unasked if self._refused else self._asked
            ),
            "answer_statistics": _statistics(self._whole),
            "malformed": next((r.reason for r in readings if r.reason), None),
            "has_timing": any(r.has_timing for r in readings) if readings else None,
            "engine": next((r.engine for r in readings if r.engine), None),
            "unknown_fields": self._handling,
        }

    def _usage_asked(self) -> Asked:
        if self._refused:
            return Asked.REFUSED
        if self._asked is None:
            return Asked.UNKNOWN
        missing = self._asked.usage is UsagePlace.NONE
        return Asked.ABSENT if missing else Asked.PRESENT


def _statistics(reading: Reading | None) -> Statistics:
    return Statistics.UNKNOWN if reading is None else reading.statistics
