"""Requests in many greenlets under gevent, some streams of them thrown away."""

from __future__ import annotations

import gevent
from gevent import monkey

monkey.patch_all()  # before anything else, as gevent asks for

import gc  # noqa: E402
import os  # noqa: E402

import traffic  # noqa: E402

import otel_specdecode  # noqa: E402

NUM_GREENLETS = 40
NUM_ABANDONED = 5
FORKED = 70


def abandon(client) -> None:
    """One stream closed after its first chunk, and one collected."""
    ask = {"model": traffic.MODEL, "messages": traffic.MESSAGES, "max_tokens": 12}
    closed = client.chat.completions.create(**ask, stream=True)
    next(closed)
    closed.close()
    collected = client.chat.completions.create(**ask, stream=True)
    next(collected)


def main() -> None:
    otel_specdecode.configure()
    # openai's streams hold themselves, so that the collector ends them; inside the
    # hub, where nothing may wait, closing a response fails, with and without us.
    gc.disable()
    # Imports the HTTP library, and that trio where it is, which runs `ldconfig`.
    client = traffic.client()
    # A child would run these greenlets too, fork in its turn, and so on without end.
    os.register_at_fork(before=lambda: os._exit(FORKED))
    with otel_specdecode.capture() as records:
        talking = [gevent.spawn(traffic.talk, client) for _ in range(NUM_GREENLETS)]
        leaving = [gevent.spawn(abandon, client) for _ in range(NUM_ABANDONED)]
        gevent.joinall([*talking, *leaving], raise_error=True)
        del talking, leaving
        gc.collect()
    outcomes = [record.outcome.value for record in records]
    print({outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))})


if __name__ == "__main__":
    main()
