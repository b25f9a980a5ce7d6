"""The simulated server on a real port: in a thread of its own, or as a process."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator._connection import Connection
from otel_specdecode.simulator.responder import Responder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from otel_specdecode.simulator.ledger import Ledger, Totals
    from otel_specdecode.simulator.profile import Profile

_BACKLOG = 1024
"""Connections that wait to be accepted: a load generator opens many at once."""


class Simulator:
    """A running simulated server.

    Attributes:
        profile: what it simulates.
        base_url: for an OpenAI client, ends in `/v1`.
        root_url: the same without `/v1`, for `/metrics` and `/health`.
    """

    def __init__(
        self, responder: Responder, listener: socket.socket, *, write_each: bool
    ) -> None:
        self._write_each = write_each
        self._responder = responder
        self._listener = listener
        self._loop = _new_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="specdecode-simulator", daemon=True
        )
        host, port = listener.getsockname()[:2]
        self.profile = responder.profile
        self.root_url = f"http://{host}:{port}"
        self.base_url = f"{self.root_url}/v1"

    @property
    def ledger(self) -> Ledger:
        """The truth about everything that was generated."""
        return self._responder.ledger

    @property
    def model(self) -> str:
        """The served model name."""
        return self.profile.model

    def metrics_text(self) -> str:
        """What `/metrics` answers now."""
        return self._responder.metrics_text()

    def reset_counters(self) -> None:
        """Restart `/metrics` at zero, as a restarted server does; the ledger stays."""
        self._responder.reset_counters()

    def add_foreign_traffic(self, totals: Totals, *, engine: int = 0) -> None:
        """Count other clients' traffic on `/metrics`, and not in the ledger."""
        self._responder.add_foreign_traffic(totals, engine=engine)

    def start(self) -> None:
        """Serve, in a thread of its own. Returns when requests are answered."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Drop every connection, free the port and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        connections: set[Connection] = set()
        server = loop.run_until_complete(
            _listen(
                self._responder,
                self._listener,
                loop,
                connections,
                write_each=self._write_each,
            )
        )
        self._ready.set()
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(_shut_down(server, connections))
            loop.close()


@contextmanager
def simulate(
    profile: Profile | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    write_each: bool = False,
) -> Generator[Simulator]:
    """Run a simulated server while the block runs.

    Args:
        profile: what to simulate; a server that does not speculate by default.
        host: address to bind.
        port: 0 asks the operating system for a free one.
        write_each: write each event by itself, also those due at one instant.

    Raises:
        SimulatorError: the port cannot be had.
    """
    simulator = Simulator(Responder(profile), _bind(host, port), write_each=write_each)
    simulator.start()
    try:
        yield simulator
    finally:
        simulator.stop()


def serve(
    profile: Profile,
    *,
    host: str,
    port: int,
    write_each: bool = False,
    on_ready: Callable[[str], None] | None = None,
) -> Responder:
    """Serve in this thread until SIGINT or SIGTERM; then say what was generated.

    Args:
        profile: what to simulate.
        host: address to bind.
        port: 0 asks the operating system for a free one.
        write_each: write each event by itself, also those due at one instant.
        on_ready: called with the base URL once requests are answered.

    Raises:
        SimulatorError: the port cannot be had.
    """
    responder = Responder(profile)
    listener = _bind(host, port)
    bound_host, bound_port = listener.getsockname()[:2]
    loop = _new_loop()
    connections: set[Connection] = set()
    try:
        server = loop.run_until_complete(
            _listen(responder, listener, loop, connections, write_each=write_each)
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, loop.stop)
        if on_ready is not None:
            on_ready(f"http://{bound_host}:{bound_port}/v1")
        loop.run_forever()
        loop.run_until_complete(_shut_down(server, connections))
    finally:
        loop.close()
    return responder


async def _listen(
    responder: Responder,
    listener: socket.socket,
    loop: asyncio.AbstractEventLoop,
    connections: set[Connection],
    *,
    write_each: bool,
) -> asyncio.Server:
    return await loop.create_server(
        lambda: Connection(responder, loop, connections, write_each=write_each),
        sock=listener,
        backlog=_BACKLOG,
    )


async def _shut_down(server: asyncio.Server, connections: set[Connection]) -> None:
    server.close()
    for connection in tuple(connections):
        connection.close()
    await server.wait_closed()
    # `connection_lost` comes one turn after an abort.
    await asyncio.sleep(0)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SimulatorError(f"port: cannot bind {host}:{port}: {error}") from error
    listener.listen(_BACKLOG)
    return listener


def _new_loop() -> asyncio.AbstractEventLoop:
    """A loop on uvloop where it is installed; the simulator works without."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
