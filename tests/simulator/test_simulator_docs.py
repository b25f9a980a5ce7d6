"""`docs/simulator.md` names what there is, and its forms of use work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx2
import openai
import pytest

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator import (
    PROFILES,
    Responder,
    UsagePlacement,
    named_profile,
)
from otel_specdecode.simulator.directives import (
    PayloadFault,
    Refusal,
    WireShape,
    parse_directives,
)

_DOCS = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text()


def _known_directives() -> list[str]:
    with pytest.raises(SimulatorError) as caught:
        parse_directives("?")
    return str(caught.value).partition("known are ")[2].split(", ")


@pytest.mark.parametrize("name", _known_directives())
def test_every_directive_is_in_the_docs(name):
    assert f"`{name}" in _DOCS


@pytest.mark.parametrize(
    "value",
    [
        *UsagePlacement,
        *PayloadFault,
        *sorted(set(Refusal) - {Refusal.AZURE, Refusal.ECHO}),
        *sorted(set(WireShape) - {WireShape.CURRENT, WireShape.BEFORE_0_29}),
        *(profile.name for profile in PROFILES),
    ],
)
def test_every_value_is_in_the_docs(value):
    assert f"`{value}`" in _DOCS or f"={value}`" in _DOCS


def test_a_client_talks_to_a_responder_behind_a_mock_transport():
    responder = Responder(replace(named_profile("mtp"), time_scale=0))

    def handler(request: httpx2.Request) -> httpx2.Response:
        r = responder.respond(
            request.method, request.url.path, request.headers, request.read()
        )
        return httpx2.Response(
            r.status, headers=r.headers, content=(data for _, data in r.events)
        )

    transport = httpx2.MockTransport(handler)
    with openai.OpenAI(
        base_url="http://simulated/v1",
        api_key="x",
        http_client=httpx2.Client(transport=transport),
    ) as client:
        stream = client.chat.completions.create(
            model="spec-demo",
            messages=[{"role": "user", "content": "x"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        *_, last = stream
    assert last.usage.completion_tokens == responder.ledger.totals.num_output_tokens
