"""Key by key, the simulator's wire is that of a real vLLM asked the same.

For every response in `tests/captures/vllm-0.32.0`, the same body is sent to the
simulator, with the profile that the real server's flags ask for. What is compared is
everything but the values: each key, in its order, and the type of what it holds, for
each kind of chunk in a stream. The comparison fails on a difference either way.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from simulated import CHAT, chat

from otel_specdecode.simulator import (
    PayloadLevel,
    Profile,
    Responder,
    Speculation,
    UsagePlacement,
)

_FOLDER = Path(__file__).parents[1] / "captures" / "vllm-0.32.0"
_MANIFEST: dict[str, Any] = json.loads((_FOLDER / "manifest.json").read_text())
_RESPONSES = [
    pytest.param(server, response, id=f"{name}-{response['name']}")
    for name, server in _MANIFEST.items()
    for response in server["responses"]
]


def _profile(server: dict[str, Any]) -> Profile:
    """The simulated server that has the flags of a real one."""
    flags: list[str] = server["flags"]

    def value_of(flag: str, default: str) -> str:
        return flags[flags.index(flag) + 1] if flag in flags else default

    k = server["num_spec_tokens"]
    return Profile(
        speculation=Speculation(
            method=server["method"],
            acceptance_by_position=tuple(0.7**at for at in range(1, k + 1)),
        )
        if k
        else None,
        payload=PayloadLevel(value_of("--per-request-spec-decode-metrics", "none")),
        timing_fields="--enable-per-request-metrics" in flags,
        usage=UsagePlacement.FORCED
        if "--enable-force-include-usage" in flags
        else UsagePlacement.ON_REQUEST,
        stream_interval=int(value_of("--stream-interval", "1")),
        max_model_len=int(value_of("--max-model-len", "2048")),
        reasoning_parser="--reasoning-parser" in flags,
    )


def _as_told(profile: Profile, real: bytes, *, streamed: bool) -> Profile:
    """The profile whose model ends, thinks and calls tools where the real one did."""
    usage = _last_usage(real, streamed=streamed)
    details = usage.get("completion_tokens_details") or {}
    return replace(
        profile,
        end_after_tokens=_ends_where(real, streamed=streamed),
        num_reasoning_tokens=details.get("reasoning_tokens", 0),
        tool_calls=b'"tool_calls"' in real,
    )


def _chunks(raw: bytes, *, streamed: bool) -> list[dict[str, Any]]:
    if not streamed:
        return [json.loads(raw)]
    lines = [line[6:] for line in raw.decode().splitlines() if line[:6] == "data: "]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def _last_usage(raw: bytes, *, streamed: bool) -> dict[str, Any]:
    return _chunks(raw, streamed=streamed)[-1].get("usage") or {}


def _shape(value: Any) -> Any:
    """A value with every leaf replaced by the name of its type."""
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    if isinstance(value, list):
        shapes = {json.dumps(_shape(each)) for each in value}
        return [json.loads(shape) for shape in sorted(shapes)]
    return type(value).__name__


def _kind(chunk: dict[str, Any]) -> str:
    if "type" in chunk:
        return chunk["type"]
    if not chunk["choices"]:
        return "usage"
    choice = chunk["choices"][0]
    if choice.get("delta", {}).get("role"):
        return "role"
    return "finish" if choice["finish_reason"] else "middle"


def _shapes(raw: bytes, *, streamed: bool) -> dict[str, list[str]]:
    """The shapes that occur, by kind of chunk, in an order that can be compared."""
    if not streamed:
        return {"whole": [json.dumps(_shape(json.loads(raw)))]}
    found: dict[str, set[str]] = {}
    for line in raw.decode().splitlines():
        if line == "data: [DONE]":
            found.setdefault("done", set()).add(line)
        elif line.startswith("data: "):
            chunk = json.loads(line.removeprefix("data: "))
            found.setdefault(_kind(chunk), set()).add(json.dumps(_shape(chunk)))
    return {kind: sorted(shapes) for kind, shapes in found.items()}


def _ask(profile: Profile, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
    method = "GET" if body is None else "POST"
    raw = b"" if body is None else json.dumps(body).encode()
    response = Responder(profile).respond(method, path, {}, raw)
    return response.status, b"".join(data for _, data in response.events)


def _ends_where(real: bytes, *, streamed: bool) -> int | None:
    """After how many tokens the real model said its end token; `None` if it did not."""
    chunks = _chunks(real, streamed=streamed)
    usage = _last_usage(real, streamed=streamed)
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    # A stop string is the request's doing, an end token the model's.
    reasons = {choice["finish_reason"] for choice in choices} - {None}
    if reasons != {"stop"} or any(choice.get("stop_reason") for choice in choices):
        return None
    roles = sum("role" in choice.get("delta", {}) for choice in choices)
    return usage["completion_tokens"] if usage else len(choices) - roles


def _with_stop_that_is_said(profile: Profile, body: dict[str, Any]) -> dict[str, Any]:
    """The same body, stopped by a word that the simulator says: its text is its own."""
    text = chat(Responder(profile), body["messages"][0]["content"]).text
    return body | {"stop": [text[60:64]]}


@pytest.mark.parametrize(("server", "response"), _RESPONSES)
def test_every_key_and_type_is_that_of_the_real_server(server, response):
    body = response["request"]
    streamed = response["file"].endswith(".sse")
    real = (_FOLDER / response["file"]).read_bytes()
    if "aborted_after_bytes" in response:
        # Hung up in the middle of an event, and before the end.
        real = real[: real.rindex(b"\n\n") + 2]
    profile = _as_told(_profile(server), real, streamed=streamed)
    if body and "stop" in body:
        body = _with_stop_that_is_said(profile, body)
    expected = _shapes(real, streamed=streamed)
    status, found = _found(profile, response["path"], body, streamed=streamed)
    if "reasoning" in response["name"]:
        # Which step holds both the end of the reasoning and the start of the content,
        # if any does, is a matter of the draws.
        for seed in range(50):
            if found == expected:
                break
            other = replace(profile, seed=seed)
            _, found = _found(other, response["path"], body, streamed=streamed)
    if "aborted_after_bytes" in response:
        found = {kind: found[kind] for kind in expected}
    assert status == response["status"]
    assert found == expected


def _found(
    profile: Profile, path: str, body: dict[str, Any] | None, *, streamed: bool
) -> tuple[int, dict[str, list[str]]]:
    status, raw = _ask(profile, path, body)
    return status, _shapes(raw, streamed=streamed)


def test_metrics_has_the_series_of_the_real_server():
    k = _MANIFEST["draft_model"]["num_spec_tokens"]
    speculation = Speculation(method="made-up", acceptance_by_position=(0.5,) * k)
    responder = Responder(Profile(speculation=speculation))
    ours = _series(responder.metrics_text())
    theirs = _series((_FOLDER / "metrics-whole.txt").read_text())
    # vLLM has more families; of those that we show, everything but values is the same.
    assert ours == {name: theirs[name] for name in ours}
    assert {name for name in theirs if "spec_decode" in name} <= ours.keys()


def _series(text: str) -> dict[str, tuple[str, str, set[str]]]:
    """Kind, help text and labels of the series, by family."""
    return {
        family.name: (
            family.type,
            family.documentation,
            {f"{each.name} {sorted(each.labels.items())}" for each in family.samples},
        )
        for family in text_string_to_metric_families(text)
        if family.name.startswith("vllm:")
    }


def test_the_captures_are_there():
    paths = {response["path"] for _, response in (p.values for p in _RESPONSES)}
    assert {CHAT, "/v1/completions", "/v1/responses", "/v1/models"} <= paths
