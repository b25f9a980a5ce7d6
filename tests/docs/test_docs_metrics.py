"""The tables of `docs/metrics.md` and the names in the code are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from documents import DOCS, README, code_in, rows

from otel_specdecode.recording import GenAINames, semconv

if TYPE_CHECKING:
    from documents import Row

PAGE = DOCS / "metrics.md"
COUNTERS, HISTOGRAMS, GENAI = "Counters", "Histograms", "Standard GenAI metrics"
PREFIXES = ("gen_ai.", "specdecode.", "server.", "error.", "code.", "otel.")
TAG = "specdecode.tag.<key>"


def under(heading: str) -> list[Row]:
    return [row for row in rows(PAGE) if row.heading == heading]


def attributes_in_code() -> set[str]:
    constants = {
        value
        for name, value in vars(semconv).items()
        if name.isupper() and isinstance(value, str) and value.startswith(PREFIXES)
    }
    parameters = set(semconv.REQUEST_PARAMETERS.values())
    return (constants - {semconv.TAG_PREFIX} | parameters) | {TAG}


def test_the_counters_are_those_of_the_code_with_their_units() -> None:
    documented = [(row.names[0], code_in(row.cells[1])[0]) for row in under(COUNTERS)]
    assert documented == [(metric.name, metric.unit) for metric in semconv.COUNTERS]


def test_the_histograms_are_those_of_the_code_with_units_and_buckets() -> None:
    documented = [
        (
            row.names[0],
            code_in(row.cells[1])[0],
            tuple(float(bound) for bound in row.cells[-1].split(",")),
        )
        for row in under(HISTOGRAMS)
    ]
    in_code = [(m.name, m.unit, m.buckets) for m in semconv.HISTOGRAMS]
    assert documented == in_code


def test_the_standard_metrics_are_those_of_the_code_under_both_names() -> None:
    published = semconv.genai_metrics(GenAINames.PUBLISHED)
    upcoming = semconv.genai_metrics(GenAINames.NEXT)
    fields = (
        *("duration", "time_to_first_chunk", "time_per_output_chunk"),
        *("input_tokens", "output_tokens"),
    )
    in_code = [
        (getattr(published, field).name, getattr(upcoming, field).name)
        for field in fields
    ]
    documented = [(row.names[0], code_in(row.cells[-1])[0]) for row in under(GENAI)]
    assert documented == in_code


def test_the_attributes_are_those_of_the_code() -> None:
    tables = [
        *under("Attributes of every metric"),
        *under("Attributes of some metrics"),
        *under("Span"),
        *under("Span events"),
    ]
    documented = {
        name for row in tables for name in row.names if name.startswith(PREFIXES)
    }
    assert documented == attributes_in_code()


def test_a_metric_names_only_attributes_that_the_page_explains() -> None:
    explained = {n for row in under("Attributes of some metrics") for n in row.names}
    used = {name for row in under(COUNTERS) for name in code_in(row.cells[3])}
    assert used <= explained


def test_the_readme_lists_every_metric_of_ours_but_those_about_ourselves() -> None:
    stem = "specdecode.client."
    ours = {m.name for m in (*semconv.COUNTERS, *semconv.HISTOGRAMS)}
    listed = {
        stem + name
        for row in rows(README)
        if row.heading == "What is recorded"
        for name in row.names
    }
    about_ourselves = {f"{stem}chunk_count_sites", f"{stem}telemetry_dropped"}
    assert listed == ours - about_ourselves
