"""The verdict for people: one screen of 80 columns."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from otel_specdecode.cli._doctor_findings import Level
from otel_specdecode.cli._doctor_identity import MetricsPage, SpecFamilies
from otel_specdecode.cli._doctor_reading import UsagePlace
from otel_specdecode.cli._doctor_server import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_specdecode.cli._doctor_findings import Finding
    from otel_specdecode.cli._doctor_process import Outlet, ProcessReport
    from otel_specdecode.cli._doctor_server import ServerReport
    from otel_specdecode.cli._doctor_verdict import Verdict

_WIDTH = 80
_LABEL = 16
_ASKED = {
    Asked.PRESENT: "where a stream asks",
    Asked.ABSENT: "none where a stream asks",
    Asked.REFUSED: "the option is refused",
    Asked.UNKNOWN: "not known where a stream asks",
}
_UNASKED = {
    UsagePlace.NONE: "none unasked",
    UsagePlace.LAST: "also unasked, on the last chunk",
    UsagePlace.EVERY: "also unasked, on every chunk",
    None: "not known unasked",
}
_PAGES = {
    SpecFamilies.ABSENT: "the engine's counters, none of speculation",
    SpecFamilies.DISABLED: "no counter of the engine",
    SpecFamilies.NO_PAGE: "no such page",
    SpecFamilies.UNKNOWN: "not asked",
}
_TIMING = {True: "sent", False: "not sent", None: "not known"}


def render(verdict: Verdict) -> str:
    """Return the screen, without a line end behind it."""
    return "\n".join(_lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    if verdict.server is not None:
        yield f"Server {verdict.server.base_url}"
        yield from _server(verdict.server)
    yield "This environment"
    yield from _environment(verdict.process)
    yield from _findings("Missing or wrong", verdict.faults)
    notes = [one for one in verdict.findings if one.level is Level.NOTE]
    yield from _findings("Worth knowing", notes)
    if not verdict.faults:
        yield "Nothing is missing."


def _server(report: ServerReport) -> Iterator[str]:
    if not report.reachable:
        yield from _row("reachable", "no")
        return
    kind = " ".join(filter(None, (report.kind or "kind not said", report.version)))
    yield from _row("is", f"{kind}, model {report.model or 'not chosen'}")
    asked, unasked = _ASKED[report.usage_asked], _UNASKED[report.usage_unasked]
    yield from _row("usage", f"{asked}; {unasked}")
    yield from _row(
        "acceptance",
        f"streams: {report.stream_statistics};"
        f" whole answers: {report.answer_statistics}",
    )
    yield from _row("/metrics", _page(report.metrics))
    yield from _row("engine's times", _TIMING[report.has_timing])
    yield from _row("unknown fields", report.unknown_fields)


def _page(page: MetricsPage) -> str:
    if page.num_draft_tokens is not None:
        return f"counts draft tokens, {page.num_draft_tokens:,} so far"
    return _PAGES[page.speculation]


def _environment(report: ProcessReport) -> Iterator[str]:
    packages = (
        f"{name} {version}"
        for name, version in report.packages.items()
        # Exporters that are not there are among the findings.
        if version is not None and "exporter" not in name
    )
    yield from _row("packages", ", ".join((f"Python {report.python}", *packages)))
    names = (
        f"{one.name} ({'disabled' if one.disabled else 'ours'})"
        if one.ours or one.disabled
        else one.name
        for one in report.instrumentors
    )
    yield from _row("instrumentors", ", ".join(names) or "none")
    for variable in report.variables:
        value = "set, not shown" if variable.value is None else f"= {variable.value}"
        yield from _row("variable", f"{variable.name} {value}")
    if not report.variables:
        yield from _row("variables", "no OTEL_* is set")
    for outlet in report.outlets:
        yield from _row(f"{outlet.signal} go to", _outlet(outlet))


def _outlet(outlet: Outlet) -> str:
    if outlet.reachable is None:
        return f"{outlet.exporter}, as a variable says"
    default = ", the default" if outlet.is_default else ""
    state = "somebody listens" if outlet.reachable else "nobody listens"
    return f"{outlet.endpoint} by {outlet.protocol}{default}: {state}"


def _findings(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield title
    for finding in findings:
        yield from _wrapped(f"- {finding.text} [{finding.code}]", "  ", "    ")
        if finding.fix is not None:
            yield from _wrapped(f"=> {finding.fix}", "    ", "       ")


def _row(label: str, text: str) -> Iterator[str]:
    head = f"  {label:<{_LABEL}}"
    return iter(_wrapped(text, head, " " * len(head)))


def _wrapped(text: str, first: str, more: str) -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=more,
        break_on_hyphens=False,
    )
