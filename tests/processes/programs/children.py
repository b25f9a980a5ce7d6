"""Makes requests in a parent, in its children, and in the parent again."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor

import traffic

import otel_specdecode

NUM_CHILDREN = 2


def configured_child() -> None:
    otel_specdecode.configure()
    traffic.talk_once()


def by_multiprocessing(method: str) -> None:
    context = multiprocessing.get_context(method)
    # A forked child inherits what `configure` set up, a spawned one does not.
    target = traffic.talk_once if method == "fork" else configured_child
    children = [context.Process(target=target) for _ in range(NUM_CHILDREN)]
    for child in children:
        child.start()
    for child in children:
        child.join()


def by_pool() -> None:
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for child in [pool.submit(traffic.talk_once) for _ in range(NUM_CHILDREN)]:
            child.result()


def by_os_fork(telemetry) -> None:
    """One child flushes and leaves at once, one leaves as programs do."""
    at_once = os.fork()
    if at_once == 0:
        traffic.talk_in_threads(traffic.client())
        telemetry.flush()
        os._exit(0)
    os.waitpid(at_once, 0)
    orderly = os.fork()
    if orderly == 0:
        traffic.talk_once()
        sys.exit(0)
    os.waitpid(orderly, 0)


def main() -> None:
    telemetry = otel_specdecode.configure()
    traffic.talk_once()
    traffic.run_async()
    if "exported" in sys.argv:
        telemetry.flush()  # connections to the collector are open when it forks
    if "os.fork" in sys.argv:
        by_os_fork(telemetry)
    if "pool" in sys.argv:
        by_pool()
    for method in {"fork", "spawn"}.intersection(sys.argv):
        by_multiprocessing(method)
    traffic.talk_in_threads(traffic.client())


if __name__ == "__main__":
    main()
