"""The linter's work grows with the file, and stays in proportion to parsing it.

Work is counted in calls of Python functions, which does not depend on how busy the
machine is; `benchmarks/lint_speed.py` has the ratios in time.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from otel_specdecode.lint import project
from otel_specdecode.lint._modules import Module
from otel_specdecode.lint.run import lint_files, lint_text
from otel_specdecode.lint.settings import Settings

from .conftest import COUNTS_CHUNKS

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

PLAIN = """

class Shelf{n}:
    def __init__(self, books):
        self.books = [book for book in books if book.pages > {n}]

    def heaviest(self, limit):
        found = {{}}
        for book in self.books:
            if book.weight > limit:
                found[book.title] = book.weight * 2 + {n}
        return sorted(found.items(), key=lambda item: item[1])
"""


def num_calls(text: str) -> int:
    """How many Python functions are called to lint a text."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    lint_text(text.encode(), "warm.py", Settings())
    sys.setprofile(count)
    try:
        lint_text(text.encode(), "program.py", Settings())
    finally:
        sys.setprofile(None)
    return calls


def with_plain_code(num_classes: int) -> str:
    return COUNTS_CHUNKS + "".join(PLAIN.format(n=n) for n in range(num_classes))


def test_code_that_no_stream_reaches_is_not_run() -> None:
    without, beside = num_calls(with_plain_code(0)), num_calls(with_plain_code(100))

    lines = with_plain_code(100).count("\n")
    assert (beside - without) / lines < 15


@pytest.mark.parametrize("copies", [20, 80])
def test_work_stays_in_proportion_where_every_function_streams(copies: int) -> None:
    text = "".join(COUNTS_CHUNKS.replace("speed", f"speed{n}") for n in range(copies))

    assert num_calls(text) / text.count("\n") < 120


GUARDED = """
def ask{n}(client, q):
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content
"""


def test_judging_whether_fixes_are_safe_takes_no_longer_in_a_larger_file() -> None:
    few, many = (
        "".join(GUARDED.format(n=n) for n in range(copies)) for copies in (25, 150)
    )

    assert num_calls(many) / many.count("\n") < 1.2 * num_calls(few) / few.count("\n")


def test_a_long_literal_is_looked_at_and_not_followed() -> None:
    rows = "".join(f"    ({n}, 'text {n}'),\n" for n in range(5_000))

    beside = num_calls(f"ROWS = [\n{rows}]\n{COUNTS_CHUNKS}") - num_calls(COUNTS_CHUNKS)

    assert beside < 10 * 5_000


def peak_bytes(text: str) -> int:
    """The most memory that linting a text takes."""
    tracemalloc.start()
    try:
        lint_text(text.encode(), "program.py", Settings())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def with_growing_lists(num: int) -> str:
    grown = (f"    r{n + 1} = r{n} + [dict(before=r{n})]\n" for n in range(num))
    return f"{COUNTS_CHUNKS}\ndef grow():\n    r0 = stream\n{''.join(grown)}"


def test_what_a_name_may_stand_for_takes_memory_in_proportion_to_the_file() -> None:
    peak_bytes(with_growing_lists(1))

    assert peak_bytes(with_growing_lists(200)) < 10 * peak_bytes(with_growing_lists(50))


NESTED = """

class Meter{n}:
    def __init__(self):
        self.counts, self.seen = [0], {{}}

    def run(self, client, q):
        def ask():
            yield from client.chat.completions.create(messages=q, stream=True)

        def add(chunk):
            self.counts.append(ask)
            self.seen["self"] = self.seen

        for chunk in ask():
            add(chunk)
"""


def test_a_file_that_was_read_is_freed_without_the_collector() -> None:
    """Thousands of files are read with the collector paused."""
    text = COUNTS_CHUNKS + "".join(NESTED.format(n=n) for n in range(5))
    gc.collect()
    gc.disable()
    try:
        lint_text(text.encode(), "freed.py", Settings())
        left = [
            found
            for found in gc.get_objects()
            if isinstance(found, Module) and found.path == "freed.py"
        ]
    finally:
        gc.enable()

    assert left == []


STREAMS = """
def answer(client, q):
    yield from client.chat.completions.create(messages=q, stream=True)
"""
IMPORTS = """
import time
from stream{n} import answer

def speed(client, q):
    start, n = time.time(), 0
    for chunk in answer(client, q):
        n += 1
    return {{"tok_s": n / (time.time() - start)}}
"""


def peak_and_rates(directory: Path, num: int) -> tuple[int, int]:
    """The most memory that this many files and their helpers take; rates found."""
    helper = STREAMS + "".join(PLAIN.format(n=n) for n in range(30))
    files: list[Path] = []
    for n in range(num):
        for name, text in (("bench", IMPORTS.format(n=n)), ("stream", helper)):
            file = directory / f"{name}{n}.py"
            file.write_text(text)
            files.append(file)
    tracemalloc.start()
    try:
        report = lint_files(files, Settings(select=("SPD001",)))
        return tracemalloc.get_traced_memory()[1], len(report.findings)
    finally:
        tracemalloc.stop()


def test_imported_files_are_kept_up_to_a_bound_and_followed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "MAX_KEPT", 20_000)
    few, rates_of_few = peak_and_rates(tmp_path, 3)
    many, rates_of_many = peak_and_rates(tmp_path, 12)

    assert (rates_of_few, rates_of_many) == (3, 12)
    assert many < 1.5 * few
