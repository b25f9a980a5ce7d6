"""What `probe` and `metrics` say of running programs, and of what is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from loopback import Quiet, serving

from otel_specdecode.cli.collector import command
from otel_specdecode.collector.probe import Probe
from otel_specdecode.collector.server_page import report
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args)


class Backend:
    """A collector, a Prometheus and a Jaeger in one, as far as the probe asks."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str | None, Any]] = []
        self.status = 200
        self.answer: dict[str, Any] = {}
        self.keeps_content = False
        self.loses: Sequence[str] = ()

    def take(self, path: str, token: str | None, body: bytes) -> tuple[int, Any]:
        self.received.append((path, token, json.loads(body)))
        return self.status, self.answer

    def show(self, path: str) -> tuple[int, Any]:
        if any(path.startswith(lost) for lost in self.loses):
            return 404, {}
        if path.startswith("/api/v1/query"):
            series = {"metric": {"job": "probe"}, "value": [0, "1"]}
            return 200, {"data": {"result": [series]}}
        spans = [payload for where, _, payload in self.received if "traces" in where]
        return 200, {"data": spans if self.keeps_content else [{"spans": 1}]}


def answering(backend: Backend) -> AbstractContextManager[str]:
    class Handler(Quiet):
        def post(self, body: bytes) -> None:
            token = self.headers.get("Authorization")
            self.say(*backend.take(self.path, token, body))

        def get(self) -> None:
            self.say(*backend.show(self.path))

        def say(self, status: int, body: Any) -> None:
            self.reply(json.dumps(body).encode(), status=status)

    return serving(Handler)


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def url(backend: Backend) -> Iterator[str]:
    with answering(backend) as address:
        yield address


def test_a_probe_that_arrives_everywhere_succeeds(url: str) -> None:
    done = run("probe", url, "--prometheus", url, "--traces", url)
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()] == ["ok"] * 4
    assert "the prompt that it carried did not" in done.output


def test_a_probe_sends_its_token(url: str, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("made-up\n")
    run("probe", url, "--token-file", str(tmp_path / "token"))
    assert {token for _, token, _ in backend.received} == {"Bearer made-up"}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "write https://"),
        (401, "wants a bearer token"),
        (403, "not this token"),
        (404, "no pipeline for this signal"),
        (503, "out of memory"),
        (418, "HTTP 418"),
    ],
)
def test_a_refusal_is_explained(
    status: int, said: str, url: str, backend: Backend
) -> None:
    backend.status = status
    done = run("probe", url)
    assert (done.exit_code, done.output.count(said)) == (1, 2)


def test_a_token_that_is_refused_is_told_from_none(
    url: str, backend: Backend, tmp_path: Path
) -> None:
    backend.status = 401
    (tmp_path / "token").write_text("made-up\n")
    done = run("probe", url, "--token-file", str(tmp_path / "token"))
    assert done.output.count("refused: not this token") == 2


def test_a_receiver_that_hangs_up_may_be_one_of_grpc() -> None:
    class Handler(Quiet):
        def post(self, body: bytes) -> None:
            self.close_connection = True

    with serving(Handler) as url:
        done = run("probe", url)
    assert done.output.count("is it the port of gRPC, or https?") == 2


def test_a_partial_success_is_none(url: str, backend: Backend) -> None:
    backend.answer = {"partialSuccess": {"rejectedSpans": 1}}
    assert run("probe", url).exit_code == 1


@pytest.mark.parametrize(
    "answer", [{"status": "Server available"}, ["ok"], "ok"], ids=str
)
def test_a_page_that_says_yes_to_everything_is_no_receiver(
    answer: Any, url: str, backend: Backend
) -> None:
    backend.answer = answer
    done = run("probe", url)
    assert (done.exit_code, done.output.count("is it another port?")) == (1, 2)


@pytest.mark.parametrize("answer", [b"<html>", b"\xff"], ids=str)
def test_a_web_page_is_no_receiver_and_no_store(answer: bytes) -> None:
    class Handler(Quiet):
        def post(self, body: bytes) -> None:
            self.reply(answer)

        def get(self) -> None:
            self.reply(answer)

    with serving(Handler) as page:
        done = run("probe", page, "--prometheus", page, "--within", "0")
    assert (done.exit_code, done.output.count("FAILED")) == (1, 3)


