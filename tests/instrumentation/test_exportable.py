"""Values that OTLP cannot hold: they cost no batch, and no log at each export."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from callers import Caller
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from scripted_wire import Json, Reply, Wire, answer, json_reply, whole_answer

import otel_specdecode

if TYPE_CHECKING:
    import openai
    from telemetry import Telemetry

SYNC = Caller("sync")
HALF = "half \ud83d of a smile"
SHOWN = "half ? of a smile"


def exported(telemetry: Telemetry, caplog: pytest.LogCaptureFixture) -> str:
    """What an exporter sends, as text; it shall have nothing to complain about."""
    with caplog.at_level(logging.WARNING, logger="opentelemetry"):
        sent = [encode_spans(telemetry.spans), encode_metrics(telemetry.data)]
    theirs = [one for one in caplog.records if one.name.startswith("opentelemetry")]
    assert theirs == []
    for each in sent:
        assert each.SerializeToString()
    return " ".join(map(str, sent))


def _halves(body: Json) -> Reply:
    spoilt = whole_answer(body) | {"id": HALF, "model": HALF}
    spoilt["choices"][0]["finish_reason"] = HALF
    return json_reply(spoilt)


def test_text_of_an_answer_that_is_no_utf_8_is_exported_with_question_marks(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    client = SYNC.wrapped(Wire(_halves), telemetry)
    assert client.chat.completions.create(**SYNC.request()).model == HALF
    assert exported(telemetry, caplog).count(SHOWN) > 3
    assert telemetry.attributes["gen_ai.response.id"] == SHOWN


def test_a_model_that_is_no_utf_8_costs_no_other_span(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    def outcome(client: openai.OpenAI) -> str:
        try:
            return client.chat.completions.create(**SYNC.request(model=HALF)).id
        except UnicodeEncodeError as error:
            return str(error)  # an old client sends it, escaped

    wrapped = outcome(SYNC.wrapped(Wire(answer), telemetry))
    assert wrapped == outcome(SYNC.bare(Wire(answer)))
    assert telemetry.span.name == f"chat {SHOWN}"
    exported(telemetry, caplog)


def test_tags_and_a_provider_that_are_no_utf_8_are_exported_with_question_marks(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry, provider_name=HALF)
    with otel_specdecode.tag(**{HALF: HALF}):
        client.chat.completions.create(**SYNC.request())
    assert telemetry.attributes[f"specdecode.tag.{SHOWN}"] == SHOWN
    assert telemetry.attributes["gen_ai.provider.name"] == SHOWN
    exported(telemetry, caplog)


def test_the_name_of_a_file_that_is_no_utf_8_is_exported_with_question_marks(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    # As Python writes a byte of a path that it cannot read.
    code = compile("create(**request)", "half \udcff of a smile", "exec")
    exec(code, {"create": client.chat.completions.create, "request": SYNC.request()})
    assert telemetry.attributes["code.file.path"] == SHOWN
    exported(telemetry, caplog)


@pytest.mark.parametrize(
    ("value", "recorded"),
    [(2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)],
)
def test_a_number_beyond_64_bits_is_left_out(
    value: int,
    telemetry: Telemetry,
    caplog: pytest.LogCaptureFixture,
    *,
    recorded: bool,
) -> None:
    wire = Wire(answer)
    SYNC.wrapped(wire, telemetry).chat.completions.create(**SYNC.request(seed=value))
    assert json.loads(json.dumps(wire.bodies[0]))["seed"] == value
    sent: Any = telemetry.attributes.get("gen_ai.request.seed")
    assert sent == (value if recorded else None)
    exported(telemetry, caplog)
