"""An application under the wrapper: sends requests, says what it recorded.

Run as a program, since the SDK's providers are global. Reads one JSON object from
standard input: `targets` (each `base_url`, `model`, `rounds`, and `simulate`, a
directive for the simulator), `pause_s` between rounds, `export_interval_s`. Where
telemetry goes is in the `OTEL_*` variables. Writes one JSON object: for each model the
sums over its records, and in `traces` the id of its last trace.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from openai import OpenAI
from opentelemetry import trace

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Mapping

TASKS = {
    "code": "def area(radius):\n    return 3.14159 * radius * radius\n\ndef volume(",
    "prose": "Tell me about the sea, at some length, and without any haste.",
}


def tokens_per_second(client: OpenAI, request: Mapping[str, Any]) -> float:
    """What the run-time check is meant to find: chunks taken for tokens."""
    started = time.perf_counter()
    num_tokens = 0
    for chunk in client.chat.completions.create(stream=True, **request):
        if chunk.choices and chunk.choices[0].delta.content:
            num_tokens += 1
    return num_tokens / (time.perf_counter() - started)


def one_round(client: OpenAI, model: str, number: int) -> None:
    """One plain answer, and one stream that is read to its end, for each task."""
    for task, prompt in TASKS.items():
        request: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": f"{prompt} {number}"}],
            "max_tokens": 48,
            "temperature": 0,
        }
        with otel_specdecode.tag(task=task):
            client.chat.completions.create(**request)
            tokens_per_second(client, request)


def sums(records: list[otel_specdecode.RequestRecord]) -> dict[str, Any]:
    """The sums that Prometheus must show for these records."""
    totals = otel_specdecode.Totals.of(records)
    counted = totals.acceptance
    return {
        "requests": totals.num_requests,
        "output_tokens": totals.num_output_tokens,
        "stream_tokens": totals.num_stream_tokens,
        "content_chunks": totals.num_content_chunks,
        "spec_steps": counted.num_spec_steps if counted else None,
        "draft_tokens": counted.num_draft_tokens if counted else None,
        "accepted_tokens": counted.num_accepted_draft_tokens if counted else None,
        "accepted_by_position": counted.accepted_by_position if counted else None,
        "draft_acceptance_rate": totals.draft_acceptance_rate,
        "mean_acceptance_length": totals.mean_acceptance_length,
    }


def main() -> None:
    """Sends everything, flushes, and reports."""
    warnings.simplefilter("ignore")
    plan = json.load(sys.stdin)
    telemetry = otel_specdecode.configure(
        metric_export_interval_s=plan["export_interval_s"]
    )
    tracer = trace.get_tracer("application")
    report: dict[str, Any] = {"traces": {}}
    with otel_specdecode.capture() as records:
        clients = [
            otel_specdecode.wrap(
                OpenAI(
                    base_url=target["base_url"],
                    api_key="sk-made-up-key-of-the-application",
                    default_headers={"x-simulate": target.get("simulate", "")},
                    max_retries=0,
                    timeout=300,
                )
            )
            for target in plan["targets"]
        ]
        for number in range(max(target["rounds"] for target in plan["targets"])):
            for client, target in zip(clients, plan["targets"], strict=True):
                if number < target["rounds"]:
                    with tracer.start_as_current_span("round") as span:
                        one_round(client, target["model"], number)
                    trace_id = f"{span.get_span_context().trace_id:032x}"
                    report["traces"][target["model"]] = trace_id
            time.sleep(plan.get("pause_s", 0))
    for model in {target["model"] for target in plan["targets"]}:
        report[model] = sums([one for one in records if one.request_model == model])
    telemetry.flush()
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
