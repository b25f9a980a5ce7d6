"""`otel-specdecode simulate` serves, says where, and adds up when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from otel_specdecode.cli.simulate import command

_ROOT = Path(__file__).parents[2]


def _call(url: str, body: object = None) -> bytes:
    raw = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, raw, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_end(number):
    run = "from otel_specdecode.cli.simulate import command; command()"
    options = ["--profile", "suffix", "--port", "0", "--time-scale", "0"]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", run, *options, "--model", "my-model"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
    )
    with process:
        try:
            url, _, what = process.stdout.readline().partition("  ")
            _call(f"{url}/completions", {"prompt": "x", "max_tokens": 50})
            metrics = _call(url.removesuffix("/v1") + "/metrics").decode()
        finally:
            process.send_signal(number)
        rest, errors = process.communicate(timeout=30)
    assert what.startswith("model my-model (suffix, k = 16, acceptance by position ")
    assert 'generation_tokens_total{engine="0",model_name="my-model"} 50.0' in metrics
    assert rest.startswith("1 requests, 50 output tokens")
    assert (process.returncode, errors) == (0, "")


def test_the_profiles_can_be_listed():
    result = CliRunner().invoke(command, ["--list-profiles"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == [
        "plain",
        "mtp",
        "ngram",
        "eagle3",
        "suffix",
        "coalescing",
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--profile", "fast"], "expected one of plain"),
        (["--engines", "0"], "num_engines"),
        (["--simulate", "nonsense"], "x-simulate"),
        (["--payload", "full"], "--payload"),
    ],
)
def test_an_option_that_cannot_be_is_a_usage_error(options, text):
    result = CliRunner().invoke(command, ["--port", "0", *options])
    assert result.exit_code == 2
    assert text in result.output
