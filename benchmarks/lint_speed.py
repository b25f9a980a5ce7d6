"""How fast the linter is, as ratios taken in one run.

Absolute times say little on machines that differ fourfold, so each figure is divided by
something measured beside it, in CPU time and the best of a few repetitions:

* the standard library, linted, over pyflakes on the same files (wanted: at most 0.1);
* files that need parsing, linted, over `ast.parse` of the same files (at most 3);
* `otel-specdecode lint --help` over `python -c 'import ast, argparse, tokenize'`
  (at most 3, wall time).

    python benchmarks/lint_speed.py [--repeat 3] [DIRECTORY...]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

from otel_specdecode.lint.discovery import find_files
from otel_specdecode.lint.registry import RULES
from otel_specdecode.lint.run import lint_files
from otel_specdecode.lint.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = Settings(
    exclude=("__pycache__", "site-packages", "test", "tests", "idle_test"),
    respect_gitignore=False,
)


def best(repeat: int, clock: Callable[[], float], work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(repeat):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def pyflakes(files: list[Path]) -> None:
    from pyflakes.api import check
    from pyflakes.reporter import Reporter

    sink = io.StringIO()
    for file in files:
        check(file.read_text(encoding="utf-8"), str(file), Reporter(sink, sink))


def readable(files: list[Path]) -> list[Path]:
    kept: list[Path] = []
    for file in files:
        with contextlib.suppress(SyntaxError, ValueError):
            ast.parse(file.read_text(encoding="utf-8"))
            kept.append(file)
    return kept


def needs_parsing(files: list[Path]) -> list[Path]:
    kept: list[Path] = []
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if any(rule.is_default and rule.may_apply(text) for rule in RULES):
            kept.append(file)
    return kept


def parse(files: list[Path]) -> None:
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"))


def lines_of(files: list[Path]) -> int:
    return sum(file.read_bytes().count(b"\n") for file in files)


def standard_library(repeat: int) -> float:
    files = readable(find_files([Path(sysconfig.get_path("stdlib"))], SETTINGS))
    ours = best(repeat, time.process_time, lambda: lint_files(files, SETTINGS))
    theirs = best(1, time.process_time, lambda: pyflakes(files))
    print(f"standard library: {len(files)} files, {lines_of(files):,} lines")
    print(f"  lint {ours:.2f} s, pyflakes {theirs:.2f} s, CPU")
    return ours / theirs


def parsed_files(directories: list[Path], repeat: int) -> float | None:
    settings = Settings(exclude=("__pycache__",), respect_gitignore=False)
    files = readable(needs_parsing(find_files(directories, settings)))
    if not files:
        return None
    ours = best(repeat, time.process_time, lambda: lint_files(files, settings))
    alone = best(repeat, time.process_time, lambda: parse(files))
    print(f"files that need parsing: {len(files)} files, {lines_of(files):,} lines")
    print(f"  lint {ours:.2f} s, ast.parse {alone:.2f} s, CPU")
    return ours / alone


def start_up(repeat: int) -> float:
    program = Path(sys.executable).with_name("otel-specdecode")

    def run(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def children() -> float:
        used = os.times()
        return used.children_user + used.children_system

    count = max(5, repeat)
    ours = best(count, children, lambda: run(str(program), "lint", "--help"))
    plain = best(
        count, children,
        lambda: run(sys.executable, "-c", "import ast, argparse, tokenize"),
    )  # fmt: skip
    print(f"start-up\n  lint --help {ours * 1000:.0f} ms, python {plain * 1000:.0f} ms")
    return ours / plain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    where = options.directories or [Path(sysconfig.get_path("purelib"))]
    figures = {
        "standard library, lint / pyflakes": (standard_library(options.repeat), 0.1),
        "files that need parsing, lint / ast.parse": (
            parsed_files(where, options.repeat), 3.0,
        ),
        "lint --help / python": (start_up(options.repeat), 3.0),
    }  # fmt: skip
    print()
    for label, (ratio, wanted) in figures.items():
        if ratio is not None:
            print(f"{label:45s} {ratio:6.2f}  (wanted: at most {wanted})")


if __name__ == "__main__":
    main()
