"""The checker names the traps of a collector's configuration, and only those."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from otel_specdecode.cli.collector import command
from otel_specdecode.collector import Severity, bundle_root, check_configuration
from otel_specdecode.errors import ConfigError

DOCS = Path(__file__).resolve().parents[2] / "docs" / "collector.md"
COMBINATIONS = [
    re.findall(r"`([\w-]+\.yaml)`", row)
    for row in re.findall(
        r"^\| ((?:`[\w-]+\.yaml` ?)+)\|", DOCS.read_text(), re.MULTILINE
    )
]
# Nothing to say about this one; each case below is a change of it.
SOUND = """\
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:4317"}
processors:
  memory_limiter: {check_interval: 1s, limit_percentage: 80}
exporters:
  otlp_http: {endpoint: "${env:BACKEND:-http://127.0.0.1:1}"}
service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter]
      exporters: [otlp_http]
"""
CASES = {
    "a pipeline names what is not defined": (
        ("exporters: [otlp_http]", "exporters: [otlp_http, kafka]"),
        "C001",
        "kafka is listed but not defined under exporters",
    ),
    "a component that nothing starts": (
        ("exporters:\n  otlp", "exporters:\n  debug: {}\n  otlp"),
        "C002",
        "exporter debug is defined and never started",
    ),
    "a memory limiter after other work": (
        ("[memory_limiter]", "[transform, memory_limiter]"),
        "C004",
        "memory_limiter must come first",
    ),
    "no memory limiter": (("[memory_limiter]", "[]"), "C004", "no memory_limiter"),
    "the batch processor": (
        ("[memory_limiter]", "[memory_limiter, batch]"),
        "C005",
        "sending_queue",
    ),
    "work after the batch processor": (
        ("[memory_limiter]", "[memory_limiter, batch, filter]"),
        "C005",
        "batch goes last",
    ),
    "an old name of a component": (
        ("otlp_http", "otlphttp"),
        "C006",
        "otlphttp is the old name of otlp_http (since 0.144)",
    ),
    "a setting that is ignored": (
        ("  otlp_http:", "  prometheus: {add_metric_suffixes: false}\n  otlp_http:"),
        "C007",
        "prometheus.add_metric_suffixes is ignored since 0.154",
    ),
    "the address of the own metrics": (
        ("service:\n", "service:\n  telemetry: {metrics: {address: x:8888}}\n"),
        "C007",
        "use readers",
    ),
    "a variable without braces": (
        ("${env:BACKEND:-http://127.0.0.1:1}", "$BACKEND"),
        "C008",
        "write ${env:BACKEND}",
    ),
    "an escape and a variable in one value": (
        ("${env:BACKEND:-http://127.0.0.1:1}", "$$1${env:BACKEND:-x}"),
        "C009",
        "before 0.161",
    ),
    "a variable that is not set": (
        ("${env:BACKEND:-http://127.0.0.1:1}", "${env:BACKEND}"),
        "C010",
        "BACKEND is not set and has no default",
    ),
    "a scrape whose names depend on the server's library": (
        (
            "  otlp:\n",
            "  prometheus: {config: {scrape_configs: [{job_name: v}]}}\n  otlp:\n",
        ),
        "C011",
        "metric_name_escaping_scheme: allow-utf-8",
    ),
    "a port open to anybody": (
        ("127.0.0.1:4317", "0.0.0.0:4317"),
        "C012",
        "otlp.grpc listens on 0.0.0.0:4317 for anybody",
    ),
    "a queue whose storage is not started": (
        (
            '{endpoint: "${env',
            '{sending_queue: {storage: file_storage}, endpoint: "${env',
        ),
        "C013",
        "file_storage is not in service.extensions",
    ),
    "a token in the file": (
        ('{endpoint: "${env', '{headers: {Authorization: Bearer x}, endpoint: "${env'),
        "C014",
        "exporters.otlp_http.headers.Authorization stands in the file",
    ),
}


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.yaml"
    path.write_text(SOUND)
    return path


def test_a_sound_configuration_has_no_finding(sound: Path) -> None:
    assert check_configuration([sound], {}) == ()


@pytest.mark.parametrize("case", CASES)
def test_it_names(case: str, tmp_path: Path) -> None:
    (old, new), code, part = CASES[case]
    assert SOUND.count(old) >= 1
    path = tmp_path / "config.yaml"
    path.write_text(SOUND.replace(old, new))
    found = {one.code: one.message for one in check_configuration([path], {})}
    assert part in found[code]


def test_each_code_has_a_case_and_a_line_in_the_docs() -> None:
    rules = Path(check_configuration.__code__.co_filename).read_text()
    codes = set(re.findall(r'"(C\d{3})"', rules))
    assert {code for _, code, _ in CASES.values()} | {"C003"} == codes
    assert set(re.findall(r"^\| (C\d{3}) \|", DOCS.read_text(), re.MULTILINE)) == codes


def test_a_finding_has_the_place_of_what_it_is_about(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SOUND.replace("exporters: [otlp_http]", "exporters: [kafka]"))
    place = [(one.file, one.line, one.code) for one in check_configuration([path], {})]
    assert place == [(str(path), 8, "C002"), (str(path), 14, "C001")]


def test_an_overlay_that_drops_an_extension_of_the_base_is_an_error(
    sound: Path, tmp_path: Path
) -> None:
    base, overlay = tmp_path / "base.yaml", tmp_path / "overlay.yaml"
    extensions = "extensions:\n  health_check: {}\n  pprof: {}\n"
    started = "service:\n  extensions: [health_check, pprof]\n"
    base.write_text(SOUND.replace("service:\n", extensions + started))
    overlay.write_text("service:\n  extensions: [health_check]\n")
    found = check_configuration([base, overlay], {})
    assert [(one.code, one.severity) for one in found] == [
        ("C002", Severity.WARNING),
        ("C003", Severity.ERROR),
    ]
    assert "pprof is no longer there" in found[1].message


def test_maps_of_an_overlay_are_merged_key_by_key(sound: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("exporters:\n  otlp_http:\n    compression: gzip\n")
    assert check_configuration([sound, overlay], {}) == ()


def test_a_variable_that_is_set_is_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        SOUND.replace("${env:BACKEND:-http://127.0.0.1:1}", "${env:BACKEND}")
    )
    assert check_configuration([path], {"BACKEND": "http://x"}) == ()


def test_the_replacement_of_a_relabelling_may_be_written_with_two_dollars(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SOUND.replace("${env:BACKEND:-http://127.0.0.1:1}", "vllm:$$1"))
    assert check_configuration([path], {}) == ()


@pytest.mark.parametrize("combination", COMBINATIONS, ids="+".join)
def test_the_bundles_own_combinations_have_no_error(combination: list[str]) -> None:
    set_here = {
        "SPECDECODE_TOKEN_FILE": "t",
        "SPECDECODE_TLS_CERT_FILE": "c",
        "SPECDECODE_TLS_KEY_FILE": "k",
        "SPECDECODE_BACKEND_TOKEN": "b",
    }
    config = bundle_root() / "config"
    found = check_configuration([config / name for name in combination], set_here)
    assert [one for one in found if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("text", "part"),
    [("a: [", "not YAML"), (None, "No such file")],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_name(
    text: str | None, part: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=part) as caught:
        check_configuration([path], {})
    assert str(path) in str(caught.value)


def test_without_files_there_is_nothing_to_check() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        check_configuration([], {})


def test_the_command_prints_findings_and_fails_on_errors_alone(
    sound: Path, tmp_path: Path
) -> None:
    warned, wrong = tmp_path / "warned.yaml", tmp_path / "wrong.yaml"
    warned.write_text(SOUND.replace("otlp_http", "otlphttp"))
    wrong.write_text(SOUND.replace("exporters: [otlp_http]", "exporters: [kafka]"))
    runs = [
        CliRunner().invoke(command, ["check", str(path)])
        for path in (sound, warned, wrong)
    ]
    assert [(run.exit_code, len(run.output.splitlines())) for run in runs] == [
        (0, 0),
        (0, 1),
        (1, 2),
    ]
    assert runs[1].output.startswith(f"{warned}:8: C006 warning: otlphttp")


def test_the_command_refuses_what_is_no_yaml(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: [")
    run = CliRunner().invoke(command, ["check", str(path)])
    assert (run.exit_code, "not YAML" in run.output) == (2, True)
