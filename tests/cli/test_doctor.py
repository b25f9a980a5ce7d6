"""The doctor says what a server gives, what is missing, and the flag that mends it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from doctor_run import examine, run
from inline_snapshot import snapshot

from otel_specdecode.simulator import Profile, Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

MTP = replace(named_profile("mtp"), time_scale=0, timing_fields=True)


@pytest.fixture
def sim(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    with simulate(getattr(request, "param", MTP)) as simulator:
        yield simulator


def profile(**changes: object) -> Profile:
    return replace(MTP, **changes)


def test_a_server_that_gives_everything_is_exit_code_0(sim: Simulator) -> None:
    found = examine("--base-url", sim.base_url)
    assert (found.exit_code, found.codes) == (0, set())
    assert found.server == {
        "base_url": sim.base_url,
        "reachable": True,
        "failure": None,
        "kind": "vLLM",
        "version": "0.32.0",
        "models": ["spec-demo"],
        "model": "spec-demo",
        "engine": "vllm",
        "usage_on_streams": {"asked": "present", "unasked": "absent"},
        "acceptance": {
            "on_streams": "summary",
            "in_whole_answers": "summary",
            "malformed": None,
        },
        "metrics_page": {
            "speculation": "present",
            "num_draft_tokens": sim.ledger.totals.num_draft_tokens,
        },
        "has_timing": True,
        "unknown_fields": "ignored",
        "num_requests": 6,
    }


def test_it_asks_for_three_tiny_answers(sim: Simulator) -> None:
    examine("--base-url", sim.base_url)
    totals = sim.ledger.totals
    assert totals.num_requests == 3
    assert totals.num_output_tokens == 3 * 16


def fixes(profile: Profile, *arguments: str) -> dict[str, str | None]:
    """Code and remedy of everything that is missing or wrong."""
    with simulate(profile) as sim:
        found = examine("--base-url", sim.base_url, *arguments)
    assert found.exit_code == (1 if found.codes else 0)
    return {code: found.findings[code]["fix"] for code in sorted(found.codes)}


PER_REQUEST = "start vLLM with --per-request-spec-decode-metrics summary"
TIMES = "start vLLM with --enable-per-request-metrics"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"payload": "none"}, {"acceptance_absent": PER_REQUEST}),
        ({"timing_fields": False}, {"timing_absent": TIMES}),
        ({"num_engines": 3}, {}),
        ({"payload": "detailed"}, {}),
        ({"usage": "forced"}, {}),
        ({"usage": "unasked"}, {}),
        (
            {"speculation": None},
            {
                "acceptance_absent": "start vLLM with --speculative-config JSON"
                " --per-request-spec-decode-metrics summary"
            },
        ),
        (
            {"usage": "absent"},
            {"usage_absent": "start vLLM with --enable-force-include-usage"},
        ),
        ({"simulate": "refuse=azure", "usage": "forced"}, {}),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_what_is_missing_comes_with_the_flag_that_turns_it_on(
    changes: dict[str, object], expected: dict[str, str]
) -> None:
    assert fixes(profile(**changes)) == expected


@pytest.mark.parametrize("refusal", ["azure", "openai", "one-api", "pointer"])
def test_a_refusal_of_stream_options_is_named_and_the_rest_still_examined(
    refusal: str,
) -> None:
    with simulate(profile(simulate=f"refuse={refusal}")) as sim:
        found = examine("--base-url", sim.base_url)
    assert found.codes == {"usage_refused"}
    assert found.server["usage_on_streams"] == {"asked": "refused", "unasked": "absent"}
    assert found.server["acceptance"]["in_whole_answers"] == "summary"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"payload": "detailed"}, "acceptance_detailed"),
        ({"usage": "unasked"}, "usage_unasked"),
        ({"simulate": "refuse=azure", "usage": "forced"}, "usage_refused"),
    ],
)
def test_what_is_worth_knowing_leaves_the_exit_code_alone(
    changes: dict[str, object], code: str
) -> None:
    with simulate(profile(**changes)) as sim:
        found = examine("--base-url", sim.base_url)
    assert found.exit_code == 0
    assert found.findings[code]["level"] == "note"


@pytest.mark.parametrize(
    ("usage", "asked", "unasked"),
    [
        ("on-request", "present", "absent"),
        ("forced", "present", "every_chunk"),
        ("unasked", "present", "last_chunk"),
        ("absent", "absent", "absent"),
        ("null-elsewhere", "present", "absent"),
        ("with-choice", "present", "last_chunk"),
        ("zeros", "present", "absent"),
    ],
)
def test_where_usage_is_on_streams(usage: str, asked: str, unasked: str) -> None:
    with simulate(profile(usage=usage)) as sim:
        found = examine("--base-url", sim.base_url)
    assert found.server["usage_on_streams"] == {"asked": asked, "unasked": unasked}


@pytest.mark.parametrize(
    ("directive", "why"),
    [
        ("hang-up", "closed"),
        ("disconnect@5", ""),
        ("error@5", "the stream ended with an error event"),
        ("malformed@5", "the stream ended with an error event"),
        ("status=503", "answered 503"),
    ],
)
def test_a_server_that_breaks_is_a_failed_request(directive: str, why: str) -> None:
    with simulate(profile(simulate=directive)) as sim:
        found = examine("--base-url", sim.base_url)
    assert (found.exit_code, found.codes) == (1, {"request_failed"})
    assert why in found.findings["request_failed"]["text"]


@pytest.mark.parametrize(
    "directive", ["keep-alive@3", "named-event@3", "bare-chunk@3", "no-done", "split"]
)
def test_a_server_with_habits_of_its_own_is_read_all_the_same(directive: str) -> None:
    assert fixes(profile(simulate=directive)) == {}


def test_a_finding_can_be_ignored() -> None:
    wrong = profile(timing_fields=False, payload="none")
    assert set(fixes(wrong)) == {"timing_absent", "acceptance_absent"}
    assert set(fixes(wrong, "--ignore", "timing_absent")) == {"acceptance_absent"}
    both = ("--ignore", "timing_absent", "--ignore", "acceptance_absent")
    assert fixes(wrong, *both) == {}


@pytest.mark.parametrize(
    "sim", [profile(payload="none", timing_fields=False)], indirect=True
)
def test_the_screen(sim: Simulator) -> None:
    result = run("--base-url", sim.base_url)
    printed = result.stdout.replace(sim.base_url, "http://127.0.0.1:8000/v1")
    server, _, _ = printed.partition("This environment")
    _, _, findings = printed.partition("Missing or wrong")
    assert result.exit_code == 1
    assert server == snapshot("""\
