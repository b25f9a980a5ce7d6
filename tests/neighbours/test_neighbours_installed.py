"""Other instrumentations as they are released, on the same client as ours."""

from __future__ import annotations

import pytest
from reports import HTTP_SCOPE, OUR_SCOPE, Call, together

ORDERS = ("ours theirs", "theirs ours")
OFF = {"ours theirs": "theirs ours", "theirs ours": "ours theirs"}

DURATION = "gen_ai.client.operation.duration"
TTFC = "gen_ai.client.operation.time_to_first_chunk"
TOKENS = "gen_ai.client.token.usage"
REQUESTS = "specdecode.client.requests"

# Scenes that end before, or without, an answer that says how many tokens it has.
WITHOUT_TOKENS = {
    *("chat_left", "chat_left_in_with", "chat_raised_in_with", "chat_closed"),
    *("lines", "refused", "refused_stream", "dropped"),
}
# It asks the server for usage by itself, also where the caller reads lines.
ASKS_FOR_USAGE = {"ddtrace"}

pytestmark = pytest.mark.full  # a run has a hundred calls, and takes its time

each_order = pytest.mark.parametrize("on", ORDERS)


def both(name: str, on: str) -> list[Call]:
    return together(name, on, OFF[on]).calls


@each_order
def test_the_caller_sees_what_it_sees_without_us(name: str, on: str) -> None:
    without = {
        call.title: call.seen for call in together(name, "theirs", "theirs").calls
    }
    assert {call.title: call.seen for call in both(name, on)} == without


def test_the_caller_sees_what_a_bare_client_shows(name: str) -> None:
    bare = {call.title: call.seen for call in together(name, "").calls}
    ours = {call.title: call.seen for call in together(name, "ours", "ours").calls}
    assert ours == bare


@each_order
def test_each_request_is_counted_once(name: str, on: str) -> None:
    counted = {call.title: call.recorded(REQUESTS) for call in both(name, on)}
    assert counted == {title: [(OUR_SCOPE, 1, 1)] for title in counted}


@each_order
def test_the_standard_durations_are_recorded_once(name: str, on: str) -> None:
    calls = both(name, on)
    assert {c.title: c.num(DURATION) for c in calls} == {c.title: 1 for c in calls}
    assert [c.title for c in calls if c.num(TTFC) > 1] == []


@each_order
def test_the_standard_token_counts_are_recorded_once_and_are_right(
    name: str, on: str
) -> None:
    known = {
        call.title: (call.recorded(TOKENS, "input"), call.recorded(TOKENS, "output"))
        for call in together(name, "ours", "ours").calls
    }
    for call in both(name, on):
        if call.data["name"] in WITHOUT_TOKENS:
            found = [call.recorded(TOKENS, kind) for kind in ("input", "output")]
            if name not in ASKS_FOR_USAGE:
                assert found == [[], []], call.title
            continue
        for kind, alone in zip(("input", "output"), known[call.title], strict=True):
            counts = [(count, total) for _, count, total in call.recorded(TOKENS, kind)]
            assert counts == [(1, alone[0][2])], (call.title, kind)


@each_order
def test_our_attributes_are_on_one_span_of_each_call(name: str, on: str) -> None:
    carrying = {
        call.title: sum("specdecode.outcome" in s["attributes"] for s in call.spans)
        for call in both(name, on)
    }
    assert carrying == dict.fromkeys(carrying, 1)


@each_order
def test_each_span_is_under_the_applications_and_http_under_a_clients(
    name: str, on: str
) -> None:
    for call in both(name, on):
        by_id = {span["id"]: span for span in call.spans}
        for span in call.spans:
            parent = span["parent"]
            while parent in by_id:
                parent = by_id[parent]["parent"]
            assert parent == call.app, (call.title, span["name"])
        for span in call.spans:
            if span["scope"] == HTTP_SCOPE:
                around = by_id.get(span["parent"])
                assert around is not None, call.title
                assert around["scope"] != HTTP_SCOPE, call.title


