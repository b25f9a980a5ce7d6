"""What is missing or wrong, and the exact flag, variable or option that mends it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from otel_specdecode.cli._doctor_identity import LITELLM, VLLM, SpecFamilies
from otel_specdecode.cli._doctor_reading import Statistics, UsagePlace
from otel_specdecode.cli._doctor_server import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.cli._doctor_server import ServerReport

_FIRST_VLLM = (0, 29)
_SPECULATE = "--speculative-config"
_PER_REQUEST = "--per-request-spec-decode-metrics summary"


class Level(StrEnum):
    """How much a finding matters."""

    UNREACHABLE = "unreachable"
    MISSING = "missing"
    WRONG = "wrong"
    NOTE = "note"
    """Worth knowing; leaves the exit code alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a user should know.

    Attributes:
        code: a stable word for scripts.
        level: how much it matters.
        text: what is so, one sentence.
        fix: the flag, option or variable that changes it; `None` when nothing does.
    """

    code: str
    level: Level
    text: str
    fix: str | None = None


def about_server(report: ServerReport) -> Iterator[Finding]:
    """Judge what a server gave."""
    if not report.reachable:
        yield Finding(
            code="unreachable",
            level=Level.UNREACHABLE,
            text=f"{report.base_url}: {report.failure}",
            fix=report.fix,
        )
        return
    if report.model is None:
        named = ", ".join(report.models[:5])
        yield Finding(
            code="model_unnamed",
            level=Level.MISSING,
            text=f"It serves {len(report.models)} models ({named}); which one to ask?"
            if named
            else "It lists no model, so none was asked.",
            fix="--model MODEL",
        )
    elif report.failure is not None:
        yield Finding(
            code="request_failed",
            level=Level.MISSING,
            text=f"A request to {report.model} failed: {report.failure}",
            fix=report.fix,
        )
    yield from _about_usage(report)
    yield from _about_statistics(report)
    yield from _about_timing(report)
    yield from _about_metrics(report)


def _about_usage(report: ServerReport) -> Iterator[Finding]:
    if report.usage_asked is Asked.REFUSED:
        lost = report.usage_unasked in {None, UsagePlace.NONE}
        yield Finding(
            code="usage_refused",
            level=Level.MISSING if lost else Level.NOTE,
            text="It refuses stream_options, so streams carry no token counts."
            if lost
            else "It refuses stream_options; token counts come without.",
            fix='usage="never" saves the try that is refused; a newer release may not',
        )
    if report.usage_asked is Asked.ABSENT:
        yield Finding(
            code="usage_absent",
            level=Level.MISSING,
            text="A stream that asks for usage gets none: the server, or a gateway"
            " before it, drops the option.",
            fix=_flag(report, "--enable-force-include-usage"),
        )
    if report.usage_unasked is UsagePlace.LAST:
        yield Finding(
            code="usage_unasked",
            level=Level.NOTE,
            text="It sends usage unasked, on a chunk that is hidden from callers.",
            fix="hide_usage_chunk=False",
        )


def _about_statistics(report: ServerReport) -> Iterator[Finding]:
    streams, answers = report.stream_statistics, report.answer_statistics
    if Statistics.MALFORMED in {streams, answers}:
        yield Finding(
            code="acceptance_malformed",
            level=Level.WRONG,
            text=f"Its statistics contradict themselves: {report.malformed}",
        )
        return
    has = {Statistics.SUMMARY, Statistics.DETAILED}
    if streams is Statistics.DETAILED:
        yield Finding(
            code="acceptance_detailed",
            level=Level.NOTE,
            text="Level detailed sends arrays with an entry a step that nothing reads.",
            fix=_PER_REQUEST,
        )
    known = {streams, answers} - {Statistics.UNKNOWN}
    if not known or streams in has:
        return
    if answers in has:
        # Without usage there is no chunk for them; that is said above.
        if report.usage_asked is Asked.PRESENT:
            yield Finding(
                code="acceptance_dropped",
                level=Level.MISSING,
                text="Whole answers have acceptance and streams do not: a gateway"
                " before the server drops it.",
                fix="ask the server itself, or read its /metrics",
            )
        return
    yield _no_acceptance(report)


def _no_acceptance(report: ServerReport) -> Finding:
    text, fix = "No acceptance per request.", None
    if report.kind == LITELLM:
        fix = "ask the server behind the gateway"
    elif report.kind not in {None, VLLM}:
        text = f"No acceptance per request: nothing here reads {report.kind}'s."
    elif _is_older(report.version):
        text = f"vLLM {report.version} reports no acceptance per request."
        fix = "vLLM 0.29 or newer"
    elif report.metrics.speculation is SpecFamilies.PRESENT:
        fix = _flag(report, _PER_REQUEST)
    elif report.metrics.speculation is SpecFamilies.ABSENT:
        text = "It does not speculate, so there is no acceptance."
        fix = _flag(report, f"{_SPECULATE} JSON {_PER_REQUEST}")
    else:
        fix = _flag(report, f"{_PER_REQUEST} (beside {_SPECULATE})")
    return Finding(code="acceptance_absent", level=Level.MISSING, text=text, fix=fix)


def _about_timing(report: ServerReport) -> Iterator[Finding]:
    if report.has_timing is False:
        yield Finding(
            code="timing_absent",
            level=Level.MISSING,
            text="No times of the engine (queue, prefill, decode).",
            fix=_flag(report, "--enable-per-request-metrics"),
        )


def _about_metrics(report: ServerReport) -> Iterator[Finding]:
    page = report.metrics
    if page.speculation is SpecFamilies.NO_PAGE:
        yield Finding(
            code="metrics_no_page",
            level=Level.MISSING,
            text=f"No /metrics page ({page.why}), so the server's own sums are unseen.",
            fix="scrape the engine's own port when this is a gateway",
        )
    if page.speculation is SpecFamilies.DISABLED:
        yield Finding(
            code="metrics_disabled",
            level=Level.MISSING,
            text="/metrics has no family of the engine.",
            fix=_flag(report, "--disable-log-stats", wanted=False),
        )
    speculates = {report.stream_statistics, report.answer_statistics} & {
        Statistics.SUMMARY,
        Statistics.DETAILED,
    }
    if page.speculation is SpecFamilies.ABSENT and speculates:
        yield Finding(
            code="metrics_spec_decode_absent",
            level=Level.MISSING,
            text="/metrics counts no draft tokens, though answers do: it is another"
            " server's page.",
        )


def _flag(report: ServerReport, flag: str, *, wanted: bool = True) -> str | None:
    """Return how to start vLLM with a flag, or without; `None` for another server."""
    if report.kind == VLLM:
        return f"start vLLM {'with' if wanted else 'without'} {flag}"
    if report.kind is not None:
        return None
    return f"vLLM: {flag}" if wanted else f"vLLM: without {flag}"


def _is_older(version: str | None) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return found is not None and (int(found[1]), int(found[2])) < _FIRST_VLLM
