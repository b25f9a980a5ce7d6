"""Recorded responses of real servers, read by the adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from recorded_wire import Json, Recorded, recorded

from otel_specdecode.servers import ADAPTERS, EngineReport, read_payload

if TYPE_CHECKING:
    from otel_specdecode.model import Acceptance

RECORDED = recorded()
SPECULATING = [one for one in RECORDED if one.num_spec_tokens]


def reports(response: Recorded) -> list[EngineReport]:
    found = [read_payload(payload) for payload in response.payloads]
    return [report for report in found if report is not None]


def statistics(response: Recorded) -> Json | None:
    """What stands on the wire, looked up by hand."""
    for payload in response.payloads:
        stats = (payload.get("metrics") or {}).get("speculative_decoding")
        if stats is not None:
            return stats
    return None


@pytest.mark.parametrize("response", RECORDED, ids=str)
def test_no_real_response_is_malformed(response: Recorded) -> None:
    assert [report.malformed for report in reports(response) if report.malformed] == []


@pytest.mark.parametrize("response", RECORDED, ids=str)
def test_counts_are_those_on_the_wire(response: Recorded) -> None:
    found = [r.acceptance for r in reports(response) if r.acceptance is not None]
    stats = statistics(response)
    if stats is None:
        assert found == []
        return
    (acceptance,) = found
    assert acceptance.num_spec_steps == stats["num_spec_steps"]
    assert acceptance.num_draft_tokens == stats["num_draft_tokens"]
    assert acceptance.num_accepted_draft_tokens == stats["num_accepted_draft_tokens"]
    assert acceptance.histogram == tuple(stats["acceptance_histogram"])
    assert acceptance.num_spec_tokens == response.num_spec_tokens
    _hold_to_the_per_step_arrays(acceptance, stats)


def _hold_to_the_per_step_arrays(acceptance: Acceptance, stats: Json) -> None:
    accepted, drafted = stats.get("per_step_accepted"), stats.get("per_step_drafted")
    if accepted is None or drafted is None:
        return
    assert len(accepted) == len(drafted) == acceptance.num_spec_steps
    assert sum(accepted) == acceptance.num_accepted_draft_tokens
    assert sum(drafted) == acceptance.num_draft_tokens


@pytest.mark.parametrize("response", RECORDED, ids=str)
def test_the_engines_clock_is_that_on_the_wire_in_seconds(response: Recorded) -> None:
    for payload in response.payloads:
        metrics = payload.get("metrics") or {}
        if metrics.get("queue_time_ms") is None:
            continue
        report = read_payload(payload)
        assert report is not None
        assert report.timing is not None
        assert report.timing.queue_s == metrics["queue_time_ms"] / 1000
        assert report.timing.prefill_s == metrics["time_to_first_token_ms"] / 1000
        assert report.timing.decode_s == metrics["generation_time_ms"] / 1000


def test_a_request_of_one_token_drafted_nothing_and_has_no_rate() -> None:
    ones = [one for one in SPECULATING if one.name.endswith("one-token")]
    assert ones
    for response in ones:
        (acceptance,) = [r.acceptance for r in reports(response) if r.acceptance]
        assert acceptance.num_spec_steps == 0
        assert acceptance.draft_acceptance_rate is None
        assert acceptance.mean_acceptance_length is None


def test_several_choices_and_a_server_that_does_not_speculate_have_no_counts() -> None:
    silent = [
        one
        for one in RECORDED
        if "n-2" in one.name or "two-prompts" in one.name or not one.num_spec_tokens
    ]
    assert silent
    for response in silent:
        assert [r.acceptance for r in reports(response) if r.acceptance] == []


@pytest.mark.parametrize("response", RECORDED, ids=str)
def test_statistics_are_claimed_by_their_servers_adapter_and_nothing_else_by_any(
    response: Recorded,
) -> None:
    for payload in response.payloads:
        claims = [adapter.name for adapter in ADAPTERS if adapter.matches(payload)]
        has_statistics = payload.get("metrics") is not None
        assert claims == (["vllm"] if has_statistics else [])
