"""What arrives over OTLP from a user's program is what a real vLLM counted."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from client_counts import in_metrics, in_spans
from otlp_receiver import ReceivedSpan
from server_counters import Counts, window

if TYPE_CHECKING:
    from otlp_receiver import Receiver
    from vllm_server import Server

pytestmark = pytest.mark.e2e

_PROGRAM = Path(__file__).with_name("exporting_program.py")
_NUM_REQUESTS = 16
_VLLM_SPAN = "llm_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One run of the program, by what each side says of it."""

    service: str
    protocol: str
    counted: Counts
    spans: list[ReceivedSpan]


@pytest.fixture(scope="module", params=["grpc", "http/protobuf"])
def exported(
    request: pytest.FixtureRequest, server: Server, receiver: Receiver
) -> Exported:
    service = f"program-{server.method.name}-{request.param}"
    endpoint = {
        "grpc": receiver.grpc_endpoint,
        "http/protobuf": receiver.http_endpoint,
    }[request.param]
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("OTEL_")},
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_PROTOCOL": request.param,
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
    }
    with window(server) as counted:
        subprocess.run(
            [sys.executable, str(_PROGRAM), server.url, str(_NUM_REQUESTS)],
            env=environment,
            check=True,
        )
    spans = [s for s in receiver.spans if s.resource.get("service.name") == service]
    return Exported(
        service=service,
        protocol=request.param,
        counted=counted.difference,
        spans=spans,
    )


def test_it_arrives_over_the_protocol_that_was_asked_for(
    exported: Exported, receiver: Receiver
) -> None:
    assert {
        f"traces {exported.protocol}",
        f"metrics {exported.protocol}",
    } <= receiver.protocols


def test_the_exported_metrics_carry_the_servers_sums(
    exported: Exported, receiver: Receiver
) -> None:
    assert in_metrics(receiver, exported.service) == exported.counted


def test_the_exported_spans_carry_the_servers_sums(exported: Exported) -> None:
    assert len(exported.spans) == _NUM_REQUESTS
    assert in_spans(exported.spans) == exported.counted


def test_the_servers_own_span_is_a_child_of_each_request(
    exported: Exported, receiver: Receiver
) -> None:
    parents = {(span.trace_id, span.span_id) for span in exported.spans}

    def is_child(span: ReceivedSpan) -> bool:
        return (span.trace_id, span.parent_span_id) in parents

    children = receiver.wait_for_spans(is_child, _NUM_REQUESTS)
    tokens = [span.attributes["gen_ai.usage.completion_tokens"] for span in children]
    assert {span.name for span in children} == {_VLLM_SPAN}
    assert len({span.parent_span_id for span in children}) == _NUM_REQUESTS
    assert sum(tokens) == exported.counted.output_tokens
