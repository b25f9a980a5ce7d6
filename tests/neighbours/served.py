"""The simulator behind a server that keeps every header of a request, also twice.

Run inside a neighbour's environment.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from otel_specdecode.simulator import ConnectionDropped, Responder, named_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.simulator import Response

PROFILE = replace(named_profile("mtp"), time_scale=0)


class Served:
    """A server on a loopback port.

    Attributes:
        base_url: where.
        traceparents: of each request, every such header that it came with.
    """

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.traceparents: list[list[str]] = []

    def take(self) -> list[list[str]]:
        """Return what came since the last call."""
        taken, self.traceparents = self.traceparents, []
        return taken


@contextmanager
def served() -> Iterator[Served]:
    """Serve until the block ends."""
    responder = Responder(PROFILE)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Served(f"http://127.0.0.1:{server.server_port}/v1")
    server.responder, server.served = responder, served  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Plays the simulator's answers without any pause."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        found = self.headers.get_all("traceparent") or []
        self.server.served.traceparents.append(found)  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            response = self.server.responder.respond(  # type: ignore[attr-defined]
                "POST", self.path, dict(self.headers), body
            )
            self._play(response)
        except (ConnectionDropped, BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def handle(self) -> None:
        with suppress(ConnectionResetError):
            super().handle()

    def _play(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        if not response.streamed:
            whole = b"".join(part for _, part in response.events if part)
            self.send_header("content-length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for _, part in response.events:
            if part:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""
