"""Starts the built collector, Prometheus, Alertmanager and Jaeger on loopback ports.

Used by the end-to-end tests and by `make stack`. Everything starts from the files of
the bundle: of `prometheus.yml` only addresses and intervals are changed. Every port is
a free one, every program is stopped in the end.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import collector_build
import yaml
from collector_programs import (
    Collector,
    Jaeger,
    Ports,
    Program,
    ProgramError,
    Prometheus,
    free_port,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from http.server import ThreadingHTTPServer

ROOT = collector_build.ROOT
BUNDLE = ROOT / "collector"


def binaries() -> Mapping[str, Path]:
    """Program name to path.

    Raises:
        ProgramError: something has not been built.
    """
    tools = collector_build.Toolchain(go=collector_build.find_go(), jobs=1)
    found = collector_build.programs(collector_build.cache_root(), tools.version())
    missing = sorted(name for name, path in found.items() if path is None)
    if missing:
        raise ProgramError(f"not built: {', '.join(missing)}; run `make collector`")
    return {name: path for name, path in found.items() if path is not None}


@dataclass(kw_only=True)
class Stack:
    """Starts programs, and stops all of them when closed.

    Attributes:
        folder: where logs, data and derived configuration go.
    """

    folder: Path
    _exit: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
    ) -> Program:
        """Starts any program, with its output in `folder`."""
        number = len(list(self.folder.glob(f"{name}*.log")))
        log = self.folder / f"{name}-{number}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(env or {})},
            )
        program = Program(name=name, process=process, log=log)
        self._exit.callback(program.stop)
        return program

    def collector(
        self,
        *overlays: str,
        env: Mapping[str, str] | None = None,
        settings: Sequence[str] = (),
        ports: Ports | None = None,
    ) -> Collector:
        """A collector from `base.yaml` and the named overlays.

        Args:
            overlays: names in `collector/config`, without the suffix.
            env: more variables of the configuration.
            settings: more settings, as `processors::memory_limiter::limit_mib: 64`.
            ports: where it listens, such as where another did before.
        """
        listening = ports or Ports()
        command = [str(binaries()["otelcol-specdecode"])]
        for name in ("base", *overlays):
            command += ["--config", str(BUNDLE / "config" / f"{name}.yaml")]
        for setting in settings:
            command += ["--config", f"yaml:{setting}"]
        variables = {
            "SPECDECODE_SCRAPE_INTERVAL": "1s",
            "SPECDECODE_SCRAPE_TIMEOUT": "1s",
            "SPECDECODE_VLLM_TARGETS": "[]",
            **listening.variables(),
            **(env or {}),
        }
        program = self.start("collector", command, env=variables)
        program.wait_ready(f"http://127.0.0.1:{listening.health}/")
        has_page = "export-prometheus-scrape" in overlays
        return Collector(program=program, ports=listening, has_page=has_page)

    def prometheus(
        self,
        *,
        collector: Collector | None = None,
        alertmanager_port: int | None = None,
        interval: str = "1s",
        rules: Path | None = None,
        port: int | None = None,
        data: Path | None = None,
        otlp: Mapping[str, object] | None = None,
    ) -> Prometheus:
        """Prometheus from `prometheus.yml`, with its addresses replaced.

        Args:
            collector: scraped for its own metrics and for its page of metrics.
            alertmanager_port: where alerts go; nowhere when `None`.
            interval: of scrapes and of rules.
            rules: a folder in place of the bundle's rules.
            port: to come back where it was before.
            data: to come back with what it had before.
            otlp: more settings of how it takes OTLP.
        """
        port = port or free_port()
        config = yaml.safe_load((BUNDLE / "prometheus/prometheus.yml").read_text())
        config["global"] = {
            "scrape_interval": interval,
            "evaluation_interval": interval,
        }
        folder = rules or BUNDLE / "prometheus" / "rules"
        config["rule_files"] = [str(folder / "*.yml")]
        config["otlp"].update(otlp or {})
        _point_at(config, collector, alertmanager_port)
        path = self.folder / f"prometheus-{port}.yml"
        path.write_text(yaml.safe_dump(config), "utf-8")
        command = (
            str(binaries()["prometheus"]),
            f"--config.file={path}",
            f"--storage.tsdb.path={data or self.folder / f'tsdb-{port}'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--web.enable-otlp-receiver",
            "--web.enable-remote-write-receiver",
            "--enable-feature=created-timestamp-zero-ingestion",
        )
        program = self.start("prometheus", command)
        url = f"http://127.0.0.1:{port}"
        program.wait_ready(f"{url}/-/ready")
        return Prometheus(program=program, url=url)

    def serve(self, server: ThreadingHTTPServer) -> str:
        """Serves in a thread until the stack is closed; the server's address."""
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self._exit.callback(thread.join)
        self._exit.callback(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def alertmanager(self, *, webhook: str | None = None) -> int:
        """Alertmanager, and its port.

        Args:
            webhook: gets each alert at once; `None` only keeps them.
        """
        port = free_port()
        path = self.folder / f"alertmanager-{port}.yml"
        route = {
            "receiver": "hook",
            "group_by": ["alertname"],
            "group_wait": "0s",
            "group_interval": "1s",
        }
        hook: dict[str, Any] = {"name": "hook"}
        if webhook:
            hook["webhook_configs"] = [{"url": webhook}]
        path.write_text(yaml.safe_dump({"route": route, "receivers": [hook]}), "utf-8")
        command = (
            str(binaries()["alertmanager"]),
            f"--config.file={path}",
            f"--storage.path={self.folder / f'alertmanager-{port}'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        )
        program = self.start("alertmanager", command)
        program.wait_ready(f"http://127.0.0.1:{port}/-/ready")
        return port

    def jaeger(self) -> Jaeger:
        """Jaeger with its traces in memory."""
        http, query, health = free_port(), free_port(), free_port()
        path = self.folder / f"jaeger-{query}.yml"
        path.write_text(yaml.safe_dump(_jaeger_config(http, query, health)), "utf-8")
        program = self.start(
            "jaeger", (str(binaries()["jaeger"]), "--config", str(path))
        )
        program.wait_ready(f"http://127.0.0.1:{query}/api/services")
        return Jaeger(
            program=program,
            otlp=f"http://127.0.0.1:{http}",
            url=f"http://127.0.0.1:{query}",
        )


def _point_at(
    config: dict[str, Any], collector: Collector | None, alertmanager_port: int | None
) -> None:
    ports: dict[str, int | None] = {"otelcol": None, "specdecode": None}
    if collector is not None:
        ports["otelcol"] = collector.ports.telemetry
        # Without a page nothing listens there, and the target would be down.
        ports["specdecode"] = collector.ports.scrape if collector.has_page else None
    jobs = [job for job in config["scrape_configs"] if ports[job["job_name"]]]
    for job in jobs:
        targets = [f"127.0.0.1:{ports[job['job_name']]}"]
        job["static_configs"] = [{"targets": targets}]
    config["scrape_configs"] = jobs
    if alertmanager_port is None:
        del config["alerting"]
    else:
        targets = [f"127.0.0.1:{alertmanager_port}"]
        config["alerting"]["alertmanagers"] = [
            {"static_configs": [{"targets": targets}]}
        ]


def _jaeger_config(http: int, query: int, health: int) -> dict[str, Any]:
    return {
        "service": {
            "extensions": ["jaeger_storage", "jaeger_query", "healthcheckv2"],
            "pipelines": {
                "traces": {
                    "receivers": ["otlp"],
                    "exporters": ["jaeger_storage_exporter"],
                }
            },
            # Or it wants port 8888, which is the collector's.
            "telemetry": {"metrics": {"level": "none"}},
        },
        "extensions": {
            "healthcheckv2": {
                "use_v2": True,
                "http": {"endpoint": f"127.0.0.1:{health}"},
            },
            "jaeger_storage": {
                "backends": {"memory": {"memory": {"max_traces": 100_000}}}
            },
            "jaeger_query": {
                "storage": {"traces": "memory"},
                # Its own spans go to port 4317, whoever listens there, and where
                # nobody does it takes ten seconds to stop.
                "enable_tracing": False,
                "http": {"endpoint": f"127.0.0.1:{query}"},
                "grpc": {"endpoint": "127.0.0.1:0"},
            },
        },
        "receivers": {
            "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{http}"}}}
        },
        "exporters": {"jaeger_storage_exporter": {"trace_storage": "memory"}},
    }


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Stack]:
    """A stack that is stopped whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    with Stack(folder=folder) as stack:
        yield stack
