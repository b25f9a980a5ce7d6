"""A client that is given a provider of its own keeps it after `configure()`."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import otel_specdecode
from openai import OpenAI
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from otel_specdecode.simulator import named_profile, simulate

otel_specdecode.configure(exit_timeout_s=0.1)
reader = InMemoryMetricReader()
with simulate(named_profile("mtp")) as sim:
    client = OpenAI(base_url=sim.base_url, api_key="x")
    otel_specdecode.wrap(client, meter_provider=MeterProvider([reader]))
    ask = [{"role": "user", "content": "hi"}]
    client.chat.completions.create(model=sim.model, messages=ask, max_tokens=4)
for resource in reader.get_metrics_data().resource_metrics:
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            if metric.name == "specdecode.client.requests":
                print(sum(point.value for point in metric.data.data_points))
"""


def test_its_metrics_go_there_and_nowhere_else() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
