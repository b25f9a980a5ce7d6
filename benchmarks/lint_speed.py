"""How fast the linter is, as ratios taken in one run.

Absolute times say little on machines that differ fourfold, so each figure is divided by
something measured beside it, in CPU time and the best of a few repetitions:

* the standard library, linted, over pyflakes on the same files (wanted: at most 0.1);
* files that need parsing, linted, over `ast.parse` of the same files (at most 3);
* the labelled corpus, tiny files made of nothing but streams, likewise (at most 3);
* `otel-specdecode lint --help` over `python -c 'import ast, argparse, tokenize'`
  (at most 3, wall time).

    python benchmarks/lint_speed.py [--repeat 3] [DIRECTORY...]
    python benchmarks/lint_speed.py --growth

The second prints how long made-up files of ten and a hundred thousand lines take, and
files nested deeply or full of literals: the time should grow as the file does.
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
from statistics import median
from typing import TYPE_CHECKING

from otel_specdecode.lint.discovery import find_files
from otel_specdecode.lint.registry import all_rules
from otel_specdecode.lint.run import lint_files, lint_text
from otel_specdecode.lint.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS = 9
CORPUS = Path(__file__).parent.parent / "tests" / "lint" / "corpus"
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
        if any(rule.is_default and rule.may_apply(text) for rule in all_rules()):
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
    each = sorted(one_file(file, settings, repeat) for file in files)
    print(f"  file by file: median {median(each):.1f}, worst {each[-1]:.1f}")
    return ours / alone


def tiny_files(repeat: int) -> float | None:
    """The corpus over `ast.parse`: the median of ratios taken in turn."""
    settings = Settings(respect_gitignore=False)
    files = readable(find_files([CORPUS], settings))
    if not files:
        return None
    ratios = sorted(
        best(repeat, time.process_time, lambda: lint_files(files, settings))
        / best(repeat, time.process_time, lambda: parse(files))
        for _ in range(TURNS)
    )
    print(f"labelled corpus: {len(files)} files, {lines_of(files):,} lines")
    print(f"  {TURNS} ratios: {ratios[0]:.1f} to {ratios[-1]:.1f}")
    return median(ratios)


def one_file(file: Path, settings: Settings, repeat: int) -> float:
    ours = best(repeat, time.process_time, lambda: lint_files([file], settings))
    return ours / best(repeat, time.process_time, lambda: parse([file]))


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


STREAMS = """
def speed{n}(client, q):
    count, start = 0, time.perf_counter()
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            count += 1
    return {{"tok_s": count / (time.perf_counter() - start)}}
"""
PLAIN = """
def shelf{n}(books, limit):
    found = {{}}
    for book in books:
        if book.weight > limit:
            found[book.title] = book.weight * 2 + {n}
    return sorted(found.items(), key=lambda item: item[1])
"""


def repeated(lines: int, *parts: str) -> str:
    """A file of about so many lines, of these functions in turn."""
    each = sum(part.count("\n") for part in parts)
    copies = range(lines // each)
    return "import time, openai\n" + "".join(
        part.format(n=n) for n in copies for part in parts
    )


def nested(lines: int) -> str:
    """Functions of ninety conditions within each other, around a stream."""
    steps = "".join(f"{' ' * depth}if q[{depth}]:\n" for depth in range(1, 91))
    call = f"{' ' * 91}for c in client.chat.completions.create(stream=True): n += 1\n"
    text = f"def f{{n}}(client, q, n=0):\n{steps}{call} return n / (q.end - q.start)\n"
    return repeated(lines, text)


def literals(entries: int) -> str:
    """A list of numbers and texts beside one stream."""
    rows = "".join(f'    ({n}, "text {n}"),\n' for n in range(entries))
    return f"ROWS = [\n{rows}]\n{repeated(8, STREAMS)}"


def growth(repeat: int) -> None:
    """Print how the time grows with the size of made-up files."""
    shapes: dict[str, Callable[[int], str]] = {
        "one function in ten streams": lambda n: repeated(n, STREAMS, *[PLAIN] * 9),
        "every function streams": lambda n: repeated(n, STREAMS),
        "ninety conditions deep": nested,
        "one literal": literals,
    }
    print(f"{'':28s} {'lines':>8s} {'ast.parse':>10s} {'lint':>8s}  ratio")
    for name, make in shapes.items():
        for lines in (1_000, 10_000, 100_000):
            text = make(lines)
            data, settings = text.encode(), Settings()
            alone = best(repeat, time.process_time, lambda t=text: ast.parse(t))
            ours = best(
                repeat, time.process_time,
                lambda d=data, s=settings: lint_text(d, "made_up.py", s),
            )  # fmt: skip
            print(
                f"{name:28s} {text.count(chr(10)):8,d} {alone:8.3f} s {ours:6.3f} s"
                f"  {ours / alone:5.1f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--growth", action="store_true", help="made-up big files")
    options = parser.parse_args()
    if options.growth:
        growth(options.repeat)
        return
    where = options.directories or [Path(sysconfig.get_path("purelib"))]
    figures = {
        "standard library, lint / pyflakes": (standard_library(options.repeat), 0.1),
        "files that need parsing, lint / ast.parse": (
            parsed_files(where, options.repeat), 3.0,
        ),
        "labelled corpus, lint / ast.parse": (tiny_files(5 * options.repeat), 3.0),
        "lint --help / python": (start_up(options.repeat), 3.0),
    }  # fmt: skip
    print()
    for label, (ratio, wanted) in figures.items():
        if ratio is not None:
            print(f"{label:45s} {ratio:6.2f}  (wanted: at most {wanted})")


if __name__ == "__main__":
    main()
