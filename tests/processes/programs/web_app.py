"""A WSGI and an ASGI application that make requests while imported and when asked."""

from __future__ import annotations

import asyncio
import os

import traffic

import otel_specdecode

telemetry = otel_specdecode.configure()
# With `--preload` this is in the parent, before it forks.
traffic.talk_once()


def application(environ, start_response):
    traffic.talk_once()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


async def asgi_application(scope, receive, send):
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    await traffic.talk_async()
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})


async def _lifespan(receive, send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    # uvicorn ends itself by the signal that it got, and no exit handler runs.
    await asyncio.to_thread(telemetry.flush)
    await send({"type": "lifespan.shutdown.complete"})
