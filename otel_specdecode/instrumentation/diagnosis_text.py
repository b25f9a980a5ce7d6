"""A diagnosis as a page for people, at most 80 columns wide where names allow it."""

from __future__ import annotations

from dataclasses import fields
from textwrap import wrap
from typing import TYPE_CHECKING

from otel_specdecode.instrumentation.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_specdecode.instrumentation.diagnosis import ClientState, Diagnosis

_WIDTH = 80
_LABEL = 14
_MOST_CLIENTS = 8
_MOST_SERVERS = 8


def render(found: Diagnosis) -> str:
    """Return the page, without a line end behind it."""
    return "\n".join(_lines(found))


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"otel-specdecode {found.version} in this process"
    yield from _row("instrumented", "yes" if found.instrumented else "no")
    for client in found.clients[:_MOST_CLIENTS]:
        yield from _row("client", _client(client))
    if len(found.clients) > _MOST_CLIENTS:
        yield from _row("", f"and {len(found.clients) - _MOST_CLIENTS} more clients")
    yield from _row("also around", ", ".join(found.other_wrappers) or "nobody")
    yield from _row("also on", ", ".join(found.other_instrumentors) or "nothing")
    for provider in found.providers:
        passed = "global" if provider.is_global else "passed to us"
        yield from _row(provider.signal, f"{provider.kind} ({passed})")
    yield from _row("requests", _counts(found.requests))
    yield from _row("usage", _counts(found.usage))
    yield from _row("acceptance", _counts(found.acceptance))
    for server in found.servers[:_MOST_SERVERS]:
        with_it = f"{server.num_with_acceptance} of {server.num_answers} answers"
        yield from _row("", f"in {with_it} of {server}")
    if len(found.servers) > _MOST_SERVERS:
        yield from _row("", f"and {len(found.servers) - _MOST_SERVERS} more servers")
    yield from _row(
        "under way", f"{found.num_open} open, {found.num_pending} to be recorded"
    )
    yield from _row("dropped", _counts(found.dropped))
    yield from _row("our failures", _counts(found.failures))
    if found.unknown:
        yield from _row("not readable", ", ".join(found.unknown))
    yield from _problems(found)


def _problems(found: Diagnosis) -> Iterator[str]:
    if not found.problems:
        return
    yield "Likely wrong:"
    for problem in found.problems:
        yield from wrap(
            problem,
            _WIDTH,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _row(label: str, text: str) -> Iterator[str]:
    head = f"  {label:<{_LABEL}}"
    yield from wrap(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _client(client: ClientState) -> str:
    ways = {"wrapped": client.wrapped, "instrumented": client.instrumented}
    how = " and ".join(way for way, holds in ways.items() if holds) or "not any more"
    changed = "" if client.options is None else _changed(client.options)
    return f"{client.kind} to {client.base_url}, {how}{changed}"


def _changed(options: Options) -> str:
    """Return the options that are not as they come, each behind a comma."""
    own = {field.name: getattr(options, field.name) for field in fields(Options)}
    usual = Options()
    return "".join(
        f", {name}={value}"
        for name, value in own.items()
        if value != getattr(usual, name)
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or "none"
