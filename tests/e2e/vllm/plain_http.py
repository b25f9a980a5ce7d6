"""Raw requests to vLLM, read with the standard library and nothing of ours."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from server_counters import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_server import Server

_PATHS = {"messages": "/v1/chat/completions", "prompt": "/v1/completions"}


def payloads(
    server: Server, bodies: Iterable[dict[str, Any]], concurrency: int
) -> list[dict[str, Any]]:
    """Send every body and return the objects that carry ``usage`` and ``metrics``."""
    with ThreadPoolExecutor(concurrency) as pool:
        return list(pool.map(lambda body: _payload(server, body), bodies))


def sums(found: list[dict[str, Any]]) -> Counts:
    """Sum what each response said of itself; ``None`` where none said anything."""
    stats = [
        payload["metrics"]["speculative_decoding"]
        for payload in found
        if (payload.get("metrics") or {}).get("speculative_decoding")
    ]
    output_tokens = sum(payload["usage"]["completion_tokens"] for payload in found)
    if not stats:
        return Counts(output_tokens=output_tokens)
    histograms = [one["acceptance_histogram"] for one in stats]
    steps = [sum(column) for column in zip_longest(*histograms, fillvalue=0)]
    return Counts(
        output_tokens=output_tokens,
        spec_steps=sum(one["num_spec_steps"] for one in stats),
        draft_tokens=sum(one["num_draft_tokens"] for one in stats),
        accepted_tokens=sum(one["num_accepted_draft_tokens"] for one in stats),
        by_position=tuple(sum(steps[i:]) for i in range(1, len(steps))),
    )


def _payload(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    path = next(path for key, path in _PATHS.items() if key in body)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    try:
        connection.request(
            "POST", path, json.dumps(body), {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    assert response.status == http.client.OK, text
    if not body.get("stream"):
        return json.loads(text)
    events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert events.pop() == "[DONE]"
    last = json.loads(events[-1])
    assert last["choices"] == []
    return last
