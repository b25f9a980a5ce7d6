"""The checker names the traps of a collector's configuration, and only those."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from combinations import COMBINATIONS
from sound_config import SOUND

from otel_specdecode.cli.collector import command
from otel_specdecode.collector import Severity, bundle_root, check_configuration
from otel_specdecode.errors import ConfigError

DOCS = Path(__file__).resolve().parents[2] / "docs" / "collector.md"
CASES = {
    "a pipeline names what is not defined": (
        ("exporters: [otlp_http]", "exporters: [otlp_http, kafka]"),
        "C001",
        "kafka is listed but not defined under exporters",
    ),
    "a component that nothing starts": (
        ("exporters:\n  otlp", "exporters:\n  nop: {}\n  otlp"),
        "C002",
        "exporter nop is defined and never started",
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
    "a log of its own that says everything": (
        ("service:\n", "service:\n  telemetry: {logs: {level: DEBUG}}\n"),
        "C022",
        "before prompts and keys are removed",
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
    "an exporter without an address": (
        ('{endpoint: "${env:BACKEND:-http://127.0.0.1:1}"}', "{compression: gzip}"),
        "C015",
        "otlp_http has no endpoint; is the file missing that gives it one",
    ),
    "an address of one signal that stops short": (
        ('{endpoint: "${env', '{traces_endpoint: "http://a:1/otlp", endpoint: "${env'),
        "C015",
        "traces_endpoint is taken whole; http://a:1/otlp lacks",
    ),
    "an address of one signal without its scheme": (
        ('endpoint: "${env:BACKEND:-http://', 'traces_endpoint: "${env:BACKEND:-'),
        "C015",
        "otlp_http: 127.0.0.1:1 has no scheme",
    ),
    "an address beside the one that is used": (
        (
            '{endpoint: "${env',
            '{traces_endpoint: "http://a/v1/traces", endpoint: "${env',
        ),
        "C015",
        "nothing goes to endpoint, since traces have an address of their own",
    ),
    "a path that a variable has already": (
        ("${env:BACKEND:-http://127.0.0.1:1}", "http://a:1/api/v1/write/api/v1/write"),
        "C015",
        "http://a:1/api/v1/write/api/v1/write has a path twice",
    ),
    "a token that anybody on the way can read": (
        (
            '{endpoint: "${env:BACKEND:-http://127.0.0.1:1}"}',
            '{endpoint: "http://a:1", headers: {Authorization: "${env:T:-}"}}',
        ),
        "C016",
        "shows its Authorization to http://a:1 without TLS",
    ),
    "a scrape that may take longer than its turn": (
        (
            "  otlp:\n",
            (
                "  prometheus: {config: {scrape_configs: [{job_name: v,"
                " scrape_interval: 5s, scrape_timeout: 1m}]}}\n  otlp:\n"
            ),
        ),
        "C026",
        "scrape job v: scrape_timeout is longer than scrape_interval",
    ),
    "a length of time without its unit": (
        (
            "  otlp:\n",
            (
                "  prometheus: {config: {scrape_configs: [{job_name: v,"
                ' scrape_interval: "${env:EVERY:-15}"}]}}\n  otlp:\n'
            ),
        ),
        "C026",
        "scrape_interval 15 is no length of time",
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
    "a server to scrape with its scheme": (
        (
            "  otlp:\n",
            (
                "  prometheus: {config: {scrape_configs: [{job_name: v,"
                ' static_configs: [{targets: ["http://a:1"]}]}]}}\n  otlp:\n'
            ),
        ),
        "C023",
        "scrape job v: http://a:1 is no list of servers",
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
    "an authenticator that is not started": (
        ('"127.0.0.1:4317"', '"127.0.0.1:4317", auth: {authenticator: oidc}'),
        "C013",
        "receivers.otlp.protocols.grpc.auth.authenticator: oidc is not in",
    ),
    "a token in the file": (
        ('{endpoint: "${env', '{headers: {Authorization: Bearer x}, endpoint: "${env'),
        "C014",
        "exporters.otlp_http.headers.Authorization stands in the file",
    ),
    "a key under the name that a vendor gives it": (
        ('{endpoint: "${env', '{headers: {X-API-Key: abc}, endpoint: "${env'),
        "C014",
        "exporters.otlp_http.headers.X-API-Key stands in the file",
    ),
    "a pipeline of a signal that there is not": (
        ("    traces:", "    trace:"),
        "C025",
        "trace is none of traces, metrics, logs, profiles",
    ),
    "a pipeline that ends nowhere": (
        ("      exporters: [otlp_http]\n", ""),
        "C025",
        "expected a list of exporters",
    ),
    "a receiver that is no list": (
        ("receivers: [otlp]", "receivers: otlp"),
        "C025",
        "expected a list of receivers",
    ),
    "a connector that leads nowhere": (
        (
            "exporters: [otlp_http]",
            "exporters: [otlp_http, forward]\nconnectors: {forward: {}}",
        ),
        "C025",
        "connector forward is the receiver of no pipeline",
    ),
    "a connector that nothing feeds": (
        (
            "exporters: [otlp_http]",
            """exporters: [otlp_http]
    traces/2: {receivers: [forward], exporters: [otlp_http]}
