"""Programs of the collector bundle as they run: their ports, logs and query APIs."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Longer than any of them needs, also where other work has both cores.
READY_WITHIN_S = 120.0
# Linux and others hand out ports from 32,768 on to whoever connects to somewhere.
OUTSIDE_EPHEMERAL = range(15_000, 32_000)


class ProgramError(RuntimeError):
    """A program ended, or was not ready in time; the text has the end of its log."""


def free_port() -> int:
    """A port that was free a moment ago, and that no outgoing connection is given."""
    for port in random.sample(OUTSIDE_EPHEMERAL, 100):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("none of a hundred ports was free")


def get(url: str, *, timeout_s: float = 10.0) -> str:
    """The body of a page."""
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:
        return answer.read().decode()


def wait_until(
    what: str, probe: Callable[[], Any], *, within_s: float = READY_WITHIN_S
) -> Any:
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
    """A running collector and where it listens.

    Attributes:
        has_page: whether Prometheus can scrape clients' and servers' metrics there.
    """

    program: Program
    ports: Ports
    has_page: bool = False

    @property
    def url(self) -> str:
        """Base URL for OTLP over HTTP."""
        return f"http://127.0.0.1:{self.ports.http}"

    def own_metrics(self) -> str:
        """The page with the collector's own metrics."""
        return get(f"http://127.0.0.1:{self.ports.telemetry}/metrics")


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    """A running Prometheus, and its query API.

    Attributes:
        at: Unix time at which expressions are evaluated; `None` is now.
    """

    program: Program
    url: str
    at: float | None = None

    def as_of(self, at: float) -> Prometheus:
        """The same, asked for that instant: an hour later it still says what it did."""
        return replace(self, at=at)

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The instant vector (or matrix) of an expression."""
        fields = {"query": expr}
        if self.at is not None:
            fields["time"] = f"{self.at:.3f}"
        return self._get("query", fields)["result"]

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
