"""Redirects, proxies, other protocols, odd paths and keys: said, and never shown."""

from __future__ import annotations

import socket
from contextlib import closing, contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

import loopback
import pytest
from doctor_run import as_json, examine, model_list, plain_api, run, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doctor_run import Answer


@contextmanager
def moved_to(location: str, *, lists: bool = False) -> Iterator[str]:
    """A server that sends everybody away, or all but who asks for its models."""

    class Moved(loopback.Quiet):
        def get(self) -> None:
            if lists:
                status, kind, payload = model_list("m")
                self.reply(payload, status=status, kind=kind)
            else:
                self.redirect(location, status=308)

        def post(self, body: bytes) -> None:
            self.redirect(location, status=308)

    with loopback.serving(Moved) as url:
        yield f"{url}/v1"


def test_a_redirect_is_named_and_not_followed() -> None:
    with moved_to("/api/v1/models") as url:
        found = examine("--base-url", url)
    right = f"{url.removesuffix('/v1')}/api/v1"
    assert f"answered 308, to {right}/models" in found.findings["unreachable"]["text"]
    assert found.findings["unreachable"]["fix"] == f"--base-url {right}"
    assert found.server["num_requests"] == 1


@pytest.mark.parametrize(
    ("location", "shown"),
    [("/v1/models", "/v1/models;"), ("http://me:hush@[::1/v1/models", "***;")],
)
def test_a_redirect_to_nowhere_else_mends_nothing(location: str, shown: str) -> None:
    with moved_to(location) as url:
        found = examine("--base-url", url)
    assert shown in found.findings["unreachable"]["text"]
    assert found.findings["unreachable"]["fix"] is None


def test_an_answer_that_is_sent_elsewhere_is_named() -> None:
    with moved_to("/elsewhere?token=canary", lists=True) as url:
        found = examine("--base-url", url)
    root = url.removesuffix("/v1")
    failed = found.findings["request_failed"]["text"]
    assert failed.endswith(f"answered 308, to {root}/elsewhere")


@contextmanager
def saying(words: bytes) -> Iterator[str]:
    """A server that says this to whoever asks, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def say() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65_536)
                        connection.sendall(words)

        thread = Thread(target=say, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("words", "says", "fix"),
    [
        (b"", "closed the connection without an answer", "https://"),
        # The first frame of a server that speaks HTTP/2 alone.
        (b"\0\0\x06\4\0\0\0\0\0\0\3\0\0\0\x80", "no HTTP/1.1", "the port of"),
        (b"HTTP/2 200 \r\n\r\n", "no HTTP/1.1", "the port of"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "/models answered 200, and broke off: IncompleteRead",
            None,
        ),
    ],
)
def test_a_server_that_speaks_something_else(
    words: bytes, says: str, fix: str | None
) -> None:
    with saying(words) as url:
        found = examine("--base-url", url)
    unreachable = found.findings["unreachable"]
    assert (found.exit_code, found.codes) == (2, {"unreachable"})
    assert says in unreachable["text"]
    if fix is None:
        assert unreachable["fix"] is None
    else:
        assert fix in unreachable["fix"]


def test_a_server_that_is_asked_too_often_is_not_told_to_be_elsewhere() -> None:
    busy = as_json(429, {"error": {"message": "slow down"}})
    with serving(lambda path, body: busy) as url:
        found = examine("--base-url", url)
    assert "answered 429: slow down" in found.findings["unreachable"]["text"]
    assert found.findings["unreachable"]["fix"] is None


def test_a_proxy_of_the_environment_is_named() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = f"http://me:hush@127.0.0.1:{taken.getsockname()[1]}"
        result = run("--base-url", "http://model.test/v1", "--json", http_proxy=proxy)
    assert "by way of the proxy of HTTP_PROXY: nothing listens" in result.stdout
    assert "NO_PROXY=model.test" in result.stdout
    assert "hush" not in result.output


def test_a_path_of_any_letters_is_sent_as_the_client_sends_it() -> None:
    asked: list[str] = []

    def answer(path: str, body: dict[str, Any]) -> Answer | None:
        asked.append(path)
        return plain_api(path.removeprefix("/mod%C3%A8le%20a"), body)

    with serving(answer) as url:
        found = examine("--base-url", url.replace("/v1", "/mod\u00e8le a/v1"))
    assert found.exit_code == 1
    assert "/mod%C3%A8le%20a/v1/chat/completions" in asked


@pytest.mark.parametrize("key", ["canary\n", "canary\r\nX: y", "c\u00e4nary"])
def test_a_key_that_no_header_can_hold_is_misuse_and_not_shown(key: str) -> None:
    named = ("--base-url", "http://127.0.0.1:1/v1")
    result = run(*named, OPENAI_API_KEY=key)
    assert result.exit_code == 2
    assert "is there a line break at its end?" in result.stderr
    assert "nary" not in result.output
    # Nothing is asked without a server.
    assert run(OPENAI_API_KEY=key).exit_code == 0
