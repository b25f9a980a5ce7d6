"""Live traffic for `make stack`: an application under the wrapper, until stopped.

Arguments are pairs of base URL and model. Where telemetry goes is in `OTEL_*`.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import signal
import sys
import threading
import time
import warnings

from openai import OpenAI, OpenAIError

import otel_specdecode

PROMPTS = {
    "code": "def area(radius):\n    return 3.14159 * radius ** 2\n\ndef volume(",
    "prose": "Tell me about the sea, and take your time.",
    "summary": "Summarise: the ship left at dawn and came back at night.",
}


def ask(client: OpenAI, model: str, task: str, draw: random.Random) -> None:
    """One request: mostly streams, sometimes one that nobody reads to its end."""
    tokens = draw.randint(24, 160)
    messages = [{"role": "user", "content": PROMPTS[task]}]
    with otel_specdecode.tag(task=task):
        if draw.random() < 0.2:
            client.chat.completions.create(
                model=model, messages=messages, max_tokens=tokens
            )
            return
        with client.chat.completions.create(
            model=model, messages=messages, max_tokens=tokens, stream=True
        ) as stream:
            for number, _ in enumerate(stream):
                if number > 6 and draw.random() < 0.002:
                    return


def tokens_per_second(client: OpenAI, model: str) -> float:
    """Wrong on purpose: the run-time check finds it, and a panel names it."""
    started = time.perf_counter()
    num_tokens = 0
    for chunk in client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": PROMPTS["code"]}],
        max_tokens=64,
        stream=True,
    ):
        if chunk.choices and chunk.choices[0].delta.content:
            num_tokens += 1
    return num_tokens / (time.perf_counter() - started)  # noqa: SPD001


def keep_asking(base_url: str, model: str, seed: int, end: threading.Event) -> None:
    """Requests of one worker, task after task."""
    client = otel_specdecode.wrap(
        OpenAI(base_url=base_url, api_key="none", max_retries=0)
    )
    draw = random.Random(seed)
    with contextlib.suppress(OpenAIError):
        tokens_per_second(client, model)
    for task in itertools.cycle(PROMPTS):
        if end.is_set():
            return
        try:
            ask(client, model, task, draw)
        except OpenAIError:
            time.sleep(0.5)  # a server that is away is part of the picture
        end.wait(draw.uniform(0.05, 0.4))


def main() -> None:
    """Two workers a server, until SIGTERM."""
    warnings.simplefilter("ignore", otel_specdecode.ChunkCountWarning)
    telemetry = otel_specdecode.configure(metric_export_interval_s=2)
    end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    signal.signal(signal.SIGINT, lambda *_: end.set())
    pairs = list(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    workers = [
        threading.Thread(target=keep_asking, args=(url, model, seed, end))
        for seed, (url, model) in enumerate(pairs * 2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    telemetry.shutdown()


if __name__ == "__main__":
    main()
