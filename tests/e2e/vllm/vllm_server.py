"""Starts a real vLLM with one speculative method, and stops it whatever happens.

Two cores are shared with the client, so the server computes on one thread: vLLM's
threads wait for one another by spinning, and two of them beside any other work are
thirty times slower than one.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vllm_env
from collector_programs import free_port
from served_model import MODEL

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

# A start takes 25 to 55 s, and minutes when both cores are busy. What tells that it
# failed is the end of the process; the limit is for one that hangs.
_START_LIMIT_S = 900.0
_STOP_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How to start vLLM with one way of speculating, or with none.

    ``weights`` names a folder of ``scripts/vllm_models.py``; ``num_spec_tokens`` is k,
    0 without speculation; ``speculative`` is ``--speculative-config`` less k.
    """

    name: str
    num_spec_tokens: int
    weights: str = "target"
    speculative: dict[str, Any] | None = None

    def flags(self, metrics: str) -> list[str]:
        """Return the flags that turn speculation on and report it per request."""
        if self.speculative is None:
            # The second flag is refused without the first.
            return []
        config: dict[str, Any] = {
            **self.speculative,
            "num_speculative_tokens": self.num_spec_tokens,
        }
        return [
            *("--speculative-config", json.dumps(config)),
            *("--per-request-spec-decode-metrics", metrics),
        ]


METHODS = {
    method.name: method
    for method in (
        Method(name="baseline", num_spec_tokens=0),
        Method(
            name="ngram",
            num_spec_tokens=4,
            speculative={
                "method": "ngram",
                "prompt_lookup_min": 2,
                "prompt_lookup_max": 4,
            },
        ),
        Method(
            name="draft_model",
            num_spec_tokens=3,
            speculative={"method": "draft_model", "model": "draft"},
        ),
        Method(
            name="suffix",
            num_spec_tokens=16,
            speculative={
                "method": "suffix",
                "suffix_decoding_max_cached_requests": 0,
            },
        ),
        Method(
            name="eagle3",
            num_spec_tokens=3,
            speculative={"method": "eagle3", "model": "eagle3"},
        ),
        Method(
            name="mtp",
            num_spec_tokens=1,
            weights="mtp",
            speculative={"method": "mtp"},
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A vLLM that answers on loopback."""

    method: Method
    port: int
    process_group: int
    log: Path
    flags: tuple[str, ...]
    started_in_s: float

    @property
    def url(self) -> str:
        """The root, without the ``/v1`` of the OpenAI API."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def speculates(self) -> bool:
        """Whether it drafts tokens at all."""
        return self.method.speculative is not None

    def metrics_text(self) -> str:
        """Return what ``/metrics`` says now."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()


@contextmanager
def serve(
    method: Method,
    log: Path,
    *,
    metrics: str = "detailed",
    extra_flags: Sequence[str] = (),
) -> Generator[Server]:
    """Run a server of ``method`` for the length of a ``with`` block.

    Args:
        method: What to speculate with.
        log: Where the server's own output goes.
        metrics: ``summary`` or ``detailed``: the payload of each response.
        extra_flags: Further flags of vLLM.

    Raises:
        SystemExit: vLLM or its models could not be installed.
        RuntimeError: The process ended before it was ready, or hung; the message
            carries the end of its log.
    """
    interpreter, models = vllm_env.ensure_environment(), vllm_env.ensure_models()
    flags = (
        *("--dtype", "bfloat16", "--max-model-len", "2048", "--max-num-seqs", "8"),
        *("--no-enable-prefix-caching", "--generation-config", "vllm"),
        *("--seed", "42", "--enforce-eager", "--enable-per-request-metrics"),
        # One process less to start, and none that waits for another by spinning.
        "--distributed-executor-backend",
        "vllm.v1.executor.uniproc_executor.UniProcExecutor",
        *method.flags(metrics),
        *extra_flags,
    )
    port = free_port()
    command = [
        # A killed test run must not leave a server behind.
        *("setpriv", "--pdeathsig", "TERM"),
        *(str(interpreter), "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", method.weights, "--served-model-name", MODEL),
        *("--host", "127.0.0.1", "--port", str(port)),
        *flags,
    ]
    started_at = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=models,
            env=_environment(),
            start_new_session=True,
        )
    try:
        _wait_until_healthy(process, port, log)
        yield Server(
            method=method,
            port=port,
            process_group=process.pid,
            log=log,
            flags=flags,
            started_in_s=time.monotonic() - started_at,
        )
    finally:
        _stop(process)


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    kept.pop("PYTHONPATH", None)
    # Without byte code every start compiles thousands of modules, twice.
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {
        **kept,
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",  # the n-gram lookup
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        # Spans leave the server soon after their request, not after five seconds.
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "TRANSFORMERS_OFFLINE": "1",
    }


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    gives_up_at = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < gives_up_at:
        if process.poll() is not None:
            raise RuntimeError(
                f"vLLM ended with status {process.returncode}:\n{_tail(log)}"
            )
        if _is_healthy(port):
            return
        time.sleep(0.25)
    raise RuntimeError(f"vLLM not ready after {_START_LIMIT_S:.0f} s:\n{_tail(log)}")


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _tail(log: Path, num_lines: int = 40) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-num_lines:])


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole group: the engine is a child of the process that we started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _signal_group(process, number):
            return
        try:
            process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            continue
    # Those that were killed are gone once their new parent has taken note.
    gives_up_at = time.monotonic() + _STOP_LIMIT_S
    while _signal_group(process, 0) and time.monotonic() < gives_up_at:
        time.sleep(0.05)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> bool:
    """Send a signal; return False when nobody is left to receive it."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    return True
