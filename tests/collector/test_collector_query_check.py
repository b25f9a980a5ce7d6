"""Wrong queries seen in the wild are named; the bundle's own are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from otel_specdecode.cli.collector import command
from otel_specdecode.collector import bundle_root, check_query, check_query_file
from otel_specdecode.collector.metric_names import (
    CLIENT_COUNTERS,
    CLIENT_HISTOGRAMS,
    missing_name,
)
from otel_specdecode.collector.query_files import queries_of
from otel_specdecode.collector.query_tree import parse, selectors
from otel_specdecode.errors import ConfigError
from otel_specdecode.recording import semconv

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "collector.md"
DRAFTED = "rate(vllm:spec_decode_num_draft_tokens_total[5m])"
ACCEPTED = "rate(vllm:spec_decode_num_accepted_tokens_total[5m])"
OWN_FILES = [
    *sorted(bundle_root().glob("prometheus/rules/*.yml")),
    *sorted(bundle_root().glob("grafana/dashboards/*.json")),
]
# Each was found in a public dashboard, alert or load test.
WILD = {
    "a gauge that only the first engine had": (
        "avg(vllm:spec_decode_acceptance_rate) < 0.5",
        "Q101",
        "num_accepted_tokens_total",
    ),
    "another of these": (
        "vllm:spec_decode_draft_overhead_fraction > 0.3",
        "Q101",
        "1 - acceptance",
    ),
    "a name that stands in the braces": (
        'sum({__name__="vllm:spec_decode_acceptance_rate"})',
        "Q101",
        "vllm:spec_decode_acceptance_rate",
    ),
    "a name in quotes": (
        'rate({"vllm:num_preemptions", engine="0"}[5m])',
        "Q102",
        "vllm:num_preemptions_total",
    ),
    "the ending of a counter twice": (
        "rate(vllm:spec_decode_num_drafts_total_total[5m])",
        "Q101",
        "vllm:spec_decode_num_drafts_total_total",
    ),
    "the name of a log line": (
        "vllm:spec_decode_draft_acceptance_rate",
        "Q101",
        "no server or client of today",
    ),
    "a counter without its ending": (
        "sum(rate(vllm:num_preemptions[5m])) > 0.1",
        "Q102",
        "vllm:num_preemptions_total",
    ),
    "a gauge with the ending of a counter": (
        "vllm:num_requests_running_total",
        "Q102",
        "is a gauge",
    ),
    "a histogram without an ending": (
        "rate(vllm:time_to_first_token_seconds[5m])",
        "Q102",
        "_bucket",
    ),
    "the mean of a lifetime": (
        "vllm:time_to_first_token_seconds_sum / vllm:time_to_first_token_seconds_count",
        "Q103",
        "a whole lifetime",
    ),
    "the difference of two lifetimes": (
        (
            "vllm:spec_decode_num_draft_tokens_total"
            " - vllm:spec_decode_num_accepted_tokens_total"
        ),
        "Q103",
        "a whole lifetime",
    ),
    "acceptance of a lifetime": (
        (
            "vllm:spec_decode_num_accepted_tokens_total"
            " / vllm:spec_decode_num_draft_tokens_total"
        ),
        "Q103",
        "a whole lifetime",
    ),
    "a pattern for both forms of a name": (
        'rate({__name__=~"vllm[:_]spec_decode_num_drafts_total"}[5m])',
        "Q104",
        "both forms",
    ),
    "a draft length written into the query": (
        f"{ACCEPTED} / {DRAFTED} * 4 < 1.8",
        "Q105",
        "takes the draft length for a constant",
    ),
    "a draft length above the line": (
        f"{ACCEPTED} * 5 / {DRAFTED}",
        "Q105",
        "acceptance times 5",
    ),
    "a draft length below the line": (
        f"sum({ACCEPTED}) / (sum({DRAFTED}) / 3)",
        "Q105",
        "acceptance times 3",
    ),
    "tokens per step over draft tokens": (
        f"1 + sum({ACCEPTED}) / (sum({DRAFTED}) > 0)",
        "Q108",
        "below the line stand steps",
    ),
    "the same the other way round": (
        f"(({ACCEPTED} / {DRAFTED})) + 1",
        "Q108",
        "rate(num_drafts)",
    ),
    "accepted by position over draft tokens": (
        (
            "sum by (position) "
            "(rate(vllm:spec_decode_num_accepted_tokens_per_pos_total[5m]))"
            f" / ignoring (position) group_left () sum({DRAFTED})"
        ),
        "Q108",
        "divides by the draft length",
    ),
    "something small below the line": (
        f"sum({ACCEPTED}) / (sum({DRAFTED}) + 0.001)",
        "Q106",
        "a number added below the line",
    ),
    "the mean of the servers' quotients": (
        f"avg by (model_name) (({ACCEPTED} / {DRAFTED}))",
        "Q107",
        "the mean of quotients",
    ),
    "the mean of quantiles": (
        (
            "avg(histogram_quantile(0.95, "
            "rate(vllm:time_to_first_token_seconds_bucket[5m])))"
        ),
        "Q107",
        "no quantile",
    ),
    "the rate of a sum": (
        "rate(sum(vllm:spec_decode_num_drafts_total)[5m:])",
        "Q111",
        "the restart of one server",
    ),
    "the rate of a gauge": (
        "rate(vllm:num_requests_running[5m])",
        "Q109",
        "takes each fall for a reset",
    ),
    "the difference of a counter": (
        "delta(vllm:generation_tokens_total[1h])",
        "Q109",
        "negative after a restart",
    ),
    "a value made up for silence": (
        f"sum({ACCEPTED}) / sum({DRAFTED}) or vector(1)",
        "Q110",
        "no traffic is a gap",
    ),
    "the same for a recorded ratio": (
        "model:vllm_draft_acceptance:ratio_rate5m or on () (vector(0))",
        "Q110",
        "no traffic is a gap",
    ),
    "the mean of a ratio that rules record": (
        "avg(job_model:vllm_draft_acceptance:ratio_rate5m)",
        "Q107",
        "divide the sums",
    ),
    "the mean of a recorded length over time": (
        "avg_over_time(model:specdecode_client_mean_acceptance_length:rate5m[1h])",
        "Q107",
        "divide the sums",
    ),
    "a clamp that hides silence": (
        f"sum({ACCEPTED}) / clamp_min(sum({DRAFTED}), 1)",
        "Q106",
        "/ (rate > 0)",
    ),
    "a native histogram that may be none": (
        "histogram_quantile(0.5, rate(vllm:time_to_first_token_seconds[5m]))",
        "Q102",
        "ask for both, joined by or",
    ),
    "the mean of ratios": (
        "avg(sglang:spec_accept_rate)",
        "Q107",
        "an idle one like a busy one",
    ),
    "the mean of a ratio over time": (
        "avg_over_time(sglang:spec_accept_length[1h])",
        "Q107",
        "sglang:spec_accept_length",
    ),
}
RIGHT = [
    f"sum({ACCEPTED}) / (sum({DRAFTED}) > 0)",
    "rate(vllm:iteration_tokens_total_count[5m])",
    (
        "histogram_quantile(0.5, sum by (le)"
        " (rate(vllm:time_to_first_token_seconds_bucket[5m])))"
    ),
    "vllm:num_requests_running > 100",
    "absent(vllm:spec_decode_num_drafts_total)",
    "sum by (job) (last_over_time(specdecode_client_chunk_count_sites_total[1h])) > 0",
    "sglang:spec_accept_rate > 0.5",
    "100 * up",
    f"100 * sum({ACCEPTED}) / (sum({DRAFTED}) > 0)",
    f"sum({ACCEPTED}) / 5",
    f"{ACCEPTED} / {DRAFTED} / 0.7",
    f"sum({ACCEPTED}) / 0 / {DRAFTED}",
    f"1 + sum({ACCEPTED}) / (sum(rate(vllm:spec_decode_num_drafts_total[5m])) > 0)",
    f"1 - {ACCEPTED} / {DRAFTED}",
    "sum(rate(vllm:generation_tokens_total[5m])) or vector(0)",
    "vllm:num_requests_running or vllm_num_requests_running",
    "delta(vllm:num_requests_running[5m])",
    "avg(job_model:vllm_generation_tokens:rate5m)",
    "max(job_model:vllm_draft_acceptance:ratio_rate5m)",
    f"100 * {ACCEPTED}",
    f"{ACCEPTED} / {DRAFTED} * 100",
    f"sum({ACCEPTED}) / (sum({DRAFTED}) > 0) * 1e2",
    "vllm:generation_tokens_total - vllm:generation_tokens_total offset 1h",
    (
        "sum(max_over_time(vllm:generation_tokens_total[1h])"
        " - min_over_time(vllm:generation_tokens_total[1h]))"
    ),
    "vllm:lora_requests_info",
    "rate(vllm:kv_offload_load_bytes_total[5m])",
    "rate(vllm:nixl_xfer_time_seconds_sum[5m])",
    "clamp_min(rate(http_requests_total[5m]), 1)",
    "rate(vllm_spec_decode_num_drafts_total[$__rate_interval])",
    "topk($n, sum by ($label, job) (rate(vllm:generation_tokens_total[$range])))",
    "topk(${n}, rate(vllm:generation_tokens_total[5m])) > $floor",
    "histogram_quantile($q, rate(vllm:time_to_first_token_seconds_bucket[5m]))",
    (
        "histogram_quantile(0.5, rate(vllm:time_to_first_token_seconds_bucket[5m]))"
        " or histogram_quantile(0.5, rate(vllm:time_to_first_token_seconds[5m]))"
    ),
]


@pytest.mark.parametrize("case", WILD)
def test_it_names(case: str) -> None:
    query, code, part = WILD[case]
    assert any(
        one.code == code and part in one.message for one in check_query(query)
    ), check_query(query)


@pytest.mark.parametrize("query", RIGHT)
def test_it_has_nothing_to_say_of(query: str) -> None:
    assert check_query(query) == ()


def test_what_is_no_promql_is_an_error_that_shows_it() -> None:
    with pytest.raises(ConfigError, match=r"not PromQL.*sum by"):
        check_query("sum by (job rate(x[5m])")


@pytest.mark.parametrize("file", OWN_FILES, ids=lambda file: file.name)
def test_the_bundles_own_queries_have_no_finding(file: Path) -> None:
    assert check_query_file(file) == ()


@pytest.mark.parametrize("file", OWN_FILES, ids=lambda file: file.name)
def test_each_metric_of_the_bundle_is_one_that_somebody_exports(file: Path) -> None:
    elsewhere = re.compile(r"otelcol_|up$|ALERTS$|scrape_duration_seconds$|\w+:")
    unknown = {
        selector.name
        for _, query in queries_of(file)
        for selector in selectors(parse(query))
        if selector.name
        and not selector.name.startswith(("vllm:", "vllm_", "specdecode_client_"))
        and not elsewhere.match(selector.name)
    }
    assert unknown == set()


@pytest.mark.parametrize("file", OWN_FILES, ids=lambda file: file.name)
def test_a_server_is_asked_in_both_forms_of_its_names(file: Path) -> None:
    for _, query in queries_of(file):
        names = {one.name for one in selectors(parse(query)) if one.name}
        colon, escaped = (
            {name[5:] for name in names if name.startswith(prefix)}
            for prefix in ("vllm:", "vllm_")
        )
        assert colon == escaped, query


def test_the_servers_names_are_those_of_a_real_page() -> None:
    lines = (HERE / "vllm-0.32.0-families.txt").read_text().splitlines()[1:]
    for name, kind in (line.split() for line in lines):
        series = f"{name}_bucket" if kind == "histogram" else name
        assert missing_name(series) is None, series


def prometheus_name(metric: semconv.Metric) -> str:
    name = metric.name.removeprefix("specdecode.client.").replace(".", "_")
    endings = {"s": "_seconds", "{token}/s": "_per_second"}
    return name + endings.get(metric.unit, "")


def test_the_clients_names_are_those_of_the_instruments() -> None:
    assert {prometheus_name(one) for one in semconv.COUNTERS} == CLIENT_COUNTERS
    assert {prometheus_name(one) for one in semconv.HISTOGRAMS} == CLIENT_HISTOGRAMS


def test_each_code_has_a_line_in_the_docs() -> None:
    listed = set(re.findall(r"^\| (Q\d{3}) \|", DOCS.read_text(), re.MULTILINE))
    assert listed == {code for _, code, _ in WILD.values()} | {"Q100"}


def test_a_rule_file_is_reported_with_lines_and_fails_the_command(
    tmp_path: Path,
) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(
        "groups:\n- name: g\n  rules:\n  - alert: A\n"
        "    expr: rate(vllm:num_preemptions[5m]) > 0\n"
        "  - alert: B\n    expr: sum by (\n"
    )
    run = CliRunner().invoke(command, ["check-queries", str(rules)])
    assert run.exit_code == 1
    first, second = run.output.splitlines()
    assert first.startswith(f"{rules}:5: Q102 error: vllm:num_preemptions")
    assert second.startswith(f"{rules}:7: Q100 error: not PromQL")


def test_a_file_without_queries_is_misuse(tmp_path: Path) -> None:
    other = tmp_path / "other.yml"
    other.write_text("a: 1\n")
    run = CliRunner().invoke(command, ["check-queries", str(other)])
    assert (run.exit_code, "found no query" in run.output) == (2, True)
