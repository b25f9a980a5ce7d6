"""Servers that are down, hang, are something else, or were recorded."""

from __future__ import annotations

import socket
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from doctor_run import (
    CHUNK,
    KEY,
    USAGE,
    as_json,
    events,
    examine,
    plain_api,
    run,
    serving,
    whole_answer,
)

if TYPE_CHECKING:
    from doctor_run import Answer

# Self-signed for localhost, with its key, until 2126. Nothing else trusts it.
CERTIFICATE = Path(__file__).with_name("localhost.pem")


def test_a_server_that_is_down_is_exit_code_2_and_says_so() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        found = examine("--base-url", url)
        printed = run("--base-url", url)
    assert found.exit_code == 2
    assert found.codes == {"unreachable"}
    assert found.server["num_requests"] == 1
    assert "nothing listens there" in found.findings["unreachable"]["text"]
    assert printed.exit_code == 2
    assert "reachable       no" in printed.stdout


def test_a_server_that_answers_html_is_no_api() -> None:
    html = 200, "text/html", b"<html>canary-key</html>"
    with serving(lambda path, body: html) as url:
        found = examine("--base-url", url)
        named = examine("--base-url", url, "--model", "m")
    assert (found.exit_code, found.codes) == (2, {"unreachable"})
    assert "text/html" in found.findings["unreachable"]["text"]
    assert "of an OpenAI API; --model" in found.findings["unreachable"]["fix"]
    assert (named.exit_code, named.codes) == (2, {"unreachable"})
    assert "no event stream" in named.findings["unreachable"]["text"]


@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions"])
def test_a_server_that_hangs_is_given_up(path: str) -> None:
    never = Event()

    def hang(asked: str, body: dict[str, Any]) -> Answer | None:
        if asked != path:
            return plain_api(asked, body)
        never.wait(60)
        return None

    with serving(hang) as url:
        found = examine("--base-url", url, "--timeout", "3")
        never.set()
    code = "unreachable" if path == "/v1/models" else "request_failed"
    assert "no whole answer within 3 s" in found.findings[code]["text"]
    assert found.exit_code == (2 if path == "/v1/models" else 1)
    assert found.server["num_requests"] <= 4


def test_a_stream_that_never_ends_is_given_up() -> None:
    stop = Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

        def drip() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not stop.wait(0.05):
                    connection.sendall(b"x")

        thread = Thread(target=drip)
        thread.start()
        try:
            found = examine("--base-url", url, "--timeout", "0.5")
        finally:
            stop.set()
            thread.join()
    assert found.codes == {"unreachable"}


def test_a_refused_key_names_the_option_and_shows_no_key() -> None:
    def refuse(path: str, body: dict[str, Any]) -> Answer:
        return as_json(401, {"error": {"message": f"wrong key {KEY}"}})

    with serving(refuse) as url:
        found = examine("--base-url", url)
    assert (found.exit_code, found.codes) == (2, {"unreachable"})
    assert found.findings["unreachable"]["fix"] == "--api-key KEY, or OPENAI_API_KEY"


@pytest.mark.parametrize(
    "path", ["", "/v1/chat/completions", "/v1/v1", "/v1beta/openai"]
)
@pytest.mark.parametrize("named", [(), ("--model", "m")])
def test_a_url_that_is_a_little_off_is_set_right(
    path: str, named: tuple[str, ...]
) -> None:
    with serving(plain_api) as url:
        found = examine("--base-url", url.removesuffix("/v1") + path, *named)
    assert (found.exit_code, found.codes) == (2, {"unreachable"})
    assert found.findings["unreachable"]["fix"] == f"--base-url {url}"


def test_a_server_that_has_v1_nowhere_is_told_where_it_mostly_is() -> None:
    missing = 404, "text/plain", b"Not Found"
    with serving(lambda path, body: missing) as url:
        found = examine("--base-url", url.removesuffix("/v1"))
    assert "most often with /v1 at its end" in found.findings["unreachable"]["fix"]


def test_a_server_that_fails_is_not_told_to_be_elsewhere() -> None:
    loading = as_json(503, {"error": {"message": "loading the model"}})
    with serving(lambda path, body: loading) as url:
        found = examine("--base-url", url)
    assert "answered 503: loading the model" in found.findings["unreachable"]["text"]
    assert found.findings["unreachable"]["fix"] is None


