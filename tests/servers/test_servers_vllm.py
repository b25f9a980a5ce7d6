"""vLLM's statistics: what is valid, what is malformed, and never a wrong number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_specdecode.errors import PayloadError
from otel_specdecode.model import Acceptance, ServerTiming
from otel_specdecode.servers import VLLM, EngineReport, read_payload

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

# The example of https://github.com/vllm-project/vllm/pull/48915, counts and floats.
SUMMARY: Json = {
    "mean_acceptance_length": 2.5,
    "draft_acceptance_rate": 0.5,
    "acceptance_histogram": [3, 3, 3, 3],
    "num_spec_steps": 12,
    "num_accepted_draft_tokens": 18,
    "num_draft_tokens": 36,
    "num_spec_tokens": 3,
}
ACCEPTANCE = Acceptance(
    num_spec_steps=12,
    num_draft_tokens=36,
    num_accepted_draft_tokens=18,
    histogram=(3, 3, 3, 3),
    num_spec_tokens=3,
)
ALL_ZERO: Json = {
    "mean_acceptance_length": 1.0,
    "draft_acceptance_rate": 0.0,
    "acceptance_histogram": [0, 0, 0, 0],
    "num_spec_steps": 0,
    "num_accepted_draft_tokens": 0,
    "num_draft_tokens": 0,
    "num_spec_tokens": 3,
}
# An integer that no float can hold; JSON can.
HUGE = 10**400


def payload(stats: Any, **timing: Any) -> Json:
    return {"metrics": {"speculative_decoding": stats, **timing}}


def read(stats: Any, **timing: Any) -> EngineReport:
    report = read_payload(payload(stats, **timing))
    assert report is not None
    return report


def malformed_path(stats: Any) -> str | None:
    """The path of the field that is refused, below the object."""
    error = read(stats).malformed
    if error is None:
        return None
    return error.path.removeprefix("metrics.speculative_decoding").removeprefix(".")


def test_a_summary_is_read_as_its_counts() -> None:
    assert read(SUMMARY) == EngineReport(
        engine="vllm", acceptance=ACCEPTANCE, timing=None
    )


def test_a_request_that_drafted_nothing_carries_zeros_and_no_ratio() -> None:
    acceptance = read(ALL_ZERO).acceptance
    assert acceptance is not None
    assert acceptance.num_spec_steps == 0
    # The server says 0.0 and 1.0; neither has a denominator.
    assert acceptance.draft_acceptance_rate is None
    assert acceptance.mean_acceptance_length is None


@pytest.mark.parametrize(
    ("metrics", "recognised"),
    [
        (None, False),
        ({}, False),
        ([], False),
        ("speculative_decoding", False),
        ({"time_to_first_token_ms": 1.0}, False),
        ({"speculative_decoding": None}, True),
        ({"speculative_decoding": None, "queue_time_ms": None}, True),
        ({"queue_time_ms": None}, True),
    ],
)
def test_null_and_absent_say_nothing_and_are_told_apart_only_by_the_engine(
    metrics: Any, recognised: bool
) -> None:
    report = read_payload({"metrics": metrics})
    nothing = EngineReport(engine="vllm", acceptance=None, timing=None)
    assert report == (nothing if recognised else None)
    assert read_payload({}) is None


def test_explicit_nulls_beside_counts_change_nothing() -> None:
    nulls = {**SUMMARY, "per_step_accepted": None, "per_step_drafted": None}
    assert read(nulls, queue_time_ms=None).acceptance == ACCEPTANCE
    bare = {
        name: SUMMARY[name]
        for name in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
    }
    optional = (
        "mean_acceptance_length",
        "draft_acceptance_rate",
        "acceptance_histogram",
        "num_spec_tokens",
    )
    expected = Acceptance(
        num_spec_steps=12, num_draft_tokens=36, num_accepted_draft_tokens=18
    )
    assert read(bare).acceptance == expected
    assert read({**bare, **dict.fromkeys(optional)}).acceptance == expected


def test_a_histogram_longer_than_k_is_kept_whole() -> None:
    """Suffix drafts of ArcticInference may be longer than k."""
    stats = {
        **SUMMARY,
        "acceptance_histogram": [1, 0, 0, 0, 0, 1],
        "num_spec_steps": 2,
        "num_accepted_draft_tokens": 5,
        "num_draft_tokens": 10,
        "draft_acceptance_rate": 0.5,
        "mean_acceptance_length": 3.5,
    }
    acceptance = read(stats).acceptance
    assert acceptance is not None
    assert acceptance.accepted_by_position == (1, 1, 1, 1, 1)
    assert acceptance.num_spec_tokens == 3


class Counted(list[Any]):
    """A list that counts how often an item is taken out of it."""

    num_taken = 0

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.num_taken += 1
            yield item

    def __getitem__(self, index: Any) -> Any:
        self.num_taken += 1
        return super().__getitem__(index)


def test_thousands_of_steps_are_not_looked_at() -> None:
    per_step = Counted([3] * 50_000)
    stats = {**SUMMARY, "per_step_accepted": per_step, "per_step_drafted": per_step}
    assert read(stats).acceptance == ACCEPTANCE
    assert per_step.num_taken == 0


def test_a_histogram_too_long_to_be_one_is_refused_by_its_length_alone() -> None:
    buckets = Counted([0] * 1_000_000)
    stats = {**SUMMARY, "acceptance_histogram": buckets}
    assert malformed_path(stats) == "acceptance_histogram"
    assert buckets.num_taken == 0


BAD_COUNTS = [
    -1,
    -HUGE,
    10**9 + 1,
    HUGE,
    12.0,
    float("nan"),
    float("inf"),
    -float("inf"),
    "12",
    "",
    True,
    False,
    [],
    [12],
    {},
    {"value": 12},
]
COUNTS = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")


@pytest.mark.parametrize("value", [*BAD_COUNTS, None], ids=repr)
@pytest.mark.parametrize("name", COUNTS)
def test_what_is_no_count_is_refused_by_its_name(name: str, value: Any) -> None:
    assert malformed_path({**SUMMARY, name: value}) == name
    missing = {key: kept for key, kept in SUMMARY.items() if key != name}
    assert malformed_path(missing) == name


@pytest.mark.parametrize("value", BAD_COUNTS, ids=repr)
def test_a_k_that_is_no_count_is_refused(value: Any) -> None:
    assert malformed_path({**SUMMARY, "num_spec_tokens": value}) == "num_spec_tokens"


@pytest.mark.parametrize("value", BAD_COUNTS, ids=repr)
def test_a_bucket_that_is_no_count_is_refused_by_its_place(value: Any) -> None:
    stats = {**SUMMARY, "acceptance_histogram": [3, 3, value, 3]}
    assert malformed_path(stats) == "acceptance_histogram[2]"


NO_NUMBERS = [True, False, "0.5", "NaN", [], [0.5], {}, {"value": 0.5}]
BAD_FLOATS = [-0.5, 0.0, 1.01, 2.4, HUGE, -HUGE, float("nan"), float("inf")]
FLOATS = ("draft_acceptance_rate", "mean_acceptance_length")


@pytest.mark.parametrize("value", [*BAD_FLOATS, *NO_NUMBERS], ids=repr)
@pytest.mark.parametrize("name", FLOATS)
def test_a_float_that_its_counts_do_not_make_is_refused(name: str, value: Any) -> None:
    assert malformed_path({**SUMMARY, name: value}) == name


def test_true_is_no_rate_of_one() -> None:
    stats = {
        **SUMMARY,
        "num_draft_tokens": 18,
        "draft_acceptance_rate": True,
    }
    assert malformed_path(stats) == "draft_acceptance_rate"


@pytest.mark.parametrize("value", [0.5, 0.501, 0.495, None])
def test_a_rounded_float_still_agrees_with_its_counts(value: float | None) -> None:
    stats = {**SUMMARY, "draft_acceptance_rate": value}
    assert read(stats).acceptance == ACCEPTANCE


@pytest.mark.parametrize(
    ("path", "change"),
    [
        # more accepted than drafted
        ("num_accepted_draft_tokens", {"num_draft_tokens": 17}),
        # the histogram stands for other sums
        ("acceptance_histogram", {"acceptance_histogram": [3, 3, 3, 4]}),
        (
            "acceptance_histogram",
            {"acceptance_histogram": [2, 4, 4, 2]} | {"num_accepted_draft_tokens": 17},
        ),
        ("acceptance_histogram", {"num_spec_steps": 11}),
        # too short for k
        ("acceptance_histogram", {"acceptance_histogram": [3, 9]}),
        ("acceptance_histogram", {"acceptance_histogram": []}),
        ("acceptance_histogram", {"acceptance_histogram": {"0": 3}}),
        ("acceptance_histogram", {"acceptance_histogram": "3,3,3,3"}),
        ("acceptance_histogram", {"acceptance_histogram": 12}),
        # drafts without a step, and more than the steps have room for
        (
            "num_draft_tokens",
            {
                "num_spec_steps": 0,
                "num_accepted_draft_tokens": 0,
                "acceptance_histogram": [0, 0, 0, 0],
                "draft_acceptance_rate": None,
                "mean_acceptance_length": None,
            },
        ),
        ("num_draft_tokens", {"num_draft_tokens": 37, "draft_acceptance_rate": None}),
    ],
)
def test_counts_that_contradict_each_other_name_the_field(
    path: str, change: Json
) -> None:
    assert malformed_path({**SUMMARY, **change}) == path


@pytest.mark.parametrize("value", [[], [SUMMARY], "yes", 1, True, 0.5, False, 0, ""])
def test_what_is_no_object_is_refused(value: Any) -> None:
    assert malformed_path(value) == ""


def test_an_empty_object_is_no_statistics() -> None:
    assert malformed_path({}) == "num_spec_steps"


def test_a_malformed_payload_says_what_was_expected_and_seen() -> None:
    error = read({**SUMMARY, "acceptance_histogram": [3, 3, 6]}).malformed
    assert isinstance(error, PayloadError)
    assert str(error) == (
        "metrics.speculative_decoding.acceptance_histogram:"
        " expected 4 buckets (num_spec_tokens + 1), got 3"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("sk-secret prompt", "str"),
        (["sk-secret prompt"], "list"),
        ({"sk-secret": "prompt"}, "dict"),
        (float("nan"), "nan"),
        (HUGE, "a huge number"),
        (-HUGE, "a huge number"),
        (-1, "-1"),
        (None, "NoneType"),
    ],
)
def test_a_message_shows_a_number_or_a_type_and_never_text(
    value: Any, shown: str
) -> None:
    error = read({**SUMMARY, "num_draft_tokens": value}).malformed
    assert str(error).endswith(f", got {shown}")
    assert "secret" not in str(error)


def test_malformed_counts_leave_the_engines_clock_alone() -> None:
    report = read({**SUMMARY, "num_draft_tokens": -1}, queue_time_ms=2.0)
    assert report.acceptance is None
    assert report.timing == ServerTiming(queue_s=0.002)


@pytest.mark.parametrize(
    "value",
    [-1.0, -0.001, HUGE, -HUGE, 1e11, float("nan"), float("inf"), "1", True, [], {}],
    ids=repr,
)
@pytest.mark.parametrize(
    "name", ["queue_time_ms", "time_to_first_token_ms", "generation_time_ms"]
)
def test_a_time_that_is_none_is_missing(name: str, value: Any) -> None:
    assert read(SUMMARY, **{name: value}).timing is None
    # An integer is a time as well.
    others = {"queue_time_ms": 0, "time_to_first_token_ms": 8, "generation_time_ms": 16}
    expected = {"queue_time_ms": "queue_s", "time_to_first_token_ms": "prefill_s"}
    timing = read(SUMMARY, **{**others, name: value}).timing
    assert timing is not None
    assert getattr(timing, expected.get(name, "decode_s")) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*SUMMARY, "x"]), json_values), st.data())
def test_whatever_the_server_sends_is_valid_or_malformed_and_never_both(
    change: Json, data: st.DataObject
) -> None:
    stats = {**SUMMARY, **change} if data.draw(st.booleans()) else change
    report = read(stats)
    assert (report.acceptance is None) != (report.malformed is None)
    if report.acceptance is not None:
        for name in COUNTS:
            assert getattr(report.acceptance, name) == stats[name]


def test_a_payload_survives_the_way_over_json() -> None:
    sent = payload(SUMMARY, queue_time_ms=0.5)
    assert read_payload(json.loads(json.dumps(sent))) == read_payload(sent)
    assert VLLM.name == "vllm"
