"""Raw HTTP with requests: the lines pass through, the record is there at the end."""

from __future__ import annotations

import time

import requests
from _server import open_server

from otel_specdecode import observe_sse

with open_server() as server:
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": "What is a draft model?"}],
        "max_tokens": 64,
        "stream": True,
        # Nobody can add this once the request is out, so send it yourself.
        "stream_options": {"include_usage": True},
    }
    sent_at = time.perf_counter()
    with requests.post(
        f"{server.base_url}/chat/completions",
        json=body,
        headers={"Authorization": f"Bearer {server.api_key}"},
        stream=True,
        timeout=60,
    ) as response:
        response.raise_for_status()
        # requests collects lines in blocks of 512 bytes unless told not to.
        lines = observe_sse(
            response.iter_lines(chunk_size=1), request=body, sent_at=sent_at
        )
        for _ in lines:
            pass  # the program reads its events here

record = lines.record
if record is not None:
    print(f"{record.num_output_tokens} tokens in {record.num_content_chunks} chunks")
    print(f"acceptance: {record.acceptance}")
