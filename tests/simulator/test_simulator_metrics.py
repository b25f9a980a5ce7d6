"""`/metrics` reads as vLLM's does, and says what the ledger says."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from simulated import CHAT, chat, get

from otel_specdecode.simulator import (
    Profile,
    Responder,
    StepTime,
    Totals,
    named_profile,
)

_FAST = replace(named_profile("ngram"), time_scale=0)
_SPEC = "vllm:spec_decode_num_"


def _samples(responder: Responder) -> dict[tuple[str, str, str], float]:
    """Value by (name, engine, position or reason)."""
    found: dict[tuple[str, str, str], float] = {}
    text = get(responder, "/metrics").decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("model_name") == "spec-demo"
            engine = labels.pop("engine")
            found[sample.name, engine, "".join(labels.values())] = sample.value
    return found


def _shown(responder: Responder, engine: int) -> Totals:
    """The sums of one engine, as `/metrics` tells them."""
    samples = _samples(responder)
    where = (str(engine), "")
    positions = (
        samples.get((f"{_SPEC}accepted_tokens_per_pos_total", str(engine), str(at)))
        for at in range(64)
    )
    return Totals(
        num_prompt_tokens=int(samples["vllm:prompt_tokens_total", *where]),
        num_output_tokens=int(samples["vllm:generation_tokens_total", *where]),
        num_spec_steps=int(samples[f"{_SPEC}drafts_total", *where]),
        num_draft_tokens=int(samples[f"{_SPEC}draft_tokens_total", *where]),
        num_accepted_draft_tokens=int(samples[f"{_SPEC}accepted_tokens_total", *where]),
        accepted_by_position=tuple(
            int(value) for value in positions if value is not None
        ),
    )


def _on_metrics(totals: Totals) -> Totals:
    """The part of a row of the ledger that `/metrics` tells."""
    return replace(
        totals,
        num_requests=0,
        num_finished=0,
        num_decode_steps=0,
        num_choice_chunks=0,
        num_content_chunks=0,
    )


def test_the_counters_equal_the_ledger_engine_by_engine():
    responder = Responder(replace(_FAST, num_engines=3))
    for number in range(20):
        chat(responder, prompt=f"def f{number}():", stream=number % 2 == 0)
    rows = responder.ledger.engines
    assert [_shown(responder, at) for at in range(3)] == [
        _on_metrics(row) for row in rows
    ]
    assert [row.num_requests for row in rows] == [7, 7, 6]
    assert responder.ledger.totals.num_requests == 20


@pytest.mark.parametrize(
    "model", ["org/model:8b@v1", 'a "model"', "C:\\model", "two\nlines", "模型{}"]
)
def test_any_name_of_a_model_can_be_read_back(model: str):
    text = get(Responder(replace(_FAST, model=model)), "/metrics").decode()
    names = {
        sample.labels["model_name"]
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert names == {model}


def test_a_request_can_name_its_engine():
    responder = Responder(replace(_FAST, num_engines=3))
    body = json.dumps({"messages": []}).encode()
    events = responder.respond("POST", CHAT, {"X-data-parallel-rank": "2"}, body).events
    list(events)
    chat(responder, simulate="engine=1")
    assert [row.num_requests for row in responder.ledger.engines] == [0, 1, 1]


def test_the_families_of_speculation_are_absent_when_it_is_off():
    responder = Responder(Profile(time_scale=0))
    chat(responder)
    names = {name for name, _, _ in _samples(responder)}
    assert not {name for name in names if "spec_decode" in name}
    assert "vllm:generation_tokens_total" in names


def test_every_position_is_there_from_the_start_and_zero():
    samples = _samples(Responder(_FAST))
    by_position = {
        position: value
        for (name, _, position), value in samples.items()
        if name == f"{_SPEC}accepted_tokens_per_pos_total"
    }
    assert by_position == {"0": 0, "1": 0, "2": 0, "3": 0}


def test_each_counter_has_a_series_that_says_since_when():
    responder = Responder(_FAST, wall_clock=lambda: 1234.5)
    text = get(responder, "/metrics").decode()
    counters = {
        line.split()[2].removesuffix("_total")
        for line in text.splitlines()
        if line.startswith("# TYPE") and line.endswith(" counter")
    }
    since = {
        line.split("{")[0].removesuffix("_created"): float(line.split()[-1])
        for line in text.splitlines()
        if "_created{" in line
    }
    assert counters <= since.keys()
    assert set(since.values()) == {1234.5}


def test_a_reset_starts_again_at_zero_and_leaves_the_ledger():
    clock = itertools.count(100.0)
    responder = Responder(_FAST, wall_clock=lambda: next(clock))
    chat(responder)
    before = responder.ledger.totals
    responder.reset_counters()
    assert _shown(responder, 0) == Totals(accepted_by_position=(0,) * 4)
    assert responder.ledger.totals == before
    chat(responder)
    assert _shown(responder, 0) == _on_metrics(responder.ledger.totals - before)


def test_foreign_traffic_is_on_metrics_and_not_in_the_ledger():
    responder = Responder(_FAST)
    foreign = Totals(
        num_output_tokens=100, num_spec_steps=7, accepted_by_position=(5, 3, 0, 0)
    )
    chat(responder)
    responder.add_foreign_traffic(foreign)
    assert _shown(responder, 0) == _on_metrics(responder.ledger.totals + foreign)


def test_reset_foreign_traffic_and_ledger_are_there_for_other_processes():
    responder = Responder(_FAST)
    chat(responder)
    add = b'{"engine": 0, "num_output_tokens": 5}'
    assert responder.respond("POST", "/simulator/reset-counters", {}, b"").status == 200
    assert (
        responder.respond("POST", "/simulator/foreign-traffic", {}, add).status == 200
    )
    assert _shown(responder, 0).num_output_tokens == 5
    ledger = json.loads(get(responder, "/simulator/ledger"))
    assert ledger["totals"]["num_output_tokens"] == 128
    assert ledger["engines"] == [ledger["totals"]]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"engine": 9}', b'{"tokens": 1}'])
def test_foreign_traffic_that_cannot_be_read_is_refused(body):
    responder = Responder(_FAST)
    path = "/simulator/foreign-traffic"
    assert responder.respond("POST", path, {}, body).status == 400


def test_a_client_that_leaves_is_counted_for_what_was_generated():
    responder = Responder(_FAST)
    body = json.dumps({"messages": [], "stream": True, "max_tokens": 500}).encode()
    events = responder.respond("POST", CHAT, {}, body).events
    for _ in range(10):
        next(events)
    events.close()
    entry = responder.ledger.entries[-1]
    assert not entry.finished
    assert 0 < entry.totals.num_output_tokens < 100
    assert _shown(responder, 0) == _on_metrics(entry.totals)


def test_a_request_is_counted_while_it_runs():
    responder = Responder(_FAST)
    body = json.dumps({"messages": [], "stream": True, "max_tokens": 500}).encode()
    events = responder.respond("POST", CHAT, {}, body).events
    for _ in range(10):
        next(events)
    samples = _samples(responder)
    assert samples["vllm:num_requests_running", "0", ""] == 1
    assert samples["vllm:generation_tokens_total", "0", ""] > 0
    events.close()
    assert _samples(responder)["vllm:num_requests_running", "0", ""] == 0


def test_all_is_counted_before_the_usage_chunk_goes_out():
    responder = Responder(_FAST)
    body = json.dumps(
        {"messages": [], "stream": True, "stream_options": {"include_usage": True}}
    ).encode()
    events = responder.respond("POST", CHAT, {}, body).events
    for _, data in events:
        if b'"usage":{' in data:
            break
    assert _shown(responder, 0) == _on_metrics(responder.ledger.totals)
    assert responder.ledger.entries[-1].finished
    events.close()


def test_the_engine_tells_its_own_latencies():
    step_time = StepTime(prefill_s=0.5, prompt_token_s=0, memory_s=0.1, token_s=0)
    responder = Responder(Profile(step_time=step_time))
    chat(responder, max_tokens=11)
    samples = _samples(responder)
    sums = {
        name.removeprefix("vllm:").removesuffix("_sum"): round(value, 6)
        for (name, _, _), value in samples.items()
        if name.endswith("_sum")
    }
    assert sums == {
        "time_to_first_token_seconds": 0.5,
        "inter_token_latency_seconds": 1.0,
        "request_time_per_output_token_seconds": 0.1,
        "e2e_request_latency_seconds": 1.5,
        "request_queue_time_seconds": 0.0,
        "request_inference_time_seconds": 1.5,
        "request_prefill_time_seconds": 0.5,
        "request_decode_time_seconds": 1.0,
    }
    assert samples["vllm:e2e_request_latency_seconds_bucket", "0", "2.0"] == 1
    assert samples["vllm:e2e_request_latency_seconds_bucket", "0", "1.0"] == 0
