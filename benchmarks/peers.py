"""Our cost beside that of the other instrumentations of the OpenAI client.

    peers.py [ROUNDS]    a Markdown table; 15 rounds unless told otherwise

Each peer has an environment of its own, made when it is missing and named by its
versions. A bare client and an instrumented one run there at the same time, and are
measured turn by turn: a machine that others use slows both of a pair alike.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import environments  # noqa: E402 (made there for the matrix as well)

# The same of both for all, so that only the peers differ.
SHARED = ("openai==3.57.0", "opentelemetry-sdk==1.45.2")
PROGRAM = Path(__file__).with_name("instrumented.py")
NUM_ROUNDS = 15
FEWEST_ROUNDS = 2  # of which quartiles can be taken
# A minute on an idle machine, and many times that on a busy one.
RUN_LIMIT_S = 1800
LAST_LINE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One instrumentation.

    Attributes:
        name: what `instrumented.py` calls it.
        distribution: what is installed; `None` for ours, which is here already.
        version: pinned, so that a figure says of what it is.
    """

    name: str
    distribution: str | None = None
    version: str = ""

    @property
    def title(self) -> str:
        """What stands in the table."""
        return f"{self.distribution or self.name} {self.version}".strip()


PEERS = (
    Peer(name="otel_specdecode"),
    Peer(
        name="genai_openai",
        distribution="opentelemetry-instrumentation-genai-openai",
        version="1.3b0",
    ),
    Peer(
        name="traceloop",
        distribution="opentelemetry-instrumentation-openai",
        version="0.62.4",
    ),
    Peer(
        name="openinference",
        distribution="openinference-instrumentation-openai",
        version="0.1.66",
    ),
    Peer(name="langfuse", distribution="langfuse", version="5.0.4"),
    Peer(name="logfire", distribution="logfire", version="5.4.0"),
)


class PeerError(Exception):
    """A peer that cannot be run; its message says why."""


def python_of(peer: Peer) -> str:
    """Return the interpreter of a peer's environment, made where it is missing."""
    if peer.distribution is None:
        return sys.executable
    pins = (f"{peer.distribution}=={peer.version}", *SHARED)
    folder = environments.folder_of("peers", "\n".join(pins), name=peer.name)
    return str(environments.python_in(folder, pins))


class Worker:
    """A client in a process of its own, which is measured when it is told to."""

    def __init__(self, python: str, name: str) -> None:
        self._process = subprocess.Popen(
            (python, str(PROGRAM), name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Whoever waits for it hears the end of its output.
        self._limit = Timer(RUN_LIMIT_S, self._process.kill)
        self._limit.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._limit.cancel()
        self._process.kill()
        self._process.communicate()

    def measure(self, figure: str) -> float:
        """Measure one of the program's `FIGURES`."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(f"{figure}\n")
            process.stdin.flush()
        for line in process.stdout:
            if line.startswith('{"figure"'):
                return json.loads(line)["figure"]
        assert process.stderr is not None
        lines = process.stderr.read().strip().splitlines() or ["it was killed"]
        raise PeerError(lines[-1][:LAST_LINE])


def row(peer: Peer, num_rounds: int) -> str:
    """Return one line of the table."""
    python = python_of(peer)
    with Worker(python, "bare") as bare, Worker(python, peer.name) as own:
        both = bare, own
        cells = [peer.title]
        for figure in ("instructions_per_chunk", "instructions_per_request"):
            base, count = (worker.measure(figure) for worker in both)
            cells.append(f"{count / base:.3f}")
        for figure in ("us_per_chunk", "us_per_request"):
            ratios: list[float] = []
            for turn in range(num_rounds):
                order = both if turn % 2 else both[::-1]
                spent = {worker: worker.measure(figure) for worker in order}
                ratios.append(spent[own] / spent[bare])
            low, middle, high = statistics.quantiles(ratios, n=4)
            cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
        for figure in ("peak_kib", "chunks_seen"):
            base, found = (worker.measure(figure) for worker in both)
            cells.append(f"{found:,} ({base:,})")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    num_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else NUM_ROUNDS
    if num_rounds < FEWEST_ROUNDS:
        sys.exit(f"ROUNDS: expected {FEWEST_ROUNDS} or more, got {num_rounds}")
    print(
        "| to a bare client | instructions a chunk | a plain request"
        " | CPU a chunk, median (quartiles) | a plain request"
        " | peak KiB (bare) | chunks seen (bare) |"
    )
    print(f"|{'---|' * 7}", flush=True)
    missing: dict[str, str] = {}
    for peer in PEERS:
        try:
            print(row(peer, num_rounds), flush=True)
        except (PeerError, subprocess.CalledProcessError) as error:
            missing[peer.title] = str(error)
    for title, reason in missing.items():
        print(f"\n{title}: not run. {reason}")


if __name__ == "__main__":
    main()
