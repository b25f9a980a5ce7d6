"""vLLM's own span says little of itself; what can be added is added, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from backend import Backend, serving
from collector_programs import wait_until
from traffic import other_program

if TYPE_CHECKING:
    from collector_stack import Stack

pytestmark = pytest.mark.e2e

SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (
        "llm_request",
        {
            "gen_ai.request.id": "chatcmpl-1",
            "gen_ai.usage.prompt_tokens": 3,
            "gen_ai.usage.completion_tokens": 4,
        },
    ),
    "completion": ("llm_request", {"gen_ai.request.id": "cmpl-1-0"}),
    "own id": ("llm_request", {"gen_ai.request.id": "mine"}),
    "complete": (
        "llm_request",
        {
            "gen_ai.request.id": "chatcmpl-2",
            "gen_ai.operation.name": "text_completion",
            "gen_ai.provider.name": "azure",
            "gen_ai.response.model": "other",
        },
    ),
    "another's": ("chat m", {"gen_ai.request.id": "chatcmpl-3"}),
}
ADDED: dict[str, dict[str, Any]] = {
    "chat": {
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.provider.name": "vllm",
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "served",
    },
    "completion": {
        "gen_ai.provider.name": "vllm",
        "gen_ai.operation.name": "text_completion",
        "gen_ai.response.model": "served",
    },
    "own id": {
        "gen_ai.provider.name": "vllm",
        "gen_ai.response.model": "served",
    },
    "complete": {},
    "another's": {},
}


def test_a_span_is_completed_where_it_says_nothing_itself(stack: Stack) -> None:
    with serving(Backend()) as backend:
        collector = stack.collector(
            "export-otlp", env={"SPECDECODE_OTLP_ENDPOINT": backend.url}
        )
        # vLLM started with OTEL_RESOURCE_ATTRIBUTES=gen_ai.response.model=served.
        resource = {"gen_ai.response.model": "served"}
        with other_program(collector.url, **resource) as (tracer, _):
            for case, (name, attributes) in SENT.items():
                marked = {**attributes, "case": case}
                tracer.start_span(name, attributes=marked).end()
        wait_until("the spans", lambda: len(backend.spans()) == len(SENT))
        arrived = {}
        for span in backend.spans():
            values = {
                one.key: one.value.int_value or one.value.string_value
                for one in span.attributes
            }
            arrived[values.pop("case")] = values
    expected = {case: SENT[case][1] | added for case, added in ADDED.items()}
    assert arrived == expected
