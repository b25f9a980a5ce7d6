"""The litellm proxy between an openai client and the server."""

from __future__ import annotations

import atexit
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
from application import Program, Setup, to_end
from asked import CALL, MAX_TOKENS, PARAMETERS, QUESTION
from reading import delta_text, streamed, streamed_async

if TYPE_CHECKING:
    from collections.abc import Iterator

TAKES_CLIENT = True

_START_LIMIT_S = 600.0  # 20 s on an idle machine; what hangs is ended by it
# It takes no request without a key otherwise; this one listens on loopback.
_NO_KEY = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"
_CONFIG = """\
model_list:
  - model_name: by-client
    litellm_params: {{model: openai/{model}, api_base: {base_url}, api_key: unused}}
  - model_name: by-itself
    litellm_params: {{model: hosted_vllm/{model}, api_base: {base_url}}}
"""


@cache
def proxy_before(base_url: str, model: str) -> str:
    """Start a proxy before a server, unless one runs, and return its base URL."""
    return start_proxy(_CONFIG.format(base_url=base_url, model=model))


def start_proxy(configuration: str, *launcher: str) -> str:
    """Start a proxy that ends with this process, and return its base URL.

    Args:
        configuration: the text of its file.
        launcher: what stands before its own name on the command line.
    """
    folder = Path(tempfile.mkdtemp())
    (folder / "config.yaml").write_text(configuration)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    binaries = Path(sys.executable).parent
    with (folder / "log").open("wb") as log_file:
        process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "TERM"),
                *(*launcher, str(binaries / "litellm")),
                *("--config", str(folder / "config.yaml")),
                *("--host", "127.0.0.1", "--port", str(port)),
            ],
            stdout=log_file,
            stderr=subprocess.STDOUT,
            env={**os.environ, _NO_KEY: "true"},
        )
    atexit.register(process.kill)
    gives_up_at = time.monotonic() + _START_LIMIT_S
    while not _is_up(port):
        log = (folder / "log").read_text()
        assert process.poll() is None, log
        assert time.monotonic() < gives_up_at, log
        time.sleep(0.2)
    return f"http://127.0.0.1:{port}/v1"


def _is_up(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health/liveliness")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _request(route: str, **options: Any) -> dict[str, Any]:
    return {
        "model": route,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        **options,
    }


def _ask(route: str, **options: Any) -> Any:
    def run(setup: Setup) -> Any:
        url = proxy_before(setup.base_url, setup.model)
        client = setup.client or openai.OpenAI(base_url=url, api_key="unused")
        create = client.with_options(base_url=url).chat.completions.create
        answer = create(**_request(route, **options))
        return streamed(answer, delta_text) if options.get("stream") else answer

    return run


def _ask_async(route: str, **options: Any) -> Any:
    async def run(setup: Setup) -> Any:
        url = proxy_before(setup.base_url, setup.model)
        client = setup.async_client or openai.AsyncOpenAI(
            base_url=url, api_key="unused"
        )
        create = client.with_options(base_url=url).chat.completions.create
        answer = await create(**_request(route, **options))
        streams = options.get("stream")
        return await streamed_async(answer, delta_text) if streams else answer

    return to_end(run)


def _left(setup: Setup) -> Any:
    url = proxy_before(setup.base_url, setup.model)
    client = setup.client or openai.OpenAI(base_url=url, api_key="unused")
    create = client.with_options(base_url=url).chat.completions.create
    with create(**_request("by-client", stream=True)) as stream:
        return next(stream)


_STREAM: dict[str, Any] = {"stream": True}
_SCHEMA = {"name": "answer", "schema": PARAMETERS}
_STRUCTURED: dict[str, Any] = {
    "response_format": {"type": "json_schema", "json_schema": _SCHEMA}
}


def _programs(route: str) -> Iterator[Program]:
    # What a stream says of acceptance ends at the proxy: docs/frameworks.md.
    lost = {"acceptance": False}
    for name, run, options in (
        ("plain", _ask(route), {}),
        ("plain, async", _ask_async(route), {}),
        ("stream", _ask(route, **_STREAM), lost),
        ("stream, async", _ask_async(route, **_STREAM), lost),
        ("tool call", _ask(route, **CALL), {}),
        ("tool call, stream", _ask(route, **CALL, **_STREAM), lost),
        ("structured output", _ask(route, **_STRUCTURED), {}),
    ):
        yield Program(name=f"{name}, {route}", run=run, **options)


PROGRAMS = (
    *_programs("by-client"),
    *_programs("by-itself"),
    Program(name="stream left early", run=_left, left="abandoned"),
)
