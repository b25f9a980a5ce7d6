"""`make stack`: the whole bundle with live traffic, and no Docker.

Collector, Prometheus, Alertmanager and Jaeger as `make collector` built them; two
simulated servers that speculate; an application under the wrapper. Prints the
addresses, and stops all that it started on Ctrl-C, or after `--seconds`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "collector/grafana"))

import show
from collector_programs import ProgramError, free_port
from collector_stack import Stack, binaries, running

from otel_specdecode.simulator import Profile, Simulator, named_profile, simulate

TRAFFIC = Path(__file__).with_name("stack_traffic.py")
SERVERS = {"mtp": 2, "ngram": 1}
"""Profile of the simulator, and its number of engines."""


def start(
    stack: Stack, servers: list[Simulator], *, port: int | None
) -> dict[str, str]:
    """Starts everything but the servers; what to look at, by name."""
    prometheus_port = free_port()
    jaeger = stack.jaeger()
    collector = stack.collector(
        "export-prometheus-otlp",
        "export-traces",
        env={
            "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{prometheus_port}",
            "SPECDECODE_TRACES_ENDPOINT": jaeger.otlp,
            "SPECDECODE_VLLM_TARGETS": json.dumps(
                [one.root_url.removeprefix("http://") for one in servers]
            ),
            "SPECDECODE_SCRAPE_INTERVAL": "2s",
        },
    )
    alertmanager = stack.alertmanager()
    prometheus = stack.prometheus(
        collector=collector,
        alertmanager_port=alertmanager,
        port=prometheus_port,
        interval="2s",
    )
    pairs = [text for one in servers for text in (one.base_url, one.model)]
    stack.start(
        "traffic",
        (sys.executable, str(TRAFFIC), *pairs),
        env={
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_SERVICE_NAME": "traffic",
        },
    )
    page = stack.serve(show.server(prometheus.url, port or 0, minutes=10))
    return {
        "dashboards": page,
        "Prometheus": f"{prometheus.url}/api/v1/rules",
        "alerts": f"http://127.0.0.1:{alertmanager}/api/v2/alerts",
        "traces (API)": f"{jaeger.url}/api/services",
        "OTLP over HTTP": collector.url,
        "OTLP over gRPC": f"http://127.0.0.1:{collector.ports.grpc}",
        **{f"server {one.model}": one.base_url for one in servers},
    }


def main() -> int:
    """Command line entry; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, help="stop after so many")
    parser.add_argument("--port", type=int, help="of the page with the dashboards")
    options = parser.parse_args()
    try:
        binaries()
    except ProgramError as error:
        sys.exit(str(error))
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    with contextlib.ExitStack() as started:
        folder = Path(started.enter_context(tempfile.TemporaryDirectory()))
        servers = [
            started.enter_context(simulate(profile_of(name, engines)))
            for name, engines in SERVERS.items()
        ]
        stack = started.enter_context(running(folder))
        begun = time.monotonic()
        for name, address in start(stack, servers, port=options.port).items():
            print(f"{name:16} {address}", flush=True)
        print(f"ready after {time.monotonic() - begun:.0f} s; Ctrl-C stops everything")
        sys.stdout.flush()
        end.wait(options.seconds)
    return 0


def profile_of(name: str, engines: int) -> Profile:
    """A named profile as a server of its own model name."""
    return replace(
        named_profile(name),
        model=f"simulated-{name}",
        num_engines=engines,
        timing_fields=True,
    )


if __name__ == "__main__":
    sys.exit(main())
