"""How many chunks a second the simulator streams, beside other mock servers.

All servers run in turn, in the same minute, driven by the same raw client over
loopback, so that only the ratios mean anything. The peers live in an environment of
their own: `python -m venv DIR && DIR/bin/pip install guidellm==0.8.1 fastapi
"uvicorn[standard]" orjson`, then `--peers DIR/bin/python`.

guidellm's mock server is on PyPI. aiperf's is not (the wheel leaves it out, the sdists
are stubs; it is in the repository's `tests/`), so what stands for it is the frame that
it is built on, doing less than it does: FastAPI and uvicorn, one orjson chunk a token.
With a checkout, run the real one and name it: `--server aiperf=http://host:port`.

Exit status 1 if any ratio is under the target.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET_RATIO = 1.8
_OURS = "simulator"
_OURS_EACH = "simulator, a write a chunk"
"""Without its coalescing, to see what that is worth; no target is set for it."""
_FASTAPI = """
import sys, time, orjson, uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
app = FastAPI()
class Request(BaseModel):
    model: str
    messages: list[dict]
    max_tokens: int = 128
    stream: bool = False
@app.get("/health")
async def health():
    return {}
async def chunks(request):
    for at in range(request.max_tokens):
        choice = {"index": 0, "delta": {"content": "word "}}
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk",
                 "created": int(time.time()), "model": request.model,
                 "choices": [choice]}
        yield b"data: " + orjson.dumps(chunk) + b"\\n\\n"
    yield b"data: [DONE]\\n\\n"
@app.post("/v1/chat/completions")
async def chat(request: Request):
    return StreamingResponse(chunks(request), media_type="text/event-stream")
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server to measure: by its command, or one that runs already."""

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    model: str = "spec-demo"


class Reader(asyncio.Protocol):
    """One connection that sends the same request again and again.

    It counts events and looks at nothing else: the client must not be what is
    measured.
    """

    def __init__(self, request: bytes, rounds: int, done: asyncio.Future[int]) -> None:
        self._request = request
        self._left = rounds
        self._done = done
        self._num_events = 0
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = transport
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Count, and send the next request when an answer has ended."""
        # Both marks may be cut by a read; overlap by less than a mark.
        window = self._tail + data
        self._num_events += window.count(b"data: ")
        self._tail = window[-5:]
        if not window.endswith(b"0\r\n\r\n"):
            return
        self._tail = b""
        self._left -= 1
        if self._left:
            self._transport.write(self._request)  # type: ignore[attr-defined]
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hand the count over."""
        if not self._done.done():
            self._done.set_result(self._num_events)


async def drive(url: str, body: bytes, *, concurrency: int, rounds: int) -> float:
    """Return events a second over `concurrency` connections."""
    parts = urlsplit(url)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {parts.netloc}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    loop = asyncio.get_running_loop()
    finished = [loop.create_future() for _ in range(concurrency)]
    started_at = time.perf_counter()
    for done in finished:
        await loop.create_connection(
            lambda done=done: Reader(head.encode() + body, rounds, done),
            parts.hostname,
            parts.port,
        )
    counts = await asyncio.gather(*finished)
    return sum(counts) / (time.perf_counter() - started_at)


def measure(server: Server, url: str, options: argparse.Namespace) -> list[float]:
    """Rates of one server, one for each concurrency."""
    body = json.dumps(
        {
            "model": server.model,
            "messages": [{"role": "user", "content": "Tell me about rivers."}],
            "max_tokens": options.tokens,
            "stream": True,
        }
    ).encode()
    rates: list[float] = []
    for concurrency in options.concurrency:
        rounds = max(1, options.requests // concurrency)
        run = drive(url, body, concurrency=concurrency, rounds=rounds)
        if sys.platform == "win32":
            rates.append(asyncio.run(run))
        else:
            import uvloop

            rates.append(uvloop.run(run))
    return rates


@contextmanager
def running(server: Server) -> Iterator[str]:
    """Start a server on a free port, wait for it, and stop it."""
    if server.url is not None:
        yield server.url
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [part.format(port=port) for part in server.command]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process)
        yield url
    finally:
        # The whole group: guidellm's server has a process of its own for its work.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{process.args}: ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{url}: did not answer within five minutes")


def ours(python: str, *extra: str, name: str) -> Server:
    """The simulator without speculation, so that a chunk is a token everywhere."""
    run = "from otel_specdecode.cli.simulate import command; command()"
    options = ("--profile", "plain", "--time-scale", "0", "--port", "{port}")
    return Server(name=name, command=(python, "-c", run, *options, *extra))


def all_servers(options: argparse.Namespace) -> list[Server]:
    """Ours first, then the peers that can be had."""
    servers = [
        ours(sys.executable, name=_OURS),
        ours(sys.executable, "--write-each", name=_OURS_EACH),
    ]
    if options.peers:
        guidellm = str(Path(options.peers).parent / "guidellm")
        latency = ("--ttft-ms", "0", "--itl-ms", "0")
        tokens = ("--output-tokens", str(options.tokens))
        where = ("--port", "{port}", "--model", "spec-demo")
        command = (guidellm, "mock-server", *where, *latency, *tokens)
        servers.append(Server(name="guidellm mock-server", command=command))
        command = (options.peers, "-c", _FASTAPI.replace("{", "{{").replace("}", "}}"))
        servers.append(Server(name="FastAPI frame", command=(*command, "{port}")))
    for each in options.server:
        name, _, url = each.partition("=")
        servers.append(Server(name=name, url=url))
    return servers


def report(
    results: dict[str, list[list[float]]], concurrency: list[int]
) -> dict[str, float]:
    """Print the medians; return the lowest ratio to each peer."""
    print("chunks/s, median of rounds, at concurrency", *concurrency)
    medians = {
        name: [statistics.median(column) for column in zip(*rounds, strict=True)]
        for name, rounds in results.items()
    }
    for name, rates in medians.items():
        print(f"  {name:<28}", *(f"{rate:>9,.0f}" for rate in rates))
    lowest: dict[str, float] = {}
    for own in (_OURS, _OURS_EACH):
        for peer in medians.keys() - {_OURS, _OURS_EACH}:
            pairs = zip(medians[own], medians[peer], strict=True)
            ratios = [mine / theirs for mine, theirs in pairs]
            print(f"  {own} / {peer}:", *(f"{ratio:.2f}" for ratio in ratios))
            if own == _OURS:
                lowest[peer] = min(ratios)
    return lowest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help="python of the peers' environment")
    parser.add_argument("--server", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--requests", type=int, default=256)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    servers = all_servers(options)
    results: dict[str, list[list[float]]] = {server.name: [] for server in servers}
    for turn in range(options.rounds):
        # Every other round backwards: drift of the machine hits all alike.
        for server in servers if turn % 2 == 0 else reversed(servers):
            with running(server) as url:
                measure(server, url, options)  # warm
                results[server.name].append(measure(server, url, options))
    lowest = report(results, options.concurrency)
    under = {peer: ratio for peer, ratio in lowest.items() if ratio < TARGET_RATIO}
    for peer, ratio in under.items():
        print(f"under {TARGET_RATIO}: {ratio:.2f} times {peer}")
    return 1 if under else 0


if __name__ == "__main__":
    raise SystemExit(main())
