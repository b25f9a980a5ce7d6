"""Raw HTTP with aiohttp: `async for` over the same observer."""

from __future__ import annotations

import asyncio
import time

import aiohttp
from _server import Server, open_server

from otel_specdecode import RequestRecord, observe_sse


async def ask(server: Server) -> RequestRecord | None:
    """Stream one answer and return what was measured."""
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": "What is a draft model?"}],
        "max_tokens": 64,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    headers = {"Authorization": f"Bearer {server.api_key}"}
    url = f"{server.base_url}/chat/completions"
    async with aiohttp.ClientSession(headers=headers) as session:
        sent_at = time.perf_counter()
        async with session.post(url, json=body) as response:
            response.raise_for_status()
            lines = observe_sse(response.content, request=body, sent_at=sent_at)
            async for _ in lines:
                pass  # the program reads its events here
    return lines.record


with open_server() as running:
    record = asyncio.run(ask(running))
if record is not None:
    print(f"{record.num_output_tokens} tokens in {record.num_content_chunks} chunks")
    print(f"acceptance: {record.acceptance}")
