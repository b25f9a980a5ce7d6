"""Machine instructions of a plain request and of a chunk, C code included.

    machine_instructions.py [PYTHON ...]    a Markdown table for each interpreter

Needs `valgrind` (a package of most systems). Its callgrind counts what the processor
would be told to do, which repeats within a thousandth however busy the machine is.
Each figure is the difference of two runs that differ in how often the work is done;
garbage collection is off, since when it comes depends on all that was made before.
With interpreters of other environments it shows what another SDK costs; `peers.py`
and `matrix.py` make such.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from overhead import ask_plainly, observed, plain_client, read_stream
from sdk_share import Replay, what_is_sent

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES = {"request": (20, 120), "stream": (2, 7)}
NUM_CHUNKS = 2_000
KINDS = ("bare", "signals", "wrapped")
RUN_LIMIT_S = 900
_COUNT = re.compile(r"I\s+refs:\s+([\d,]+)")


def work_of(what: str, kind: str) -> Callable[[], object]:
    """Return one plain request or one stream, of a bare or a wrapped client.

    Args:
        what: "request" or "stream".
        kind: one of `KINDS`; "signals" is a bare request with what the wrapper sends
            to the SDK sent again beside it, by no code at all.
    """
    if kind == "signals":
        return Replay(what_is_sent()).all_with_exemplars
    client = plain_client(NUM_CHUNKS)
    if kind == "wrapped":
        client = observed(client)
    ask = read_stream if what == "stream" else ask_plainly
    return lambda: ask(client)


def be_counted(what: str, kind: str, times: int) -> None:
    """Do the work; this process is the one under valgrind."""
    work = work_of(what, kind)
    work()
    gc.collect()
    gc.disable()
    for _ in range(times):
        work()


def counted(python: str, what: str, kind: str) -> float:
    """Return the machine instructions of one request or stream."""
    fewer, more = TIMES[what]
    few, many = (_count(python, what, kind, times) for times in (fewer, more))
    return (many - few) / (more - fewer)


def _count(python: str, what: str, kind: str, times: int) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    own = [python, str(Path(__file__).resolve()), "--count", what, kind, str(times)]
    done = subprocess.run(
        [*valgrind, *own],
        check=False, capture_output=True, text=True, timeout=RUN_LIMIT_S,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    found = _COUNT.search(done.stderr)
    if done.returncode or found is None:
        sys.exit(f"{python}: no count, but: {done.stderr[-2000:]}")
    return int(found[1].replace(",", ""))


def versions(python: str) -> str:
    """Return the versions of openai and the SDK in an environment."""
    program = (
        "from importlib.metadata import version as v\n"
        "print('openai', v('openai') + ', SDK', v('opentelemetry-sdk'))"
    )
    return subprocess.check_output([python, "-c", program], text=True).strip()


def table(python: str) -> None:
    """Print what a request and a chunk cost in one environment."""
    print(f"\n{versions(python)}\n")
    print("| machine instructions | bare | signals alone | | wrapped | |")
    print("|---|---|---|---|---|---|")
    bare, signals, wrapped = (counted(python, "request", kind) for kind in KINDS)
    print(
        f"| a plain request | {bare:,.0f} | {signals:,.0f} | {signals / bare:.3f}"
        f" | {wrapped:,.0f} | {wrapped / bare:.3f} |"
    )
    bare, wrapped = (counted(python, "stream", kind) for kind in ("bare", "wrapped"))
    print(
        f"| a stream of {NUM_CHUNKS:,} chunks | {bare:,.0f} | | | {wrapped:,.0f}"
        f" | {wrapped / bare:.3f} |"
    )


def main() -> None:
    if sys.argv[1:2] == ["--count"]:
        what, kind, times = sys.argv[2:]
        be_counted(what, kind, int(times))
        return
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is needed, and is not on the PATH")
    for python in sys.argv[1:] or [sys.executable]:
        table(python)


if __name__ == "__main__":
    main()
