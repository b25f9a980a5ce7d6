"""Two tasks tallied apart: what speculation accepts on code, and on open chat.

An n-gram drafter copies from the prompt, so it lives on repetition. One average
over both tasks would hide that.
"""

from __future__ import annotations

from _server import open_server
from openai import OpenAI

import otel_specdecode
from otel_specdecode import RequestRecord, Totals

CODE = "def add(a, b):\n    return a + b\n\n\ndef multiply(a, b):\n    return a * b\n"
PROMPTS = {
    "code": [
        f"Rename add to plus and give back the whole file:\n```python\n{CODE}```",
        f"Repeat this file word for word:\n```python\n{CODE}```",
    ],
    "chat": [
        "In two paragraphs, how do throughput and latency of a server differ?",
        "A team must choose between low cost and stable latency. How should it?",
    ],
}


def run(client: OpenAI, model: str) -> list[RequestRecord]:
    """Ask every prompt, marked with its task."""
    with otel_specdecode.capture() as records:
        for task, prompts in PROMPTS.items():
            with otel_specdecode.tag(task=task):
                for prompt in prompts:
                    client.chat.completions.create(
                        model=model,
                        messages=[{"role": "user", "content": prompt}],
                        temperature=0,
                        max_tokens=128,
                    )
    return records


def main() -> None:
    """Sum by task first, and divide afterwards."""
    with open_server("ngram") as server:
        client = OpenAI(base_url=server.base_url, api_key=server.api_key)
        records = run(otel_specdecode.wrap(client), server.model)
    print("task     R    D    C   C/D  1+C/R  steps by number of accepted drafts")
    for task in PROMPTS:
        totals = Totals.of(r for r in records if r.tags["task"] == task)
        acceptance = totals.acceptance
        if acceptance is None:
            print(f"{task}: the server sends no acceptance")
            continue
        rate, length = (
            acceptance.draft_acceptance_rate,
            acceptance.mean_acceptance_length,
        )
        print(
            f"{task:<6}{acceptance.num_spec_steps:>4} {acceptance.num_draft_tokens:>4}"
            f" {acceptance.num_accepted_draft_tokens:>4}"
            # No draft at all is no denominator, which is not 0 %.
            f" {'none' if rate is None else f'{rate:.0%}':>5}"
            f" {'none' if length is None else f'{length:.2f}':>6}"
            f"  {list(acceptance.histogram or ())}"
        )


if __name__ == "__main__":
    main()