Server http://127.0.0.1:8000/v1
  is              vLLM 0.32.0, model spec-demo
  usage           where a stream asks; none unasked
  acceptance      streams: absent; whole answers: absent
  /metrics        counts draft tokens, 30 so far
  engine's times  not sent
  unknown fields  ignored
""")
    assert findings == snapshot("""\

  - No acceptance per request. [acceptance_absent]
    => start vLLM with --per-request-spec-decode-metrics summary
  - No times of the engine (queue, prefill, decode). [timing_absent]
    => start vLLM with --enable-per-request-metrics
Worth knowing
  - Variables keep traces and metrics from going out over OTLP.
    [exporter_not_otlp]
""")


def test_the_screen_is_80_columns_and_one_page_without_colour_codes(
    sim: Simulator,
) -> None:
    printed = run("--base-url", sim.base_url).stdout
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 30
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\x1b" not in printed
    assert lines[-1] == "Nothing is missing."


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "mine"),
        ("--base-url", "localhost:8000/v1"),
        ("--base-url", "http://[::1"),
        ("--base-url", "http://a.test/v1?key=canary-key"),
        ("--base-url", "http://a.test:port/v1"),
        ("--base-url", "http://a.test/v1", "--timeout", "0"),
    ],
)
def test_misuse_is_exit_code_2_and_one_line(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr
