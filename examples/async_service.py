"""A small web service on AsyncOpenAI, with spans and metrics over OTLP.

    python examples/async_service.py
    curl -N -d 'What is a bonus token?' http://127.0.0.1:8080/ask

Set `OTEL_EXPORTER_OTLP_ENDPOINT` to send telemetry; without it nothing is sent.
"""

from __future__ import annotations

import os
import sys

from _server import Server, open_server
from aiohttp import web
from openai import AsyncOpenAI

import otel_specdecode

SERVER = web.AppKey("server", Server)
CLIENT = web.AppKey("client", AsyncOpenAI)


async def ask(request: web.Request) -> web.StreamResponse:
    """Stream the model's answer to the text of the body."""
    question = await request.text()
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    # Tags become attributes, so take words of which there are few.
    with otel_specdecode.tag(route="ask"):
        stream = await request.app[CLIENT].chat.completions.create(
            model=request.app[SERVER].model,
            messages=[{"role": "user", "content": question}],
            max_tokens=64,
            stream=True,
        )
    # Leaving the block early closes the stream: the span then says `abandoned`.
    async with stream:
        async for chunk in stream:
            text = chunk.choices[0].delta.content
            if text:
                await response.write(text.encode())
    await response.write_eof()
    return response


def make_app(server: Server) -> web.Application:
    """Put the service together, with one observed client for all requests."""
    app = web.Application()
    app[SERVER] = server
    app[CLIENT] = otel_specdecode.wrap(
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key)
    )
    app.router.add_post("/ask", ask)
    return app


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        otel_specdecode.configure(service_name="async-service")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    with open_server() as server:
        web.run_app(make_app(server), host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
