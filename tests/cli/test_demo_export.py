"""With an endpoint set, the demo's spans and metrics arrive at a real receiver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from otlp_receiver import receive


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_demo_sends_a_span_a_stream_and_the_sums(protocol: str) -> None:
    with receive() as receiver:
        grpc = protocol == "grpc"
        endpoint = receiver.grpc_endpoint if grpc else receiver.http_endpoint
        done = subprocess.run(
            [
                str(Path(sys.executable).with_name("otel-specdecode")),
                "demo",
                *("--time-scale", "0", "--requests", "2"),
            ],
            env={
                **os.environ,
                "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
                "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            },
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert f"to {endpoint}" in done.stdout
        servers = {s.attributes["specdecode.tag.server"] for s in receiver.spans}
        tokens = receiver.latest("specdecode.client.output_tokens")
        assert (len(receiver.spans), servers) == (
            6,
            {"plain", "speculating", "coalescing"},
        )
        assert sum(point.value or 0 for point in tokens) == 768
        assert {p.resource["service.name"] for p in tokens} == {"otel-specdecode-demo"}
