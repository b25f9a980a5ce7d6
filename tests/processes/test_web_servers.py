"""Web servers with several workers, whose telemetry adds up."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from fleet_sums import instances, known, received
from telemetry_bench import LONGEST_S, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from telemetry_bench import Bench

NUM_WORKERS = 2
MOST_REQUESTS = 500


@contextmanager
def listening() -> Iterator[socket.socket]:
    """A socket that listens before any server does, so that nobody has to wait."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.set_inheritable(True)
        yield listener


def ask_every_worker(port: int) -> set[str]:
    """Send requests until each worker has answered one."""
    answered: set[str] = set()
    for _ in range(MOST_REQUESTS):
        url = f"http://127.0.0.1:{port}/"
        with urllib.request.urlopen(url, timeout=LONGEST_S) as response:
            answered.add(response.read().decode())
        if len(answered) == NUM_WORKERS:
            break
    return answered


def serve_and_ask(bench: Bench, protocol: str, *server: str) -> set[str]:
    """Run a server until each of its workers has answered; return their ids."""
    with listening() as listener:
        command = [
            word.format(fd=listener.fileno()) for word in (sys.executable, *server)
        ]
        process = subprocess.Popen(
            command,
            env=bench.environment(protocol),
            cwd=PROGRAMS,
            pass_fds=[listener.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return ask_every_worker(listener.getsockname()[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(LONGEST_S)


WORKERS = ("--workers", str(NUM_WORKERS))
# A busy machine may take long to import: that is no reason to replace a worker.
PATIENT = ("--timeout-worker-healthcheck", str(LONGEST_S))
GUNICORN = ("-m", "gunicorn", "--bind", "fd://{fd}", *WORKERS)
UVICORN = ("-m", "uvicorn", "--fd", "{fd}", *WORKERS, *PATIENT)
UVICORN_WORKER = ("-k", "uvicorn.workers.UvicornWorker")
WSGI, ASGI = "web_app", "web_app:asgi_application"


@pytest.mark.parametrize(
    ("protocol", "server"),
    [
        pytest.param("grpc", (*GUNICORN, "--preload", WSGI), id="sync-preload"),
        pytest.param(
            *("http/protobuf", (*GUNICORN, "--preload", "-k", "gthread", WSGI)),
            id="gthread-preload",
            marks=pytest.mark.full,
        ),
        pytest.param(
            *("grpc", (*GUNICORN, "-k", "gthread", WSGI)),
            id="gthread",
            marks=pytest.mark.full,
        ),
        pytest.param(
            *("http/protobuf", (*GUNICORN, "--preload", *UVICORN_WORKER, ASGI)),
            id="uvicorn-preload",
            marks=pytest.mark.full,
        ),
        pytest.param("http/protobuf", (*UVICORN, ASGI), id="uvicorn"),
    ],
)
def test_sums_over_all_workers_are_the_servers(
    bench: Bench, protocol: str, server: tuple[str, ...]
) -> None:
    workers = serve_and_ask(bench, protocol, *server)

    assert len(workers) == NUM_WORKERS
    assert received(bench.receiver) == known(bench.simulator.ledger.totals)
    ids = instances(bench.receiver)
    assert workers <= set(ids)
    assert all(len(of_one_process) == 1 for of_one_process in ids.values())
    assert len(set.union(*ids.values())) == len(ids)