connectors: {forward: {}}""",
        ),
        "C025",
        "connector forward is the exporter of no pipeline",
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


# Whole files as people have them: each line that must be found says so.
BROKEN = sorted(Path(__file__).with_name("broken").glob("*.yaml"))


def announced(path: Path) -> set[tuple[int, str]]:
    return {
        (number, code)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        for code in line.partition("# finds: ")[2].split()
    }


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_of_a_whole_file_it_finds_each_fault_and_nothing_else(path: Path) -> None:
    found = {(one.line, one.code) for one in check_configuration([path], {})}
    assert found == announced(path)


def test_each_code_has_a_case_and_a_line_in_the_docs() -> None:
    folder = Path(check_configuration.__code__.co_filename).parent
    text = "".join(file.read_text() for file in folder.glob("*_rules.py"))
    codes = set(re.findall(r'"(C\d{3})"', text))
    in_files = {code for path in BROKEN for _, code in announced(path)}
    assert {code for _, code, _ in CASES.values()} | in_files | {"C003"} == codes
    assert set(re.findall(r"^\| (C\d{3}) \|", DOCS.read_text(), re.MULTILINE)) == codes


def test_a_finding_has_the_place_of_what_it_is_about(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SOUND.replace("exporters: [otlp_http]", "exporters: [kafka]"))
    place = [(one.file, one.line, one.code) for one in check_configuration([path], {})]
    assert place == [(str(path), 8, "C002"), (str(path), 14, "C001")]


def test_an_overlay_that_drops_an_extension_of_the_base_is_an_error(
    tmp_path: Path,
) -> None:
    base, overlay = tmp_path / "base.yaml", tmp_path / "overlay.yaml"
    extensions = "extensions:\n  health_check: {}\n  pprof: {}\n"
    started = "service:\n  extensions: [health_check, pprof]\n"
    base.write_text(SOUND.replace("service:\n", extensions + started))
    overlay.write_text("service:\n  extensions: [health_check]\n")
    found = check_configuration([base, overlay], {})
    assert [(one.code, one.severity) for one in found] == [("C003", Severity.ERROR)]
    assert "pprof is no longer there" in found[0].message


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


def test_a_variable_that_is_set_to_nothing_does_not_take_its_default(
    sound: Path,
) -> None:
    (found,) = check_configuration([sound], {"BACKEND": ""})
    assert (found.code, "BACKEND is set to nothing" in found.message) == ("C010", True)


def test_a_variable_whose_default_is_nothing_may_be_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SOUND.replace('1}"}', '1}", compression: "${env:HOW:-}"}'))
    assert check_configuration([path], {"HOW": ""}) == ()


@pytest.mark.parametrize("address", ["backend:4318", "http://backend:4317"])
def test_an_address_in_a_variable_is_looked_at_as_if_it_stood_in_the_file(
    address: str, sound: Path
) -> None:
    found = check_configuration([sound], {"BACKEND": address})
    assert [one.code for one in found] == ["C015"]


def test_a_door_that_a_variable_opens_is_open(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SOUND.replace('"127.0.0.1:4317"', '"${env:AT:-127.0.0.1:4317}"'))
    found = check_configuration([path], {"AT": "0.0.0.0:4317"})
    assert [one.code for one in found] == ["C012"]


def test_a_base_given_after_its_overlay_sends_nothing_and_is_an_error() -> None:
    config = bundle_root() / "config"
    files = [config / "export-prometheus-otlp.yaml", config / "base.yaml"]
    (lost,) = (one for one in check_configuration(files, {}) if one.code == "C003")
    assert lost.severity is Severity.ERROR
    assert "otlp_http/metrics gets nothing; a base goes before" in lost.message


def test_of_two_ways_out_the_one_that_gets_nothing_is_named() -> None:
    names = ("base", "export-prometheus-scrape", "export-prometheus-otlp")
    files = [bundle_root() / "config" / f"{name}.yaml" for name in names]
    (lost,) = (one for one in check_configuration(files, {}) if one.code == "C003")
    assert lost.severity is Severity.WARNING
    assert "prometheus gets nothing" in lost.message


def test_two_overlays_that_share_an_exporter_do_not_both_get_what_it_sends() -> None:
    names = ("base", "export-otlp", "export-prometheus-otlp")
    files = [bundle_root() / "config" / f"{name}.yaml" for name in names]
    found = check_configuration(files, {})
    assert [(one.code, one.message.partition(":")[0]) for one in found] == [
        ("C015", "otlp_http/metrics")
    ]


@pytest.mark.parametrize("length", ["15s", "1m30s", "500ms", "1h", ""])
def test_lengths_of_time_as_prometheus_writes_them_are_none(length: str) -> None:
    base = bundle_root() / "config" / "base.yaml"
    found = check_configuration([base], {"SPECDECODE_SCRAPE_INTERVAL": length})
    assert [one for one in found if one.code == "C026"] == []


def test_a_configuration_on_standard_input_is_read_in_its_turn(sound: Path) -> None:
    overlay = "exporters:\n  otlp_http: {endpoint: backend}\n"
    args = ["check", str(sound), "-", "--json"]
    done = CliRunner().invoke(command, args, input=overlay)
    assert json.loads(done.stdout) == [
        {
            "file": "-",
            "line": 2,
            "code": "C015",
            "message": "otlp_http: backend has no scheme; write http:// or https://",
            "severity": "error",
        }
    ]
    assert done.exit_code == 1


@pytest.mark.parametrize("group", ["vllm:$1", "vllm:$$1", "vllm:$${1}"])
def test_a_group_of_a_relabelling_may_be_written_with_either_number_of_dollars(
    group: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    given = f'{{headers: {{x-rule: "{group}"}}, '
    path.write_text(SOUND.replace('{endpoint: "${env', f'{given}endpoint: "${{env'))
    assert check_configuration([path], {}) == ()


@pytest.mark.parametrize("combination", COMBINATIONS, ids="+".join)
def test_the_bundles_own_combinations_have_no_error(
    combination: tuple[str, ...],
) -> None:
    set_here = {
        "SPECDECODE_TOKEN_FILE": "t",
        "SPECDECODE_TLS_CERT_FILE": "c",
        "SPECDECODE_TLS_KEY_FILE": "k",
        "SPECDECODE_BACKEND_TOKEN": "b",
    }
    config = bundle_root() / "config"
    files = [config / f"{name}.yaml" for name in combination]
    found = check_configuration(files, set_here)
    assert [one for one in found if one.severity is Severity.ERROR] == []


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


@pytest.mark.parametrize(
    ("targets", "named"),
    [
        ("vllm.internal:8000", "vllm.internal:8000"),
        ("a:8000,b:8000", "a:8000,b:8000"),
        ('["http://a:8000"]', "http://a:8000"),
        ('["a:8000/metrics"]', "a:8000/metrics"),
        ('["a:8000", "b"]', "b"),
        ('["a:8000"', '["a:8000"'),
        ("8000", "8000"),
    ],
)
def test_servers_in_a_form_that_the_collector_does_not_take_are_named(
    targets: str, named: str
) -> None:
    base = bundle_root() / "config" / "base.yaml"
    found = check_configuration([base], {"SPECDECODE_VLLM_TARGETS": targets})
    (one,) = (finding for finding in found if finding.code == "C023")
    assert one.message.startswith(f"scrape job vllm: {named} is no list of servers;")


@pytest.mark.parametrize(
    "targets",
    ["[]", "", '["a:8000"]', '["a.b.c:8000", "127.0.0.1:1", "[::1]:8000"]', "[a:8000]"],
)
def test_servers_in_the_form_that_it_takes_are_not(targets: str) -> None:
    base = bundle_root() / "config" / "base.yaml"
    found = check_configuration([base], {"SPECDECODE_VLLM_TARGETS": targets})
    assert [finding for finding in found if finding.code == "C023"] == []


def test_servers_that_stand_in_the_file_are_checked_too(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    job = (
        "{job_name: own, metric_name_escaping_scheme: allow-utf-8,"
        ' static_configs: [{targets: ["${env:A}:8000", "https://b:1"]}, {labels: {}}]}'
    )
    own.write_text(
        f"receivers:\n  prometheus: {{config: {{scrape_configs: [{job}]}}}}\n"
    )
    base = bundle_root() / "config" / "base.yaml"
    found = check_configuration([base, own], {"A": "a"})
    told = [finding.message for finding in found if finding.code == "C023"]
    assert [message.split(" is ")[0] for message in told] == [
        "scrape job own: https://b:1"
    ]
