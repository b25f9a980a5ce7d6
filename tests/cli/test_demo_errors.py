"""What cannot be done is one clear line on standard error, and exit code 1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from collector_programs import free_port
from inline_snapshot import snapshot
from loopback import Quiet, serving

from otel_specdecode.cli.demo import command
from otel_specdecode.simulator import Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

FAST = ("--time-scale", "0", "--requests", "1")


@pytest.fixture
def server() -> Iterator[Simulator]:
    with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
        yield sim


def fails(*arguments: str, **environment: str) -> str:
    """Run to a failure, and return its one line."""
    result = CliRunner(env=environment).invoke(command, [*arguments, *FAST])
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    return line


def test_a_server_that_is_not_there() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    assert fails("--base-url", url).startswith(f"Error: cannot reach {url}: ")


@pytest.mark.parametrize(
    ("url", "key", "says"),
    [
        ("localhost:8000/v1", "k", "--base-url: expected a URL such as http://"),
        ("http://[::1/v1", "k", "--base-url: expected a URL such as http://"),
        ("http://127.0.0.1:1/v1", "canary\n", "--api-key, or OPENAI_API_KEY: expected"),
        ("http://127.0.0.1:1/v1", "c\u00e4nary", "--api-key, or OPENAI_API_KEY: exp"),
    ],
)
def test_an_address_or_a_key_that_is_none_is_misuse(
    url: str, key: str, says: str
) -> None:
    result = CliRunner(env={"OPENAI_API_KEY": key}).invoke(command, ["--base-url", url])
    assert result.exit_code == 2
    assert says in result.stderr
    assert "nary" not in result.output


@pytest.mark.parametrize("path", ["", "/v1"])
def test_credentials_in_the_url_are_sent_and_never_shown(
    server: Simulator, path: str
) -> None:
    shown = f"{server.root_url}{path}"
    url = shown.replace("//", "//me:hush@")
    runner = CliRunner()
    for more in ((), ("--json",)):
        result = runner.invoke(command, ["--base-url", url, *FAST, *more])
        assert shown in result.output
        assert "hush" not in result.output


def test_a_key_that_the_server_quotes_is_not_shown() -> None:
    profile = replace(named_profile("mtp"), time_scale=0, simulate="status=400")
    with simulate(profile) as sim:
        url, key = sim.base_url, "simulated"
        line = fails("--base-url", url, "--model", "m", "--api-key", key)
    assert line.endswith("answered 400: Error code: 400 - Bad Request (***)")


def test_a_model_that_is_not_served(server: Simulator) -> None:
    line = fails("--base-url", server.base_url, "--model", "nope")
    assert line.replace(server.base_url, "URL") == snapshot(
        "Error: URL does not serve the model 'nope'; it serves spec-demo"
    )


def test_a_base_url_without_v1(server: Simulator) -> None:
    line = fails("--base-url", server.root_url)
    assert line.replace(server.root_url, "URL") == snapshot(
        "Error: URL is no OpenAI API; is /v1 missing at its end?"
    )


@pytest.mark.parametrize(
    ("directives", "expected"),
    [
        ("status=401", "refuses the key; pass one with --api-key or OPENAI_API_KEY"),
        ("status=503", "answered 503: "),
        ("error@5", "failed: Internal server error"),
        ("hang-up", "cannot reach "),
        ("malformed@5", "sent what is no JSON"),
    ],
)
def test_a_server_that_refuses_or_breaks(directives: str, expected: str) -> None:
    profile = replace(named_profile("mtp"), time_scale=0, simulate=directives)
    with simulate(profile) as sim:
        line = fails("--base-url", sim.base_url, "--model", sim.model)
    assert expected in line


def page(content_type: str, body: bytes) -> AbstractContextManager[str]:
    """A server that answers every GET with the same page."""

    class Page(Quiet):
        def get(self) -> None:
            self.reply(body, kind=content_type)

    return serving(Page)


def test_a_server_that_is_something_else_altogether() -> None:
    with page("text/html", b"<html>") as url:
        assert fails("--base-url", url) == (
            f"Error: {url} lists no model; name one with --model"
        )


def test_a_server_of_many_models_wants_one_to_be_named() -> None:
    models = [{"id": f"m{i}", "object": "model"} for i in range(7)]
    body = json.dumps({"object": "list", "data": models}).encode()
    with page("application/json", body) as url:
        assert fails("--base-url", url) == (
            f"Error: {url} serves 7 models; name one with --model:"
            " m0, m1, m2, m3, m4 and 2 more"
        )


def test_a_collector_that_is_not_there() -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    line = fails(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert line.startswith(
        f"Error: OTEL_EXPORTER_OTLP_ENDPOINT: nothing listens at {endpoint} ("
    )


def test_a_model_needs_a_server_to_be_asked_of() -> None:
    result = CliRunner().invoke(command, ["--model", "mine"])
    assert result.exit_code == 2
    assert "--model needs --base-url" in result.stderr


@pytest.mark.parametrize("missing", ["openai", "opentelemetry.sdk", "httptools"])
def test_a_missing_extra_is_named(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from otel_specdecode.cli import main; sys.argv = ['x', 'demo']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'otel-specdecode[all]'" in done.stderr
    assert "Traceback" not in done.stderr
