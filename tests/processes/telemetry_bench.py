"""A simulator, a collector, and programs that run between the two."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from otlp_receiver import Receiver, receive

from otel_specdecode.simulator import Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = Path(__file__).parent / "programs"
LONGEST_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where programs run: what they talk to, and what they report to."""

    simulator: Simulator
    receiver: Receiver

    def environment(self, protocol: str = "grpc", **more: str) -> dict[str, str]:
        """Variables for a program; `more` wins, and an empty value unsets."""
        http = protocol == "http/protobuf"
        endpoint = self.receiver.http_endpoint if http else self.receiver.grpc_endpoint
        variables = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            "OTEL_SERVICE_NAME": "bench",
            "OTEL_SPECDECODE_RERAISE": "true",
            "PYTHONPATH": str(PROGRAMS),
            "SIMULATOR_URL": self.simulator.base_url,
            "SIMULATOR_MODEL": self.simulator.model,
            **more,
        }
        return {name: value for name, value in variables.items() if value}

    def run(
        self, *command: str, protocol: str = "grpc", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program under this Python to its end."""
        return subprocess.run(
            [sys.executable, *command],
            env=self.environment(protocol, **more),
            cwd=PROGRAMS,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )


@contextmanager
def open_bench() -> Iterator[Bench]:
    """A simulator that answers at once and a collector, for the length of a block."""
    profile = replace(named_profile("mtp"), time_scale=0)
    with simulate(profile) as simulator, receive() as receiver:
        yield Bench(simulator=simulator, receiver=receiver)
