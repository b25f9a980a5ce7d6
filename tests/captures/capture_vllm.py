"""Records what a real vLLM puts on the wire, into ``tests/captures/vllm-0.32.0``.

Run it again after a change of version: ``python tests/captures/capture_vllm.py``, or
with the names of servers to record those alone. Each server has a folder with one file
a response, its bytes unchanged (chunked transfer coding undone), and one file for each
reading of ``/metrics``. ``manifest.json`` says for each what was sent to which server,
with what flags, and when; for a stream also when which bytes arrived.
"""

from __future__ import annotations

import http.client
import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE.parent / "e2e" / "vllm"))

from vllm_server import METHODS, MODEL, VLLM_VERSION, Server, serve  # noqa: E402

FOLDER = _HERE / f"vllm-{VLLM_VERSION}"
_WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}
_PROMPT = "def read(self, size=-1):"
# The models were trained on chats: after a bare line of source they end at once.
_CHAT_PROMPT = f"<|im_start|>user\n{_PROMPT}<|im_end|>\n<|im_start|>assistant\n"
_LOOKUP_TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Looks a function up.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
}


# The rest of /metrics is the process's own, and large: one whole text is kept as well.
_KEPT_FAMILIES = (
    "vllm:spec_decode",
    "vllm:generation_tokens",
    "vllm:prompt_tokens_total",
    "vllm:request_success",
    "vllm:num_requests",
    "vllm:num_preemptions",
    "vllm:request_queue_time",
    "vllm:request_prefill_time",
    "vllm:request_decode_time",
    "vllm:request_time_per_output_token",
    "vllm:time_to_first_token",
    "vllm:inter_token_latency",
    "vllm:e2e_request_latency",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request; ``abort_after`` is the number of bytes after which we hang up."""

    name: str
    path: str
    body: dict[str, Any] | None = None
    abort_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A server to record: its method, payload level, flags and calls."""

    method: str
    metrics: str = "detailed"
    flags: tuple[str, ...] = ()
    calls: tuple[Call, ...] = field(default=())


def chat(name: str, /, prompt: str = _PROMPT, **options: Any) -> Call:
    """A chat request: greedy and of at most 48 tokens unless ``options`` say else."""
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": 48,
        "temperature": 0,
        **options,
    }
    return Call(name=name, path="/v1/chat/completions", body=body)


def completion(name: str, /, prompt: Any = _CHAT_PROMPT, **options: Any) -> Call:
    """A completion request, with the defaults of ``chat``."""
    body = {
        "model": MODEL,
        "prompt": prompt,
        "max_tokens": 48,
        "temperature": 0,
        **options,
    }
    return Call(name=name, path="/v1/completions", body=body)


def response(name: str, /, **options: Any) -> Call:
    """A request of the Responses API."""
    body = {
        "model": MODEL,
        "input": _PROMPT,
        "max_output_tokens": 48,
        "temperature": 0,
        **options,
    }
    return Call(name=name, path="/v1/responses", body=body)


_EVERY_METHOD = (
    chat("chat-stream", **_WITH_USAGE),
    chat("chat-plain"),
    chat("chat-stream-sampled", temperature=1, seed=7, **_WITH_USAGE),
    completion("completion-stream", **_WITH_USAGE),
    completion("completion-plain"),
    # The only token comes from the prefill: nothing was drafted.
    chat("chat-stream-one-token", max_tokens=1, **_WITH_USAGE),
    chat("chat-plain-one-token", max_tokens=1),
)

_EVERY_SHAPE = (
    chat("chat-stream-without-usage", stream=True),
    chat(
        "chat-stream-usage-false", stream=True, stream_options={"include_usage": False}
    ),
    chat("chat-plain-sampled", temperature=1, seed=7),
    # Neighbouring limits with one and the same R, C and D: the last step is cut.
    *(
        chat(f"chat-stream-max-tokens-{n}", max_tokens=n, **_WITH_USAGE)
        for n in (21, 22, 23, 24)
    ),
    chat("chat-stream-stop-string", stop=["list"], **_WITH_USAGE),
    chat("chat-plain-stop-string", stop=["list"]),
    chat(
        "chat-stream-continuous-usage",
        stream=True,
        stream_options={"include_usage": True, "continuous_usage_stats": True},
    ),
    chat("chat-stream-token-ids", return_token_ids=True, **_WITH_USAGE),
    chat("chat-plain-token-ids", return_token_ids=True),
    chat("chat-stream-logprobs", logprobs=True, max_tokens=8, **_WITH_USAGE),
    chat("chat-stream-interval-4", stream_interval=4, **_WITH_USAGE),
    chat("chat-stream-n-2", n=2, temperature=1, seed=7, **_WITH_USAGE),
    chat("chat-plain-n-2", n=2, temperature=1, seed=7),
    completion("completion-stream-without-usage", stream=True),
    completion(
        "completion-stream-two-prompts", [_CHAT_PROMPT, "class A:"], **_WITH_USAGE
    ),
    completion("completion-plain-two-prompts", [_CHAT_PROMPT, "class A:"]),
    response("response-plain"),
    response("response-stream", stream=True),
    chat("refused-stream-options", stream_options={"include_usage": True}),
    chat("refused-model", model="no-such-model"),
    chat("refused-max-tokens", max_tokens=100_000, **_WITH_USAGE),
    chat("chat-stream-unknown-field", no_such_field=1, max_tokens=8, **_WITH_USAGE),
    Call(name="models", path="/v1/models"),
    Call(
        name="chat-stream-aborted",
        path="/v1/chat/completions",
        body=chat("", max_tokens=1500, ignore_eos=True, **_WITH_USAGE).body,
        abort_after=6000,
    ),
)

