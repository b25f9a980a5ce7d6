"""Search for bytes that break the readers, guided by coverage (atheris).

`python scripts/fuzz_adapters.py [seconds]`, 60 by default. It makes an environment of
its own in the user's cache folder, starts from the recorded responses, and ends with 1
at the first input that raises, that is read differently when the network cuts it
elsewhere, or whose counts are not those on the wire. The input is kept in a file that
the output names; give that file in the place of the seconds to run it again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments import ROOT, cache_root

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = cache_root() / "fuzz"
CORPUS = HOME / "corpus"
ATHERIS = "atheris>=3,<4"
IN_ENVIRONMENT = "SPECDECODE_FUZZ"
LONGEST_INPUT = 8192
HOSTILE: list[Any] = [
    *(None, True, -1, 0, 10**9 + 1, 10**400, 1.5, float("nan"), float("inf")),
    *("", "7", "stop", [], [None], [[1]], {}, {"a": 1}, {"content": "x"}),
]
COUNTS = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")


def main() -> int:
    """Fuzz in the environment made for it."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "60"
    if os.environ.get(IN_ENVIRONMENT):
        return fuzz(asked)
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(HOME / "venv", with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", ATHERIS, "-e", str(ROOT)]
    subprocess.run(install, check=True)
    write_corpus()
    # A failure of ours that is guarded in programs is raised here.
    settings = {IN_ENVIRONMENT: "1", "OTEL_SPECDECODE_RERAISE": "true"}
    command = [python, str(Path(__file__).resolve()), asked]
    return subprocess.run(
        command, env={**os.environ, **settings}, check=False
    ).returncode


def write_corpus() -> None:
    """Take every recorded response, and each event of the streams, as a beginning."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(_seeds()):
        if len(seed) <= LONGEST_INPUT:
            (CORPUS / f"recorded-{number}").write_bytes(seed)


def _seeds() -> Iterator[bytes]:
    captures = ROOT / "tests" / "captures"
    for file in sorted([*captures.glob("*/*/*.json"), *captures.glob("*/*/*.sse")]):
        body = file.read_bytes()
        yield body
        # A cut-down stream: its first event, its last two, and the end.
        events = body.split(b"\n\n")
        yield b"\n\n".join([events[0], *events[-4:]])


def fuzz(asked: str) -> int:
    """Run until the time is over or an input fails."""
    import atheris  # noqa: PLC0415 # pyright: ignore[reportMissingImports] (its own)

    with atheris.instrument_imports(include=["otel_specdecode"]):
        import otel_specdecode.instrumentation.chunk_reader  # noqa: PLC0415
        import otel_specdecode.instrumentation.sse_reader  # noqa: F401, PLC0415

    options = [f"-max_len={LONGEST_INPUT}", "-timeout=10", "-rss_limit_mb=2048"]
    if asked.isdigit():
        options += [
            f"-max_total_time={asked}",
            f"-artifact_prefix={HOME}/",
            str(CORPUS),
        ]
    else:
        options.append(asked)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        # Bytes exchanged at random hardly ever leave JSON behind.
        changed = with_field_exchanged(data, random.Random(seed))
        if seed % 3 == 0 or changed is None or len(changed) > most:
            return atheris.Mutate(data, most)
        return changed

    atheris.Setup([sys.argv[0], *options], test_one_input, custom_mutator=mutate)
    atheris.Fuzz()
    return 0


def with_field_exchanged(data: bytes, chance: random.Random) -> bytes | None:
    """Exchange one value in one JSON object of an input; `None` without an object."""
    lines = data.split(b"\n")
    number = chance.randrange(len(lines))
    prefix = b"data: " if lines[number].startswith(b"data: ") else b""
    try:
        node = root = json.loads(lines[number].removeprefix(prefix))
    except (ValueError, RecursionError):
        return None
    while isinstance(node, (dict, list)) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = chance.choice(keys)
        # Mostly deep down, sometimes a whole branch.
        if isinstance(node[key], (dict, list)) and node[key] and chance.random() < 0.9:
            node = node[key]
            continue
        node[key] = chance.choice([*HOSTILE, chance.randrange(20), root])
        break
    try:
        lines[number] = prefix + json.dumps(root).encode()
    except (ValueError, RecursionError):
        return None  # it holds itself
    return b"\n".join(lines)


def test_one_input(data: bytes) -> None:
    """Read an input as a body and as a stream, cut in two ways."""
    check_payload(data)
    whole = read_stream([data])
    half = len(data) // 2
    pieces = [data[:half], data[half : half + 1], data[half + 1 :]]
    if read_stream(pieces) != whole:
        message = "the same bytes, cut elsewhere, were read differently"
        raise AssertionError(message)


def check_payload(data: bytes) -> None:
    """Hold what the adapters read to what stands in the JSON."""
    from otel_specdecode.servers import read_payload  # noqa: PLC0415

    try:
        payload: Any = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(payload, dict):
        return
    report = read_payload(payload)
    acceptance = None if report is None else report.acceptance
    if acceptance is None:
        return
    stats: Any = payload["metrics"]["speculative_decoding"]
    read = [getattr(acceptance, name) for name in COUNTS]
    if read != [stats[name] for name in COUNTS]:
        message = f"{read} was read from {stats}"
        raise AssertionError(message)
    rate = acceptance.draft_acceptance_rate
    if rate is not None and not 0 <= rate <= 1:
        message = f"a rate of {rate} was read from {stats}"
        raise AssertionError(message)


def read_stream(parts: list[bytes]) -> tuple[Any, ...]:
    """What a reader knows after these bytes; no clock among it."""
    from otel_specdecode.instrumentation.chunk_reader import (  # noqa: PLC0415
        ChunkReader,
        guarded,
    )
    from otel_specdecode.instrumentation.findings import Findings  # noqa: PLC0415
    from otel_specdecode.instrumentation.request_view import CHAT  # noqa: PLC0415
    from otel_specdecode.instrumentation.sse_reader import SseReader  # noqa: PLC0415

    reader = ChunkReader(Findings())
    events = SseReader(guarded(reader, CHAT, lambda: None))
    for number, part in enumerate(parts):
        events.feed_bytes(part, float(number))
    arrivals, findings = reader.tally.freeze(0.0), reader.findings
    return (
        events.done,
        events.failed,
        arrivals.num_chunks,
        arrivals.num_choice_chunks,
        arrivals.num_content_chunks,
        reader.num_first_tokens,
        reader.usage,
        findings.acceptance(applicable=True)[:2],
        findings.finish_reasons,
        findings.model,
    )


if __name__ == "__main__":
    sys.exit(main())
