"""Raw HTTP with httpx: a stream, and a whole answer."""

from __future__ import annotations

import time

import httpx
from _server import open_server

from otel_specdecode import observe_sse, record_from

with open_server() as server, httpx.Client(base_url=server.base_url) as client:
    client.headers["Authorization"] = f"Bearer {server.api_key}"
    body = {"model": server.model, "prompt": "A draft model is", "max_tokens": 64}

    streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
    sent_at = time.perf_counter()
    with client.stream("POST", "/completions", json=streamed) as response:
        lines = observe_sse(
            response.iter_lines(),
            request=streamed,
            sent_at=sent_at,
            operation="text_completion",
        )
        for _ in lines:
            pass  # the program reads its events here

    sent_at = time.perf_counter()
    payload = client.post("/completions", json=body).json()
    whole = record_from(payload, request=body, duration_s=time.perf_counter() - sent_at)

for record in (lines.record, whole):
    if record is not None:
        kind = "streamed" if record.streaming else "whole"
        print(f"{kind}: {record.num_output_tokens} tokens, {record.acceptance}")