def test_a_host_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    found = examine("--base-url", "http://nowhere.invalid/v1")
    assert "no such host" in found.findings["unreachable"]["text"]


@pytest.mark.parametrize(
    ("scheme", "host", "says", "fix"),
    [
        ("https", "localhost", "not trusted: self-signed certificate", "SSL_CERT_FILE"),
        ("https", "127.0.0.1", "not trusted: self-signed certificate", "SSL_CERT_FILE"),
        ("http", "localhost", "closed the connection", "https:// in --base-url"),
    ],
)
def test_a_server_with_a_certificate_of_its_own(
    scheme: str, host: str, says: str, fix: str
) -> None:
    with serving(plain_api, certificate=CERTIFICATE) as url:
        port = url.split(":")[-1]
        found = examine("--base-url", f"{scheme}://{host}:{port}")
    assert says in found.findings["unreachable"]["text"]
    assert fix in found.findings["unreachable"]["fix"]


@pytest.mark.parametrize(
    ("host", "says"), [("localhost", None), ("127.0.0.1", "IP address mismatch")]
)
def test_a_certificate_that_is_trusted_must_be_the_hosts(
    host: str, says: str | None
) -> None:
    with serving(plain_api, certificate=CERTIFICATE) as url:
        port = url.split(":")[-1]
        address = f"https://{host}:{port}"
        found = examine("--base-url", address, SSL_CERT_FILE=str(CERTIFICATE))
    if says is None:
        assert found.codes == {"acceptance_absent", "metrics_no_page", "timing_absent"}
    else:
        assert says in found.findings["unreachable"]["text"]
        assert "own host name" in found.findings["unreachable"]["fix"]


def test_a_server_without_tls_is_named() -> None:
    with serving(plain_api) as url:
        found = examine("--base-url", url.replace("http:", "https:"))
    assert "speaks no TLS" in found.findings["unreachable"]["text"]
    assert found.findings["unreachable"]["fix"] == "http:// in --base-url"


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_only_answers_need_names_the_option(status: int) -> None:
    refuse = as_json(status, {"error": "Unauthorized"})
    answer = partial(plain_api, on_post=lambda body: refuse)
    with serving(answer) as url:
        found = examine("--base-url", url)
    failed = found.findings["request_failed"]
    assert failed["text"].endswith(f"answered {status}: Unauthorized")
    assert failed["fix"] == "--api-key KEY, or OPENAI_API_KEY"


def test_a_model_that_is_not_served_comes_with_one_that_is() -> None:
    missing = as_json(404, {"error": {"message": "no model nope"}})
    answer = partial(plain_api, on_post=lambda body: missing)
    with serving(answer) as url:
        found = examine("--base-url", url, "--model", "nope")
        served = examine("--base-url", url, "--model", "m")
    assert found.findings["request_failed"]["fix"] == "--model m"
    assert served.findings["request_failed"]["fix"] is None


def test_credentials_in_the_url_are_sent_and_never_shown() -> None:
    seen: list[str] = []

    def answer(path: str, body: dict[str, Any]) -> Answer | None:
        seen.append(path)
        return plain_api(path, body, models=as_json(500, {"error": "no hush here"}))

    with serving(answer) as url:
        address = url.replace("//", "//me:hush@")
        result = run("--base-url", address, "--model", "m", "--json")
        screen = run("--base-url", address, "--model", "m")
    assert "/v1/chat/completions" in seen
    for output in (result.output, screen.output):
        assert "hush" not in output
        assert url in output


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ({"error": {"message": f"no {KEY} for you"}}, "answered 400: no *** for you"),
        ({"detail": "not so"}, "answered 400: not so"),
        ({"detail": [{"msg": "x"}]}, "answered 400: {"),
        ("nope", "answered 400: nope"),
    ],
)
def test_a_request_that_fails_says_why_without_secrets(
    message: object, shown: str
) -> None:
    refuse = partial(plain_api, on_post=lambda body: as_json(400, message))
    with serving(refuse) as url:
        found = examine("--base-url", url)
    assert found.exit_code == 1
    assert shown in found.findings["request_failed"]["text"]
    assert found.server["usage_on_streams"]["asked"] == "unknown"