def test_a_store_that_cannot_be_reached_is_told_from_one_without_the_probe(
    url: str,
) -> None:
    away = "http://127.0.0.1:1"
    done = run("probe", url, "--prometheus", away, "--traces", url, "--within", "0")
    told = [line.partition(": ")[2] for line in done.output.splitlines()]
    assert "nothing within 0 s: no answer: " in told[2]
    assert told[3].startswith("it arrived")


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b"404 page not found", "answers with HTTP 404; is it another port?"),
        (503, b"{}", "answers with HTTP 503; is it another port?"),
        (200, b"{}", "answers, but not as such a store does; is it another port?"),
    ],
)
def test_what_is_no_store_is_told_from_one_without_the_probe(
    status: int, body: bytes, said: str, url: str
) -> None:
    class Handler(Quiet):
        def get(self) -> None:
            self.reply(body, status=status)

    with serving(Handler) as page:
        done = run("probe", url, "--traces", page, "--within", "0")
    assert done.output.splitlines()[-1].endswith(f"nothing within 0 s: {said}")


def test_a_probe_that_looks_nowhere_says_so(url: str) -> None:
    done = run("probe", url)
    assert (done.exit_code, "Taken is not yet arrived" in done.stderr) == (0, True)
    assert run("probe", url, "--traces", url).stderr == ""


def test_answers_as_json_are_one_array(url: str) -> None:
    probed = json.loads(run("probe", url, "--traces", url, "--json").stdout)
    assert [(one["passed"], sorted(one)) for one in probed] == 3 * [
        (True, ["detail", "passed", "step"])
    ]
    page = json.loads(run("metrics", f"{url}/metrics", "--json").stdout)
    assert page[0] == {"name": "spec_decode_num_drafts_total", "found_as": None}


@pytest.mark.parametrize(
    "token", [b"", b"two\nlines", "t\u00f6ken".encode(), b"\xff\xfe"]
)
def test_a_file_that_holds_no_token_is_misuse(token: bytes, tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(token)
    file = str(tmp_path / "token")
    done = run("probe", "http://127.0.0.1:1", "--token-file", file)
    assert (done.exit_code, "token" in done.output) == (2, True)


def test_a_file_that_holds_no_authority_is_misuse(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not a certificate")
    done = run("probe", "https://127.0.0.1:1", "--ca-file", str(tmp_path / "ca.pem"))
    assert done.exit_code == 2
    assert "ca.pem: expected certificates in PEM form" in done.output


def test_a_prompt_that_comes_out_again_fails_the_probe(
    url: str, backend: Backend
) -> None:
    backend.keeps_content = True
    done = run("probe", url, "--traces", url)
    assert (done.exit_code, "content is not removed" in done.output) == (1, True)


@pytest.mark.parametrize("lost", ["/api/v1/query", "/api/traces"])
def test_what_does_not_arrive_in_time_fails_the_probe(
    lost: str, url: str, backend: Backend
) -> None:
    backend.loses = [lost]
    done = run("probe", url, "--prometheus", url, "--traces", url, "--within", "0")
    assert (done.exit_code, "nothing within 0 s" in done.output) == (1, True)


def test_a_collector_that_is_not_there_fails_the_probe() -> None:
    done = run("probe", "http://127.0.0.1:1")
    assert (done.exit_code, done.output.count("no answer")) == (1, 2)


def test_an_address_that_is_no_url_is_misuse() -> None:
    with pytest.raises(ConfigError, match=r"expected a URL"):
        Probe(endpoint="127.0.0.1:4318")
    for address in ("127.0.0.1:4318", "http://", "http://a:b", "http://a:99999"):
        assert run("probe", address).exit_code == 2
        assert run("metrics", address).exit_code == 2


PAGE = """\
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total{engine="0"} 5.0
vllm_spec_decode_num_drafts_total{engine="0"} 1.0
llamacpp:spec_decode_num_draft_tokens_total 4.0
"""


def test_a_servers_page_is_read_in_each_known_form() -> None:
    assert [one.found_as for one in report(PAGE)] == [
        "vllm_spec_decode_num_drafts_total",
        "llamacpp:spec_decode_num_draft_tokens_total",
        None,
        None,
        "vllm:generation_tokens_total",
    ]


def test_the_command_says_which_series_are_missing(url: str) -> None:
    done = run("metrics", f"{url}/metrics")
    assert done.exit_code == 1
    assert "MISSING vllm:spec_decode_num_drafts_total" in done.output


def test_a_page_that_does_not_answer_is_misuse() -> None:
    assert [
        run("metrics", address).exit_code
        for address in ("http://127.0.0.1:1/metrics", "127.0.0.1:1")
    ] == [2, 2]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "with HTTP 503"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", "with no text"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "no answer: Incomp"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no answer: SSH-2.0"),
    ],
)
def test_a_page_that_is_none_is_told_in_one_line(answer: bytes, said: str) -> None:
    class Handler(Quiet):
        def get(self) -> None:
            self.wfile.write(answer)
            self.close_connection = True

    with serving(Handler) as url:
        done = run("metrics", url)
    (line,) = done.output.strip().splitlines()
    assert (done.exit_code, said in line) == (2, True), line
