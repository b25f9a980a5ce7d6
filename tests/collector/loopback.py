"""An HTTP server on a loopback port for the length of a `with` block."""

from __future__ import annotations

import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Quiet(BaseHTTPRequestHandler):
    """Says nothing of each request: what arrived is asserted, not read."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        """Hands a request for a page on."""
        self.get()

    def do_POST(self) -> None:
        """Hands what was sent on."""
        self.post(self.rfile.read(int(self.headers["Content-Length"])))

    def get(self) -> None:
        """Answers a request for `self.path`."""
        self.reply(status=404)

    def post(self, body: bytes) -> None:
        """Takes the body that was sent to `self.path`."""
        self.reply(status=404)

    def reply(
        self, body: bytes = b"", *, status: int = 200, kind: str = "text/plain"
    ) -> None:
        """Answers, with the length that a kept connection needs."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def redirect(self, location: str, *, status: int) -> None:
        """Sends whoever asks to another address."""
        self.send_response(status)
        self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def serving(
    handler: type[Quiet], port: int = 0, *, certificate: Path | None = None
) -> Iterator[str]:
    """Serves, and yields the URL, without a path.

    Args:
        handler: answers each request.
        port: where; 0 takes a free one.
        certificate: with its key, for TLS, though the URL says `http:` all the same;
            `None` for plain HTTP.
    """
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        # A client that thinks the certificate wrong is no error to print.
        server.handle_error = lambda request, client_address: None
    # Looks often whether it shall end, so that no test waits for it.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
