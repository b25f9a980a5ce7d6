"""The demo's figures are right, in both forms, and its errors are one line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from demo_shape import documented_fields, fields_of
from inline_snapshot import snapshot

from otel_specdecode.cli.demo import command
from otel_specdecode.simulator import Profile, Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

FAST = ("--time-scale", "0", "--requests", "2")


# What a terminal or a CI system may have set, and would change the print.
NEUTRAL = dict.fromkeys(("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"))


def run(*arguments: str) -> Result:
    return CliRunner(env=NEUTRAL).invoke(command, [*arguments, *FAST])


def demo(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def whole_demo() -> dict[str, Any]:
    return demo()


@pytest.fixture(scope="module")
def printed() -> str:
    result = run()
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    profile: Profile = getattr(request, "param", named_profile("mtp"))
    with simulate(replace(profile, time_scale=0)) as sim:
        yield sim


def test_the_chunk_counter_and_the_truth_stand_side_by_side(
    whole_demo: dict[str, Any],
) -> None:
    assert [
        (
            server["name"],
            server["chunk_counter"]["num_chunks"],
            server["truth"]["num_output_tokens"],
            round(server["truth"]["undercount_factor"], 2),
        )
        for server in whole_demo["servers"]
    ] == snapshot(
        [
            ("plain", 248, 256, 1.03),
            ("speculating", 88, 256, 2.91),
            ("coalescing", 66, 256, 3.88),
        ]
    )


def test_merging_without_an_accepted_draft_is_no_speculation(
    whole_demo: dict[str, Any],
) -> None:
    assert [
        (server["name"], server["chunking"]) for server in whole_demo["servers"]
    ] == [
        ("plain", {"unknown": 2}),
        ("speculating", {"speculation": 2}),
        ("coalescing", {"coalescing": 2}),
    ]


def test_acceptance_is_there_by_position_and_ratios_are_of_sums(
    whole_demo: dict[str, Any],
) -> None:
    plain, speculating, coalescing = whole_demo["servers"]
    assert plain["acceptance"] is None
    assert speculating["acceptance"] == snapshot(
        {
            "num_spec_tokens": 2,
            "num_spec_steps": 86,
            "num_draft_tokens": 172,
            "num_accepted_draft_tokens": 168,
            "draft_acceptance_rate": 0.9767441860465116,
            "mean_acceptance_length": 2.953488372093023,
            "acceptance_rate_by_position": [1.0, 0.9534883720930233],
        }
    )
    assert coalescing["acceptance"]["draft_acceptance_rate"] is None


def test_decode_steps_are_bounds_over_all_streams(whole_demo: dict[str, Any]) -> None:
    _, speculating, coalescing = whole_demo["servers"]
    assert speculating["decode_steps"] == {"low": 86.0, "high": 90.0}
    assert speculating["tokens_per_step"] == {"low": 254 / 90, "high": 254 / 86}
    assert coalescing["decode_steps"] == {"low": 254.0, "high": 254.0}


def test_every_number_says_where_it_came_from(whole_demo: dict[str, Any]) -> None:
    _, speculating, _ = whole_demo["servers"]
    assert speculating["sources"] == snapshot(
        {
            "num_output_tokens": "usage",
            "acceptance": "vllm response",
            "ttft_s": "client clock",
            "tpot_s": "client clock, usage, first chunk assumed",
            "chunk_gap_mean_s": "client clock",
            "server_timing": "vllm response",
        }
    )


def test_the_three_latencies_are_apart(whole_demo: dict[str, Any]) -> None:
    for server in whole_demo["servers"]:
        clock = server["client_clock"]
        assert 0 < clock["tpot_s"] < clock["chunk_gap_max_s"] + clock["ttft_median_s"]
        low, high = clock["chunk_gap_p95_s"]
        assert 0 <= low <= high <= clock["chunk_gap_max_s"]


def test_what_went_out_are_a_span_a_stream_and_the_same_sums(
    whole_demo: dict[str, Any],
) -> None:
    sent = {metric["name"]: metric for metric in whole_demo["sent"]["metrics"]}
    assert whole_demo["sent"]["num_spans"] == 6
    assert sent["specdecode.client.output_tokens"]["value"] == 3 * 256
    assert sent["specdecode.client.accepted_tokens"]["value"] == 168
    assert sent["specdecode.client.time_per_output_token"]["count"] == 6


def test_the_json_has_exactly_the_documented_fields(
    whole_demo: dict[str, Any],
) -> None:
    assert whole_demo["schema"] == "otel-specdecode.demo/1"
    assert fields_of(whole_demo) == documented_fields()


def test_the_print_fits_80_columns_without_colour_codes(printed: str) -> None:
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\x1b" not in printed


def test_the_print_shows_the_parts_in_order(printed: str) -> None:
    assert re.findall(r"^\d\. .*$", printed, re.MULTILINE) == snapshot(
        [
            "1. What a chunk counter says, and what is true",
            "2. Three latencies, kept apart (milliseconds)",
            "3. What speculation did",
            "4. Where each number came from (speculating)",
            "5. What went out as OpenTelemetry",
        ]
    )
    assert re.search(r"the counter is too low by +1\.03x +2\.91x +3\.88x", printed)
    assert re.search(r"why chunks .* unknown +speculation +coalescing", printed)
    assert "plain: no acceptance, vllm reports no speculation" in printed


def test_nothing_is_said_about_what_a_simulated_server_lacks(printed: str) -> None:
    assert "does not give" not in printed


def test_ones_own_server_is_asked_for_its_only_model(server: Simulator) -> None:
    document = demo("--base-url", server.base_url)
    (story,) = document["servers"]
    assert (story["model"], story["num_completed"]) == ("spec-demo", 2)
    # One more stream warmed the server up, and is in no figure.
    assert server.ledger.totals.num_requests == 3
    assert story["truth"]["num_output_tokens"] == 256


PLAIN = named_profile("plain")


@pytest.mark.parametrize(
    ("server", "advice"),
    [
        pytest.param(
            replace(PLAIN, simulate="usage=absent"),
            ["--enable-force-include-usage"],
            id="no usage",
        ),
        pytest.param(
            PLAIN,
            ["--per-request-spec-decode-metrics", "--enable-per-request-metrics"],
            id="no acceptance and no times",
        ),
        pytest.param(
            replace(PLAIN, timing_fields=True),
            ["--per-request-spec-decode-metrics"],
            id="no acceptance",
        ),
        pytest.param(
            replace(PLAIN, simulate="refuse=openai", timing_fields=True),
            ["refuses stream_options"],
            id="a refusal",
        ),
        pytest.param(
            replace(named_profile("mtp"), simulate="payload=contradiction"),
            ["contradict themselves", "--enable-per-request-metrics"],
            id="malformed",
        ),
        pytest.param(
            replace(named_profile("mtp"), end_after_tokens=1, timing_fields=True),
            ["fewer than two chunks"],
            id="too short",
        ),
        pytest.param(
            replace(named_profile("mtp"), timing_fields=True), [], id="nothing missing"
        ),
    ],
    indirect=["server"],
)
def test_what_ones_own_server_does_not_give_is_said_with_the_flag(
    server: Simulator, advice: list[str]
) -> None:
    result = run("--base-url", server.base_url)
    assert result.exit_code == 0, result.output
    _, _, given = result.stdout.partition("What this server does not give\n")
    said = [line for line in given.splitlines() if line.startswith("  - ")]
    # That is of a busy machine and not of the server.
    lines = [line for line in said if "This program was the bottleneck" not in line]
    text = " ".join(given.split())
    assert len(lines) == len(advice)
    assert [word for word in advice if word not in text] == []


def test_arrivals_that_lag_behind_the_engine_are_told() -> None:
    with simulate(replace(PLAIN, timing_fields=True, simulate="stall@5:1")) as sim:
        result = run("--base-url", sim.base_url, "--requests", "1", "--max-tokens", "8")
    assert "times as long to arrive as to make" in " ".join(result.stdout.split())


def test_an_unknown_number_is_a_dash_and_not_a_zero() -> None:
    with simulate(replace(PLAIN, time_scale=0, simulate="usage=absent")) as sim:
        result = run("--base-url", sim.base_url)
    assert re.search(r"output tokens \(usage\) +-\n", result.stdout)
    assert re.search(r"output tokens per second +-\n", result.stdout)
    assert re.search(r"TPOT, time per output token +-\n", result.stdout)
    assert re.search(r"chunk gap, mean +\d", result.stdout)
