"""Every public name, as its types are promised. Pyright reads this; nothing runs it."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from contextlib import AbstractContextManager  # noqa: TC003 (nothing runs this)
from typing import Any, assert_type

from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI

from otel_specdecode import (
    ChunkCountWarning,
    ConfigError,
    PayloadError,
    RequestRecord,
    SpecDecodeError,
    SpecDecodeInstrumentor,
    Totals,
    capture,
    configure,
    diagnose,
    observe_sse,
    record_from,
    record_of,
    tag,
    wrap,
)
from otel_specdecode.instrumentation import Diagnosis
from otel_specdecode.otlp import Telemetry


class House(OpenAI):
    """A caller's own subclass."""


def the_same_type_comes_back(http: Any) -> None:
    assert_type(wrap(OpenAI()), OpenAI)
    assert_type(wrap(AsyncOpenAI(), usage="unset"), AsyncOpenAI)
    assert_type(wrap(AzureOpenAI(http_client=http)), AzureOpenAI)
    assert_type(wrap(AsyncAzureOpenAI(http_client=http)), AsyncAzureOpenAI)
    assert_type(wrap(House()), House)


def an_instrumentor_takes_options() -> None:
    instrumentor = SpecDecodeInstrumentor()
    assert_type(instrumentor.instrument(usage="unset"), None)
    instrumentor.uninstrument()


def captures_collect_records() -> None:
    with capture() as requests:
        assert_type(requests, list[RequestRecord])


def a_diagnosis_is_a_value_and_a_page() -> None:
    found = diagnose()
    assert_type(found, Diagnosis)
    assert_type(found.requests, Mapping[str, int])
    assert_type(found.problems, tuple[str, ...])
    assert_type(str(found), str)


def one_record_may_be_missing(response: object) -> None:
    record = record_of(response)
    assert_type(record, RequestRecord | None)


def what_is_unknown_is_none(record: RequestRecord) -> None:
    assert_type(record.num_output_tokens, int | None)
    assert_type(record.tpot_s, float | None)
    assert_type(record.output_token_rate, float | None)
    assert_type(record.sources, Mapping[str, str | None])


def raw_http_lines(
    lines: Iterable[bytes], later: AsyncIterable[str], payload: Mapping[str, Any]
) -> None:
    assert_type(observe_sse(lines).record, RequestRecord | None)
    assert_type(observe_sse(later, sent_at=0.0).record, RequestRecord | None)
    assert_type(record_from(payload, duration_s=1.0), RequestRecord)


def totals_add(records: list[RequestRecord]) -> None:
    assert_type(Totals.of(records) + Totals(), Totals)
    assert_type(Totals.of(records).draft_acceptance_rate, float | None)


def tags_are_a_block() -> None:
    assert_type(tag(task="code").__enter__(), None)
    block: AbstractContextManager[None] = tag(task="code", attempt=2)
    del block


def telemetry_is_set_up_once() -> None:
    telemetry = configure(service_name="bench")
    assert_type(telemetry, Telemetry)
    assert_type(telemetry.flush(), bool)


def errors_have_one_root() -> None:
    errors: list[type[SpecDecodeError]] = [ConfigError, PayloadError]
    warning: type[UserWarning] = ChunkCountWarning
    del errors, warning
    assert_type(PayloadError("usage", "expected an object").path, str)
