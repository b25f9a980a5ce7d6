"""Runs the doctor in this process, in an environment that says nothing by itself."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import loopback
from click.testing import CliRunner

from otel_specdecode.cli.doctor import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

KEY = "canary-key"
_UNSET = dict.fromkeys(
    name
    for name in os.environ
    if name.startswith(("OTEL_", "OPENAI_")) or name.lower().endswith("_proxy")
)
# Whether somebody listens at the default port is no business of a test.
QUIET = {**_UNSET, "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}


def run(*arguments: str, **environment: str) -> Result:
    """Run with variables that win over those of a quiet environment."""
    variables = {**QUIET, "OPENAI_API_KEY": KEY, **environment}
    result = CliRunner(env=variables).invoke(command, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert KEY not in result.output
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What one run with `--json` said."""

    exit_code: int
    server: dict[str, Any]
    environment: dict[str, Any]
    findings: dict[str, dict[str, Any]]
    whole: dict[str, Any]

    @property
    def codes(self) -> set[str]:
        """Codes of the findings that are more than notes."""
        return {c for c, f in self.findings.items() if f["level"] != "note"}


def examine(*arguments: str, **environment: str) -> Examined:
    """Run with `--json`, and read it."""
    result = run("--json", *arguments, **environment)
    found = json.loads(result.stdout)
    assert found["exit_code"] == result.exit_code
    return Examined(
        exit_code=result.exit_code,
        server=found["server"] or {},
        environment=found["environment"],
        findings={finding["code"]: finding for finding in found["findings"]},
        whole=found,
    )


Answer = tuple[int, str, bytes]


@contextmanager
def serving(
    answer: Callable[[str, dict[str, Any]], Answer | None],
    *,
    certificate: Path | None = None,
) -> Iterator[str]:
    """A server of one's own making; yields a base URL.

    Args:
        answer: takes the path and the JSON that was sent, and returns status,
            content type and body; `None` closes the connection without a word.
        certificate: with its key, for TLS; `None` for plain HTTP.
    """

    class Handler(loopback.Quiet):
        def get(self) -> None:
            self._say(answer(self.path, {}))

        def post(self, body: bytes) -> None:
            self._say(answer(self.path, json.loads(body)))

        def _say(self, answered: Answer | None) -> None:
            if answered is None:
                self.close_connection = True
                return
            status, kind, payload = answered
            self.reply(payload, status=status, kind=kind)

    with loopback.serving(Handler, certificate=certificate) as url:
        yield f"{url}/v1"


def as_json(status: int, payload: object) -> Answer:
    return status, "application/json", json.dumps(payload).encode()


def model_list(*names: str, owner: str = "vllm") -> Answer:
    cards = [{"id": name, "object": "model", "owned_by": owner} for name in names]
    return as_json(200, {"object": "list", "data": cards})


def whole_answer(**more: Any) -> Answer:
    message = {"role": "assistant", "content": "hi"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    return as_json(200, {"id": "1", "choices": [choice], "usage": usage, **more})


def events(*payloads: Any) -> Answer:
    lines = [f"data: {json.dumps(payload)}\n\n" for payload in payloads]
    return 200, "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode()


CHUNK = {"id": "1", "choices": [{"index": 0, "delta": {"content": "hi"}}]}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def plain_api(
    path: str,
    body: dict[str, Any],
    *,
    models: Answer | None = None,
    pages: dict[str, Answer] | None = None,
    on_post: Callable[[dict[str, Any]], Answer | None] | None = None,
) -> Answer | None:
    """An API that answers everything, and says nothing of speculation."""
    if path == "/v1/models":
        return models or model_list("m")
    if path in (pages or {}):
        return (pages or {})[path]
    if path != "/v1/chat/completions":
        return 404, "text/plain", b"Not Found"
    if on_post is not None:
        return on_post(body)
    if not body.get("stream"):
        return whole_answer()
    asked = [{"id": "1", "choices": [], "usage": USAGE}]
    return events(CHUNK, *(asked if body.get("stream_options") else []))


def page(text: str) -> Answer:
    return 200, "text/plain", text.encode()