_PARSED = (
    *(
        chat(f"tool-{kind}-{choice}", tools=[_LOOKUP_TOOL], tool_choice=choice, **how)
        for choice in ("auto", "required")
        for kind, how in (("plain", {}), ("stream", _WITH_USAGE))
    ),
    *(
        chat(
            f"reasoning-{kind}",
            chat_template_kwargs={"enable_thinking": True},
            max_tokens=80,
            **how,
        )
        for kind, how in (("plain", {}), ("stream", _WITH_USAGE))
    ),
)

_INTERVAL_4 = chat("chat-stream-interval-4", stream_interval=4, **_WITH_USAGE)

SERVERS = {
    "baseline": Recorded(method="baseline", calls=(*_EVERY_METHOD, _INTERVAL_4)),
    "draft_model": Recorded(
        method="draft_model", calls=(*_EVERY_METHOD, *_EVERY_SHAPE)
    ),
    "ngram-summary": Recorded(method="ngram", metrics="summary", calls=_EVERY_METHOD),
    "suffix": Recorded(method="suffix", calls=_EVERY_METHOD),
    "eagle3": Recorded(method="eagle3", calls=_EVERY_METHOD),
    "mtp": Recorded(method="mtp", calls=_EVERY_METHOD),
    "parsers": Recorded(
        method="draft_model",
        flags=(
            "--enable-auto-tool-choice",
            *("--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"),
        ),
        calls=_PARSED,
    ),
    "forced-usage": Recorded(
        method="ngram",
        flags=("--enable-force-include-usage", "--stream-interval", "4"),
        calls=(
            chat("chat-stream-without-usage", stream=True),
            completion("completion-stream-without-usage", stream=True),
        ),
    ),
}


def record(folder: Path, server: Server, calls: tuple[Call, ...]) -> dict[str, Any]:
    """Make every call, write the responses, and return the manifest's entry."""
    folder.mkdir()
    entry = {
        "version": VLLM_VERSION,
        "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": server.method.name,
        "num_spec_tokens": server.method.num_spec_tokens,
        "flags": list(server.flags),
        "metrics_before": _write_metrics(folder / "metrics-before.txt", server),
        "responses": [_make(server, call, folder) for call in calls],
    }
    entry["metrics_after"] = _write_metrics(folder / "metrics-after.txt", server)
    return entry


def _make(server: Server, call: Call, folder: Path) -> dict[str, Any]:
    if call.abort_after is not None:
        _write_metrics(folder / f"{call.name}-metrics-before.txt", server)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    started_at = time.monotonic()
    connection.request(
        "GET" if call.body is None else "POST",
        call.path,
        None if call.body is None else json.dumps(call.body),
        {"Content-Type": "application/json"},
    )
    answer = connection.getresponse()
    reads: list[tuple[float, int]] = []
    body = b""
    while block := answer.read1(65536):
        body += block
        reads.append((round(time.monotonic() - started_at, 6), len(block)))
        if call.abort_after is not None and len(body) >= call.abort_after:
            break
    connection.close()
    is_stream = answer.getheader("content-type", "").startswith("text/event-stream")
    file = folder / f"{call.name}.{'sse' if is_stream else 'json'}"
    file.write_bytes(body)
    entry: dict[str, Any] = {
        "name": call.name,
        "file": f"{folder.name}/{file.name}",
        "path": call.path,
        "request": call.body,
        "status": answer.status,
        "headers": dict(answer.getheaders()),
    }
    if is_stream:
        entry["reads"] = reads
    if call.abort_after is not None:
        entry["aborted_after_bytes"] = len(body)
        _wait_until_idle(server)
        _write_metrics(folder / f"{call.name}-metrics-after.txt", server)
    return entry


def _wait_until_idle(server: Server) -> None:
    for _ in range(600):
        running = [
            line
            for line in server.metrics_text().splitlines()
            if line.startswith("vllm:num_requests_running")
        ]
        if all(line.endswith(" 0.0") for line in running):
            return
        time.sleep(0.1)


def _write_metrics(file: Path, server: Server) -> str:
    text = server.metrics_text()
    whole = FOLDER / "metrics-whole.txt"
    if server.method.num_spec_tokens and not whole.exists():
        whole.write_text(text)
    file.write_text("".join(filter(_is_kept, text.splitlines(keepends=True))))
    return f"{file.parent.name}/{file.name}"


def _is_kept(line: str) -> bool:
    """Say whether a line counts requests or tokens, or sums a request's times."""
    family = line.removeprefix("# HELP ").removeprefix("# TYPE ")
    return family.startswith(_KEPT_FAMILIES) and "_bucket{" not in line


def main() -> None:
    """Record the servers named on the command line, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    manifest_file = FOLDER / "manifest.json"
    manifest = json.loads(manifest_file.read_text()) if manifest_file.exists() else {}
    for name in sys.argv[1:] or SERVERS:
        recorded = SERVERS[name]
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "vllm.log"
            method = METHODS[recorded.method]
            with serve(
                method, log, metrics=recorded.metrics, extra_flags=recorded.flags
            ) as server:
                print(f"{name}: started in {server.started_in_s:.0f} s", flush=True)
                entry = record(Path(scratch) / name, server, recorded.calls)
            # Only a whole recording takes the place of the one before.
            shutil.rmtree(FOLDER / name, ignore_errors=True)
            shutil.move(Path(scratch) / name, FOLDER / name)
        manifest[name] = entry
        manifest_file.write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
