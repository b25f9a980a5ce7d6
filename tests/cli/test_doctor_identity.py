"""Which server it is, what its `/metrics` says, and what a real vLLM once sent."""

from __future__ import annotations

from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from doctor_run import (
    CHUNK,
    USAGE,
    as_json,
    events,
    examine,
    model_list,
    page,
    plain_api,
    run,
    serving,
    whole_answer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from doctor_run import Answer

CAPTURES = Path(__file__).parents[1] / "captures" / "vllm-0.32.0"


@pytest.mark.parametrize(
    ("models", "pages", "kind", "version"),
    [
        (model_list("m"), {}, "vLLM", None),
        (model_list("m", owner="sglang"), {}, "SGLang", None),
        (model_list("m", owner="llamacpp"), {}, "llama.cpp", None),
        (
            model_list("m", owner="me"),
            {
                "/metrics": page(
                    'lmdeploy:build_info{x="y",version="0.18"} 1.0\n'
                    "lmdeploy:num_requests 1.0\n"
                )
            },
            "LMDeploy",
            "0.18",
        ),
        (
            model_list("m", owner="me"),
            {"/version": as_json(200, {"version": "1.2"})},
            None,
            "1.2",
        ),
        (model_list("m", owner="me"), {"/version": as_json(200, [])}, None, None),
    ],
)
def test_the_kind_of_a_server_is_told_by_what_only_it_sends(
    models: Answer, pages: dict[str, Answer], kind: str | None, version: str | None
) -> None:
    with serving(partial(plain_api, models=models, pages=pages)) as url:
        found = examine("--base-url", url)
        printed = run("--base-url", url).stdout
    assert (found.server["kind"], found.server["version"]) == (kind, version)
    assert "acceptance_absent" in found.codes
    assert (kind or "kind not said") in printed
    fix = found.findings["acceptance_absent"]["fix"]
    assert (fix is None) == (kind not in {"vLLM", None})


def test_a_vllm_that_is_too_old_is_told_to_be_renewed() -> None:
    pages = {"/version": as_json(200, {"version": "0.28.1rc1"})}
    with serving(partial(plain_api, pages=pages)) as url:
        found = examine("--base-url", url)
    assert found.findings["acceptance_absent"]["fix"] == "vLLM 0.29 or newer"


@pytest.mark.parametrize(
    ("text", "speculation", "drafts", "code"),
    [
        ("python_info 1.0\n", "disabled", None, "metrics_disabled"),
        ("vllm:num_requests_running 1.0\n", "absent", None, None),
        (
            (
                'vllm:spec_decode_num_draft_tokens_total{engine="0"} 4.0\n'
                'vllm:spec_decode_num_draft_tokens_total{engine="1"} 3.0\n'
                'vllm:spec_decode_num_draft_tokens_total{engine="2"} NaN\n'
                'vllm:spec_decode_num_draft_tokens_total{engine="3"} x\n'
            ),
            "present",
            7,
            None,
        ),
        ("vllm:spec_decode_num_draft_tokens 5\n", "present", 5, None),
        ("<html>vllm:x 1</html>", "no_page", None, "metrics_no_page"),
    ],
)
def test_what_the_metrics_page_says_of_speculation(
    text: str, speculation: str, drafts: int | None, code: str | None
) -> None:
    with serving(partial(plain_api, pages={"/metrics": page(text)})) as url:
        found = examine("--base-url", url)
        run("--base-url", url)
    assert found.server["metrics_page"] == {
        "speculation": speculation,
        "num_draft_tokens": drafts,
    }
    about_page = {c for c in found.codes if c.startswith("metrics_")}
    assert about_page == ({code} if code else set())


def test_a_page_of_another_server_is_noticed() -> None:
    counts = {
        "num_spec_tokens": 2,
        "num_spec_steps": 1,
        "num_draft_tokens": 2,
        "num_accepted_draft_tokens": 1,
    }
    given = {"metrics": {"speculative_decoding": counts}}

    def speculating(body: dict[str, Any]) -> Answer | None:
        if body.get("stream"):
            return events(CHUNK, {"id": "1", "choices": [], "usage": USAGE, **given})
        return whole_answer(**given)

    pages = {"/metrics": page("vllm:num_requests_running 1.0\n")}
    with serving(partial(plain_api, pages=pages, on_post=speculating)) as url:
        found = examine("--base-url", url)
    assert "metrics_spec_decode_absent" in found.codes


def test_a_litellm_proxy_is_known_by_its_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = BaseHTTPRequestHandler.end_headers

    def with_version(handler: BaseHTTPRequestHandler) -> None:
        handler.send_header("x-litellm-version", "1.110.2")
        end(handler)

    monkeypatch.setattr(BaseHTTPRequestHandler, "end_headers", with_version)
    with serving(plain_api) as url:
        found = examine("--base-url", url)
    assert (found.server["kind"], found.server["version"]) == (
        "LiteLLM proxy",
        "1.110.2",
    )
    fix = found.findings["acceptance_absent"]["fix"]
    assert fix == "ask the server behind the gateway"


@pytest.mark.parametrize("names", [(), ("a", "b", "c", "d", "e", "f")])
def test_with_several_models_one_must_be_named(names: tuple[str, ...]) -> None:
    with serving(partial(plain_api, models=model_list(*names))) as url:
        found = examine("--base-url", url)
        printed = run("--base-url", url).stdout
        named = examine("--base-url", url, "--model", "b")
    assert "model_unnamed" in found.codes
    assert found.findings["model_unnamed"]["fix"] == "--model MODEL"
    assert found.server["num_requests"] == 3
    assert "model not chosen" in printed
    assert named.server["model"] == "b"
    assert named.server["num_requests"] == 6


@pytest.mark.parametrize(
    "data", [{"data": 3}, {}, [], {"data": [3, {"id": 4}, {"id": "m"}]}]
)
def test_a_list_of_models_of_another_shape_is_read_as_far_as_it_goes(
    data: object,
) -> None:
    with serving(partial(plain_api, models=as_json(200, data))) as url:
        found = examine("--base-url", url, "--model", "m")
    listed = isinstance(data, dict) and isinstance(data.get("data"), list)
    assert found.server["models"] == (["m"] if listed else [])
    assert found.server["reachable"]


def recorded(folder: str) -> Callable[[str, dict[str, Any]], Answer | None]:
    """A server that answers with what a real vLLM once sent."""

    def read(name: str) -> bytes:
        return (CAPTURES / folder / name).read_bytes()

    def answer(path: str, body: dict[str, Any]) -> Answer | None:
        if path == "/v1/models":
            own = CAPTURES / folder / "models.json"
            source = own if own.exists() else CAPTURES / "draft_model" / "models.json"
            return 200, "application/json", source.read_bytes()
        if path == "/metrics":
            return 200, "text/plain", read("metrics-after.txt")
        if path != "/v1/chat/completions":
            return 404, "text/plain", b""
        if not body.get("stream"):
            return 200, "application/json", read("chat-plain.json")
        unasked = CAPTURES / folder / "chat-stream-without-usage.sse"
        if not body.get("stream_options") and unasked.exists():
            return 200, "text/event-stream", unasked.read_bytes()
        return 200, "text/event-stream", read("chat-stream.sse")

    return answer


@pytest.mark.parametrize(
    ("folder", "level", "page_says"),
    [
        ("baseline", "absent", "absent"),
        ("draft_model", "detailed", "present"),
        ("ngram-summary", "summary", "present"),
        ("suffix", "detailed", "present"),
        ("eagle3", "detailed", "present"),
        ("mtp", "detailed", "present"),
    ],
)
def test_what_a_real_vllm_sent_is_read_rightly(
    folder: str, level: str, page_says: str
) -> None:
    with serving(recorded(folder)) as url:
        found = examine("--base-url", url)
    assert found.server["kind"] == "vLLM"
    assert found.server["acceptance"] == {
        "on_streams": level,
        "in_whole_answers": level,
        "malformed": None,
    }
    assert found.server["metrics_page"]["speculation"] == page_says
    assert found.server["has_timing"] is True
    assert found.server["usage_on_streams"]["asked"] == "present"
