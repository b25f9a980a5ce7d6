"""The table of options and the options are the same."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum

from documents import DOCS, code_in, rows

from otel_specdecode.instrumentation import Options

OPTIONS = [row for row in rows(DOCS / "configuration.md") if len(row.cells) == 5]


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, StrEnum):
        return f"`{default.value}`"
    return "none"


def _values(default: object) -> tuple[str, ...]:
    if not isinstance(default, StrEnum):
        return ()
    return tuple(member.value for member in type(default))


def test_every_option_is_there_with_variable_default_and_values() -> None:
    documented = [
        (
            row.names[0],
            code_in(row.cells[1])[0],
            row.cells[2],
            code_in(row.cells[3]),
        )
        for row in OPTIONS
    ]
    assert documented == [
        (
            field.name,
            f"OTEL_SPECDECODE_{field.name.upper()}",
            _shown(field.default),
            _values(field.default),
        )
        for field in fields(Options)
    ]


def test_each_documented_variable_is_read() -> None:
    chosen = {
        "usage": "unset",
        "raw_usage": "force",
        "hide_usage_chunk": "off",
        "continuous_usage": "on",
        "token_ids": "yes",
        "propagate_trace": "no",
        "propagation_excluded_hosts": "a.example,b.example",
        "provider_name": "vllm",
        "time_per_output_chunk": "1",
        "genai_names": "next",
        "chunk_count_check": "0",
    }
    environ = {code_in(row.cells[1])[0]: chosen[row.names[0]] for row in OPTIONS}
    options = Options.of({}, environ)
    changed = [
        field.name
        for field in fields(Options)
        if getattr(options, field.name) != field.default
    ]
    assert changed == [row.names[0] for row in OPTIONS]
