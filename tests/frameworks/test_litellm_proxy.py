"""Inside the litellm proxy, where the server's whole answer is still to be seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import openai
import pytest
from applications.litellm_proxy import start_proxy
from asked import QUESTION
from otlp_receiver import receive
from wiring import wiring_of

if TYPE_CHECKING:
    from otel_specdecode.simulator import Simulator

pytestmark = pytest.mark.full


def launcher() -> tuple[str, ...]:
    """Return what the documents put before the proxy's name, from this environment."""
    (command,) = (
        line.split()
        for block in wiring_of("litellm-proxy", "bash")
        for line in block.splitlines()
        if line.startswith("opentelemetry-instrument ")
    )
    first, *more = command[: command.index("litellm")]
    return str(Path(sys.executable).with_name(first)), *more


def test_a_stream_through_the_proxy_is_counted_inside_it(
    at_once: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    (configuration,) = wiring_of("litellm-proxy", "yaml")
    before = at_once.ledger.totals
    with receive() as receiver:
        for name, value in {
            "OPENAI_BASE_URL": at_once.base_url,
            "OPENAI_API_KEY": "unused",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.http_endpoint,
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }.items():
            monkeypatch.setenv(name, value)
        url = start_proxy(configuration, *launcher())
        stream = openai.OpenAI(base_url=url).chat.completions.create(
            model="spec-demo",
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        (span,) = receiver.wait_for_spans(
            lambda each: "specdecode.outcome" in each.attributes, num=1
        )
    truth = at_once.ledger.totals - before
    assert [span.attributes[name] for name in _COUNTS] == [
        truth.num_output_tokens,
        truth.num_spec_steps,
        truth.num_draft_tokens,
        truth.num_accepted_draft_tokens,
    ]


_COUNTS = (
    "gen_ai.usage.output_tokens",
    "specdecode.num_spec_steps",
    "specdecode.num_draft_tokens",
    "specdecode.num_accepted_draft_tokens",
)