@each_order
def test_the_server_is_told_of_the_innermost_span_and_of_no_other(
    name: str, on: str
) -> None:
    for call in both(name, on):
        ((header,),) = call.traceparents
        if name == "ddtrace":
            continue  # The trace is Datadog's, and goes to its agent.
        _, _, told, _ = header.split("-")
        http = [span["id"] for span in call.spans if span["scope"] == HTTP_SCOPE]
        if http:
            assert [told] == http, call.title
        else:  # Logfire suppresses the HTTP span
            assert name == "logfire"
            assert told in {span["id"] for span in call.spans}, call.title


@each_order
def test_the_applications_span_is_the_current_one_again(name: str, on: str) -> None:
    assert [c.title for c in both(name, on) if not c.app_is_current_after] == []


@each_order
def test_nobody_complains_of_us(name: str, on: str) -> None:
    assert together(name, on, OFF[on]).complaints == []


def drained_chats(name: str) -> list[Call]:
    """Streams of the sync and of the async client, whose tokens only we saw."""
    every = both(name, "ours theirs")
    calls = [call for call in every if call.data["name"] == "chat_drained"]
    assert len(calls) == 2
    return calls


@pytest.mark.only_for("genai")
def test_tokens_that_only_we_saw_are_in_its_metric(name: str) -> None:
    for call in drained_chats(name):
        ((scope, _, total),) = call.recorded(TOKENS, "output")
        assert (scope.rpartition(".")[2], total) == ("openai", 24)


@pytest.mark.only_for("openinference")
def test_tokens_that_only_we_saw_are_on_its_span(name: str) -> None:
    for call in drained_chats(name):
        theirs = next(s for s in call.spans if s["name"] == "ChatCompletion")
        assert theirs["attributes"]["llm.token_count.completion"] == 24
        assert theirs["attributes"]["llm.token_count.total"] == 32


# OpenInference and Logfire put back the function that they found, over ours.
PUT_BACK_OVER_US = {("openinference", "theirs ours"), ("logfire", "theirs ours")}
CANNOT_BE_SWITCHED_OFF = {"langfuse", "openllmetry"}


@each_order
@pytest.mark.parametrize("off", ["ours theirs", "theirs ours"])
def test_switched_off_in_either_order_nothing_of_ours_is_left(
    name: str, on: str, off: str
) -> None:
    whole = OFF[on] == off
    report = together(name, on, off, **({} if whole else {"scenes": ["chat_whole"]}))
    alone = together(name, "theirs", "theirs")
    first, last = off.split()
    left = report.after(last)["changed after a call"]
    assert left == alone.after("theirs")["changed after a call"]
    assert bool(left) is (name in CANNOT_BE_SWITCHED_OFF)
    for call in [*report.calls_after("ours"), *report.calls_after("theirs")]:
        assert call.data["failure"] is None, call.title
    assert [c.title for c in report.calls_after("ours") if c.num(REQUESTS)] == []
    if first == "theirs":
        missed = [c.title for c in report.calls_after("theirs") if not c.num(REQUESTS)]
        assert bool(missed) is ((name, on) in PUT_BACK_OVER_US)


@pytest.mark.only_for("genai", "openllmetry", "openinference")
@each_order
@pytest.mark.parametrize("plan", [{"sampled": False}, {"traced": False}], ids=str)
def test_without_recorded_spans_nothing_is_counted_twice_either(
    name: str, on: str, plan: dict[str, bool]
) -> None:
    few = ["chat_whole", "chat_drained", "refused", "completion_drained"]
    calls = together(name, on, scenes=few, **plan).calls
    assert {c.title: c.num(DURATION) for c in calls} == {c.title: 1 for c in calls}
    assert {c.title: c.num(REQUESTS) for c in calls} == {c.title: 1 for c in calls}
    drained = [c for c in calls if c.data["name"] == "chat_drained"]
    assert [c.num(TOKENS, "output") for c in drained] == [1, 1]


@pytest.mark.only_for("langfuse")
def test_langfuse_is_not_sent_our_spans_when_told_so(name: str) -> None:
    sent = together(name, "theirs ours", "ours theirs").data["theirs"]
    assert set(sent) == {"OpenAI-generation"}


def test_http_spans_are_there_where_their_instrumentation_is(name: str) -> None:
    whole = [c for c in both(name, "theirs ours") if c.data["name"] == "chat_whole"]
    has_http = [any(s["scope"] == HTTP_SCOPE for s in c.spans) for c in whole]
    assert all(has_http) is (name not in {"logfire", "ddtrace"})
