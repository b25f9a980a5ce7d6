"""Starts the built collector, Prometheus, Alertmanager and Jaeger on loopback ports.

Used by the end-to-end tests and by `make stack`. Everything starts from the files of
the bundle: of `prometheus.yml` only addresses and intervals are changed. Every port is
taken from the operating system, every program is stopped in the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import collector_build
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from http.server import ThreadingHTTPServer

ROOT = collector_build.ROOT
BUNDLE = ROOT / "collector"
# Longer than any of them needs, also where other work has both cores.
READY_WITHIN_S = 120.0


class ProgramError(RuntimeError):
    """A program ended, or was not ready in time; the text has the end of its log."""


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


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str, *, timeout_s: float = 10.0) -> str:
    """The body of a page."""
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:
        return answer.read().decode()


def wait_until(what: str, probe: Any, *, within_s: float = READY_WITHIN_S) -> Any:
    """Calls `probe` until it returns something true, and returns that.

    Raises:
        TimeoutError: it did not within `within_s` seconds; names `what`.
    """
    deadline = time.monotonic() + within_s
    last: Any = None
    while time.monotonic() < deadline:
        last = probe()
        if last:
            return last
        time.sleep(0.1)
    raise TimeoutError(f"{what}: not within {within_s:g} s; last seen: {last!r}")


@dataclass(kw_only=True)
class Program:
    """One running program and its log."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def log_text(self) -> str:
        """All that it has written."""
        return self.log.read_text("utf-8", errors="replace")

    def wait_ready(self, url: str) -> None:
        """Returns once `url` answers.

        Raises:
            ProgramError: the program ended first, or the time was up.
        """
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                get(url, timeout_s=1)
                return
            time.sleep(0.05)
        raise ProgramError(f"{self.name} is not ready:\n{self.log_text()[-3000:]}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it, by force where it does not go."""
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Where a collector listens: OTLP twice, health, own metrics, scrape page."""

    grpc: int = field(default_factory=free_port)
    http: int = field(default_factory=free_port)
    health: int = field(default_factory=free_port)
    telemetry: int = field(default_factory=free_port)
    scrape: int = field(default_factory=free_port)

    def variables(self) -> dict[str, str]:
        """The same as variables of the bundle's configuration."""
        return {
            "SPECDECODE_OTLP_GRPC_ENDPOINT": f"127.0.0.1:{self.grpc}",
            "SPECDECODE_OTLP_HTTP_ENDPOINT": f"127.0.0.1:{self.http}",
            "SPECDECODE_HEALTH_ENDPOINT": f"127.0.0.1:{self.health}",
            "SPECDECODE_TELEMETRY_PORT": str(self.telemetry),
            "SPECDECODE_PROMETHEUS_ENDPOINT": f"127.0.0.1:{self.scrape}",
        }


@dataclass(frozen=True, kw_only=True)
class Collector:
    """A running collector and where it listens."""

    program: Program
    ports: Ports

    @property
    def url(self) -> str:
        """Base URL for OTLP over HTTP."""
        return f"http://127.0.0.1:{self.ports.http}"

    def own_metrics(self) -> str:
        """The page with the collector's own metrics."""
        return get(f"http://127.0.0.1:{self.ports.telemetry}/metrics")


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    """A running Prometheus, and its query API."""

    program: Program
    url: str

    def query(self, expr: str, *, at: float | None = None) -> list[dict[str, Any]]:
        """The instant vector (or matrix) of an expression, at a Unix time."""
        fields = {"query": expr} | ({} if at is None else {"time": f"{at:.3f}"})
        return self._get("query", fields)["result"]

    def query_range(
        self, expr: str, *, start: float, end: float, step_s: float
    ) -> list[dict[str, Any]]:
        """The matrix of an expression between two Unix times."""
        fields = {"query": expr, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        return self._get("query_range", fields | {"step": f"{step_s:g}"})["result"]

    def value(self, expr: str) -> float | None:
        """The value of an expression that gives one series; `None` for none."""
        series = self.query(expr)
        if len(series) > 1:
            raise AssertionError(f"expected one series for {expr}, got {series}")
        return float(series[0]["value"][1]) if series else None

    def _get(self, path: str, fields: Mapping[str, str]) -> Any:
        query = urllib.parse.urlencode(fields)
        try:
            answer = json.loads(get(f"{self.url}/api/v1/{path}?{query}"))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{fields['query']}: {error.read()!r}") from error
        return answer["data"]


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
        ports = ports or Ports()
        command = [str(binaries()["otelcol-specdecode"])]
        for name in ("base", *overlays):
            command += ["--config", str(BUNDLE / "config" / f"{name}.yaml")]
        for setting in settings:
            command += ["--config", f"yaml:{setting}"]
        variables = {
            "SPECDECODE_SCRAPE_INTERVAL": "1s",
            "SPECDECODE_SCRAPE_TIMEOUT": "1s",
            "SPECDECODE_VLLM_TARGETS": "[]",
            **ports.variables(),
            **(env or {}),
        }
        program = self.start("collector", command, env=variables)
        program.wait_ready(f"http://127.0.0.1:{ports.health}/")
        return Collector(program=program, ports=ports)

    def prometheus(
        self,
        *,
        collector: Collector | None = None,
        alertmanager_port: int | None = None,
        interval: str = "1s",
        rules: Path | None = None,
        port: int | None = None,
        data: Path | None = None,
    ) -> Prometheus:
        """Prometheus from `prometheus.yml`, with its addresses replaced.

        Args:
            collector: scraped for its own metrics and for its page of metrics.
            alertmanager_port: where alerts go; nowhere when `None`.
            interval: of scrapes and of rules.
            rules: a folder in place of the bundle's rules.
            port: to come back where it was before.
            data: to come back with what it had before.
        """
        port = port or free_port()
        config = yaml.safe_load((BUNDLE / "prometheus/prometheus.yml").read_text())
        config["global"] = {
            "scrape_interval": interval,
            "evaluation_interval": interval,
        }
        folder = rules or BUNDLE / "prometheus" / "rules"
        config["rule_files"] = [str(folder / "*.yml")]
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


@dataclass(frozen=True, kw_only=True)
class Jaeger:
    """A running Jaeger: where OTLP goes in, and where its API and pages are."""

    program: Program
    otlp: str
    url: str

    def trace(self, trace_id: str) -> dict[str, Any] | None:
        """A trace as its API gives it; `None` while it does not have it."""
        try:
            answer = json.loads(get(f"{self.url}/api/traces/{trace_id}"))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise
        return answer["data"][0] if answer["data"] else None


def _point_at(
    config: dict[str, Any], collector: Collector | None, alertmanager_port: int | None
) -> None:
    ports = {
        "otelcol": collector.ports.telemetry if collector else None,
        "specdecode": collector.ports.scrape if collector else None,
    }
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
