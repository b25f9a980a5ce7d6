"""Without a server, the doctor looks at this environment: packages and variables."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from collector_programs import free_port
from doctor_run import QUIET, examine, run
from opentelemetry.instrumentation.dependencies import DependencyConflict

from otel_specdecode.cli import _doctor_process

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


OTLP = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp"}


def test_an_environment_that_lacks_nothing_is_exit_code_0() -> None:
    found = examine()
    assert (found.exit_code, found.server, found.codes) == (0, {}, set())
    assert found.environment["packages"]["openai"] is not None
    ours = found.environment["instrumentors"][0]
    assert (ours["name"], ours["ours"]) == ("specdecode", True)


def test_a_collector_that_listens_is_reachable_and_gets_nothing() -> None:
    with listening() as port:
        endpoint = f"http://127.0.0.1:{port}"
        found = examine(**OTLP, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert (found.exit_code, found.codes) == (0, set())
    assert found.environment["telemetry"] == [
        {
            "signal": signal,
            "exporter": "otlp",
            "protocol": "grpc",
            "endpoint": endpoint,
            "is_default": False,
            "reachable": True,
        }
        for signal in ("traces", "metrics")
    ]


def test_a_collector_that_is_down_is_missing_where_a_variable_names_it() -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    found = examine(**OTLP, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert (found.exit_code, found.codes) == (1, {"endpoint_unreachable"})
    text = found.findings["endpoint_unreachable"]["text"]
    assert text == f"Nobody listens at {endpoint}, where traces and metrics go."


def test_signals_can_go_to_places_of_their_own() -> None:
    with listening() as port:
        found = examine(
            **OTLP,
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"http://127.0.0.1:{port}/v1/traces",
            OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="http/protobuf",
            OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"127.0.0.1:{free_port()}",
        )
    traces, metrics = found.environment["telemetry"]
    assert (traces["protocol"], traces["reachable"]) == ("http/protobuf", True)
    assert (metrics["protocol"], metrics["reachable"]) == ("grpc", False)
    assert "metrics go." in found.findings["endpoint_unreachable"]["text"]
    assert "expected a URL" in found.findings["variable_wrong"]["text"]


@pytest.mark.parametrize("reachable", [True, False])
def test_where_nothing_says_where_to_the_default_is_only_a_note(
    reachable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_doctor_process, "_listens", lambda *_: reachable)
    found = examine(**OTLP)
    printed = run(**OTLP).stdout
    assert found.exit_code == 0
    assert ("endpoint_default" in found.findings) is not reachable
    assert "http://localhost:4317 by grpc, the default" in printed
    assert ("nobody listens" in printed) is not reachable


def test_an_endpoint_that_is_none_is_not_reachable() -> None:
    found = examine(**OTLP, OTEL_EXPORTER_OTLP_ENDPOINT="http://[::1")
    assert found.codes == {"endpoint_unreachable", "variable_wrong"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OTEL_SPECDECODE_USAGE", "sometimes", "expected one of always, unset, never"),
        ("OTEL_SPECDECODE_TOKEN_IDS", "maybe", "expected true or false, got 'maybe'"),
        ("OTEL_SPECDECODE_USGE", "never", "OTEL_SPECDECODE_USAGE is meant, perhaps"),
        ("OTEL_SPECDECODE_QQQQ", "1", "is no option of ours"),
        ("OTEL_SPECDECODE_RERAISE", "true", "is for our own tests"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "expected grpc or http/protobuf"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1m", "expected a number, got '1m'"),
        ("OTEL_SDK_DISABLED", "yes", "expected true or false, got 'yes'"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318", "protocol is grpc"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317", "expected a URL such as"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a.test:x", "expected a URL such as"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(
    name: str, value: str, said: str
) -> None:
    found = examine(**{name: value})
    (code,) = found.codes
    assert code in {"variable_wrong", "variable_unknown"}
    assert found.findings[code]["text"].startswith(name)
    assert said in found.findings[code]["text"]
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_SPECDECODE_USAGE", "unset"),
        ("OTEL_SPECDECODE_RERAISE", "false"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0.5"),
        ("OTEL_SDK_DISABLED", "false"),
        ("OTEL_SERVICE_NAME", "mine"),
        ("OTEL_TRACES_SAMPLER", "always_on"),
    ],
)
def test_a_right_value_is_shown(name: str, value: str) -> None:
    found = examine(**{name: value})
    shown = {v["name"]: v["value"] for v in found.environment["variables"]}
    assert found.codes == set()
    assert shown[name] == value
    assert f"{name} = {value}" in run(**{name: value}).stdout


SECRET = "hush-hush"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={SECRET}"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", f"api-key={SECRET}"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", f"/home/{SECRET}.pem"),
        ("OTEL_RESOURCE_ATTRIBUTES", f"deployment.token={SECRET}"),
        ("OTEL_VENDOR_ACCESS_TOKEN", SECRET),
        ("OTEL_SPECDECODE_API_KEY", SECRET),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:{SECRET}@a.test:4317"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://a.test:4317/?key={SECRET}"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://a.test:4317/{SECRET}-and-more-of-it"),
        ("OPENAI_API_KEY", SECRET),
        ("OPENAI_BASE_URL", f"http://me:{SECRET}@a.test/v1"),
    ],
)
def test_no_secret_of_a_variable_is_shown(name: str, value: str) -> None:
    for arguments in ((), ("--json",)):
        result = run(*arguments, **{name: value})
        assert SECRET not in result.output
        assert (name in result.output) == (name != "OPENAI_API_KEY")


def test_a_sdk_that_is_turned_off_is_missing() -> None:
    found = examine(OTEL_SDK_DISABLED="true")
    assert found.codes == {"sdk_disabled"}
    assert found.findings["sdk_disabled"]["fix"] == "unset OTEL_SDK_DISABLED"


@pytest.mark.parametrize("names", ["specdecode", "a, specdecode", "*"])
def test_an_instrumentor_of_ours_that_is_kept_out_is_missing(names: str) -> None:
    found = examine(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=names)
    assert found.codes == {"instrumentor_disabled"}
    assert (
        "specdecode (disabled)"
        in run(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=names).stdout
    )


def test_a_base_url_of_the_environment_is_pointed_out_and_not_asked() -> None:
    found = examine(OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    assert found.exit_code == 0
    assert found.whole["server"] is None
    assert "base_url_in_environment" in found.findings


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("openai", "openai_missing"),
        ("opentelemetry-sdk", "sdk_missing"),
        ("opentelemetry-exporter-otlp-proto-grpc", "exporter_missing"),
    ],
)
def test_a_package_that_is_missing_comes_with_the_command_that_installs_it(
    package: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _doctor_process.version

    def without(name: str) -> str:
        if name == package:
            raise _doctor_process.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(_doctor_process, "version", without)
    with listening() as port:
        found = examine(**OTLP, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}")
    assert found.codes == {code}
    assert found.findings[code]["fix"].startswith("pip install ")


def test_a_release_of_openai_that_is_not_supported_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conflict = DependencyConflict("openai >= 1.40, < 4", "openai 1.2.0")
    monkeypatch.setattr(_doctor_process, "get_dependency_conflicts", lambda _: conflict)
    found = examine()
    assert found.codes == {"openai_unsupported"}
    assert "found openai 1.2.0" in found.findings["openai_unsupported"]["text"]


def test_the_program_needs_neither_openai_nor_the_sdk() -> None:
    program = (
        "import sys\n"
        "for name in ('openai', 'opentelemetry.sdk', 'httpx', 'httptools'):\n"
        "    sys.modules[name] = None\n"
        "from otel_specdecode.cli import main\n"
        "sys.argv = ['otel-specdecode', 'doctor', '--json']\n"
        "main()"
    )
    kept = {k: v for k, v in os.environ.items() if k not in QUIET}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
