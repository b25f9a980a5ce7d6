"""The demo for people: at most 80 columns, and no colour codes in a pipe."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from otel_specdecode.cli import _demo_cells as cells

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from otel_specdecode.cli._demo_export import Sent, SentMetric, SentSpan
    from otel_specdecode.cli._demo_story import Story

    Cell = Callable[[Story], str]

WIDTH = 80
_BAR = 30
_DELAYED = 1.5
"""From this slowdown of arrivals on, the story is about the way and not the engine."""
_TELLING = "specdecode.draft_acceptance_rate"
"""The span that is shown is one that has this, if there is one."""


def show(console: Console, stories: Sequence[Story], sent: Sent) -> None:
    """Print the whole story."""
    _show_intro(console, stories)
    _show_tokens(console, stories)
    _show_latencies(console, stories)
    _show_acceptance(console, stories)
    _show_sources(console, stories)
    _show_sent(console, sent)
    _show_advice(console, stories)


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _paragraph(console: Console, text: str, indent: int = 2) -> None:
    margin = " " * indent
    console.print(
        Text(fill(text, WIDTH, initial_indent=margin, subsequent_indent=margin))
    )


def _pairs(console: Console, pairs: Mapping[str, str], indent: int = 2) -> None:
    """Print names and values in two columns; a long value is cut, a name never."""
    longest = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        line = f"{' ' * indent}{name:<{longest}}  {value}"
        cut = line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."
        console.print(Text(cut))


def _table(console: Console, stories: Sequence[Story], *rows: tuple[str, Cell]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for story in stories:
        table.add_column(story.name, justify="right", no_wrap=True)
    for label, cell in rows:
        table.add_row(label, *(cell(story) for story in stories))
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _show_intro(console: Console, stories: Sequence[Story]) -> None:
    console.print(Text("A streamed chunk is not a token", style="bold"))
    requests = stories[0].totals.num_requests
    streams = "One stream" if requests == 1 else f"{requests} streams"
    _paragraph(console, f"{streams} from each server, one after the other:", indent=0)
    for story in stories:
        _paragraph(console, f"{story.name}: {story.description}")


def _show_tokens(console: Console, stories: Sequence[Story]) -> None:
    _heading(console, "1. What a chunk counter says, and what is true")
    _table(
        console,
        stories,
        ("chunks with text", cells.num_chunks),
        ("output tokens (usage)", cells.num_tokens),
        ('"tok/s" of a chunk counter', cells.chunk_rate),
        ("output tokens per second", cells.token_rate),
        ("the counter is too low by", cells.undercount),
    )
    if len(stories) > 1:
        _show_comparison(console, stories[0], stories[1])


def _show_comparison(console: Console, before: Story, after: Story) -> None:
    _paragraph(
        console,
        f"{after.name} after {before.name}: the chunk counter goes from"
        f" {cells.chunk_rate(before)} to {cells.chunk_rate(after)}; the truth is"
        f" {cells.token_rate(before)} to {cells.token_rate(after)}.",
    )


def _show_latencies(console: Console, stories: Sequence[Story]) -> None:
    _heading(console, "2. Three latencies, kept apart (milliseconds)")
    _table(
        console,
        stories,
        ("TTFT, time to first token", cells.ttft),
        ("chunk gap, mean", cells.gap_mean),
        ("chunk gap, P95 at most", cells.gap_p95),
        ("TPOT, time per output token", cells.tpot),
        ("the same on the engine's clock", cells.engine_tpot),
    )
    _paragraph(
        console,
        "A chunk gap says how smoothly text arrives; TPOT says how fast tokens do.",
    )
    for story in stories:
        slowdown = story.arrival_slowdown
        if slowdown is not None and slowdown > _DELAYED:
            _paragraph(
                console,
                f"{story.name}: tokens took {slowdown:.1f} times as long to arrive as"
                " to make. This machine or the network was busy, so the rates above"
                " are not the engine's.",
            )


def _show_acceptance(console: Console, stories: Sequence[Story]) -> None:
    _heading(console, "3. What speculation did")
    _table(
        console,
        stories,
        ("spec steps R", cells.spec_steps),
        ("draft tokens D", cells.draft_tokens),
        ("accepted draft tokens C", cells.accepted_tokens),
        ("draft acceptance rate C/D", cells.acceptance_rate),
        ("mean acceptance length 1+C/R", cells.acceptance_length),
        ("decode steps S", cells.decode_steps),
        ("steps that speculated R/S", cells.step_coverage),
        ("tokens per step (T-1)/S", cells.tokens_per_step),
        ("why chunks carry what they do", cells.chunking),
    )
    for story in stories:
        _show_positions(console, story)
        if story.acceptance is None:
            reason = story.acceptance_reason or "not given"
            _paragraph(console, f"{story.name}: no acceptance, {reason}.")


def _show_positions(console: Console, story: Story) -> None:
    acceptance = story.acceptance
    rates = acceptance.acceptance_rate_by_position if acceptance else None
    if not rates:
        return
    _paragraph(console, f"accepted by draft position, {story.name}:")
    for position, rate in enumerate(rates):
        bar = "#" * round(rate * _BAR)
        console.print(Text(f"  {position:>3}  {bar:<{_BAR}}  {rate:6.1%}"))


def _show_sources(console: Console, stories: Sequence[Story]) -> None:
    story = max(stories, key=lambda s: sum(v is not None for v in s.sources.values()))
    _heading(console, f"4. Where each number came from ({story.name})")
    origins = (f"{count} {origin}" for origin, count in story.usage_origins.items())
    sources = {name: source or "not given" for name, source in story.sources.items()}
    _pairs(console, {**sources, "usage on streams": ", ".join(origins)})


def _show_sent(console: Console, sent: Sent) -> None:
    _heading(console, "5. What went out as OpenTelemetry")
    if sent.endpoint is not None:
        _paragraph(console, f"A span a stream and all metrics, to {sent.endpoint}")
        return
    _show_span(console, sent.spans)
    _paragraph(console, "Metrics, all streams together:")
    _pairs(console, {m.name: _reading(m) for m in sent.metrics}, indent=4)
    _paragraph(
        console,
        "Set OTEL_EXPORTER_OTLP_ENDPOINT to send all this to a collector instead.",
    )


def _show_span(console: Console, spans: tuple[SentSpan, ...]) -> None:
    shown = next((span for span in spans if _TELLING in span.attributes), spans[-1])
    count = "One span" if len(spans) == 1 else f"{len(spans)} spans, one a stream"
    _paragraph(console, f"{count}. {shown.name!r} without its code.* attributes:")
    attributes = {
        name: _value(value)
        for name, value in sorted(shown.attributes.items())
        if not name.startswith("code.")
    }
    _pairs(console, attributes, indent=4)


def _show_advice(console: Console, stories: Sequence[Story]) -> None:
    lines = [line for story in stories if story.shows_advice for line in story.advice]
    if not lines:
        return
    _heading(console, "What this server does not give")
    for line in lines:
        _paragraph(console, f"- {line}")


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _reading(metric: SentMetric) -> str:
    if metric.value is not None:
        return f"{metric.value:g} {metric.unit}"
    if not metric.count or metric.sum is None:
        return "nothing recorded"
    unit = "" if metric.unit == "1" else f" {metric.unit}"
    return f"mean {metric.sum / metric.count:.4g}{unit} of {metric.count}"