def test_a_stream_with_an_error_event_is_a_failed_request() -> None:
    broken = partial(
        plain_api, on_post=lambda body: events({"error": {"message": "x"}})
    )
    with serving(broken) as url:
        found = examine("--base-url", url)
    assert "error event" in found.findings["request_failed"]["text"]


def test_a_server_that_wants_max_completion_tokens_is_asked_so() -> None:
    def strict(body: dict[str, Any]) -> Answer | None:
        if "max_tokens" in body:
            text = "Unsupported parameter: use 'max_completion_tokens' instead."
            return as_json(400, {"error": {"message": text}})
        return plain_api("/v1/chat/completions", body)

    with serving(partial(plain_api, on_post=strict)) as url:
        found = examine("--base-url", url)
    assert "request_failed" not in found.codes
    assert found.server["usage_on_streams"] == {"asked": "present", "unasked": "absent"}


def test_a_server_that_refuses_unknown_fields_is_asked_without() -> None:
    def strict(body: dict[str, Any]) -> Answer | None:
        known = {"model", "messages", "temperature", "max_tokens"}
        if set(body) - known - {"stream", "stream_options"}:
            return as_json(422, {"detail": "Extra inputs are not permitted"})
        return plain_api("/v1/chat/completions", body)

    with serving(partial(plain_api, on_post=strict)) as url:
        found = examine("--base-url", url)
    assert found.server["unknown_fields"] == "refused"
    assert found.server["acceptance"]["in_whole_answers"] == "absent"


@pytest.mark.parametrize("broken_at", [2, 3])
def test_a_later_request_that_fails_keeps_what_was_seen_before(broken_at: int) -> None:
    seen: list[object] = []

    def breaks(body: dict[str, Any]) -> Answer | None:
        seen.append(body)
        if len(seen) >= broken_at:
            return as_json(500, {"error": {"message": "gone"}})
        return plain_api("/v1/chat/completions", body)

    with serving(partial(plain_api, on_post=breaks)) as url:
        found = examine("--base-url", url)
    assert "answered 500: gone" in found.findings["request_failed"]["text"]
    assert found.server["usage_on_streams"]["asked"] == "present"
    assert found.server["unknown_fields"] == "unknown"


def test_an_answer_that_is_no_object_is_a_failed_request() -> None:
    def odd(body: dict[str, Any]) -> Answer | None:
        if body.get("stream"):
            return plain_api("/v1/chat/completions", body)
        return as_json(200, [])

    with serving(partial(plain_api, on_post=odd)) as url:
        found = examine("--base-url", url)
    assert "no JSON object" in found.findings["request_failed"]["text"]


def test_a_gateway_that_drops_statistics_is_told_from_a_missing_flag() -> None:
    counts = {
        "num_spec_tokens": 2,
        "num_spec_steps": 1,
        "num_draft_tokens": 2,
        "num_accepted_draft_tokens": 1,
    }

    def gateway(body: dict[str, Any]) -> Answer | None:
        if body.get("stream"):
            return plain_api("/v1/chat/completions", body)
        return whole_answer(metrics={"speculative_decoding": counts})

    with serving(partial(plain_api, on_post=gateway)) as url:
        found = examine("--base-url", url)
    assert "acceptance_dropped" in found.codes
    assert "acceptance_absent" not in found.codes


def test_statistics_that_contradict_themselves_are_wrong_and_named() -> None:
    counts = {
        "num_spec_tokens": 2,
        "num_spec_steps": 1,
        "num_draft_tokens": 2,
        "num_accepted_draft_tokens": 9,
    }
    malformed = {"metrics": {"speculative_decoding": counts}}

    def wrong(body: dict[str, Any]) -> Answer | None:
        if body.get("stream"):
            return events(
                CHUNK, {"id": "1", "choices": [], "usage": USAGE, **malformed}
            )
        return whole_answer(**malformed)

    with serving(partial(plain_api, on_post=wrong)) as url:
        found = examine("--base-url", url)
    assert found.findings["acceptance_malformed"]["level"] == "wrong"
    assert found.server["acceptance"]["on_streams"] == "malformed"
    assert "num_accepted_draft_tokens" in found.server["acceptance"]["malformed"]
