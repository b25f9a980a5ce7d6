"""The engine runs in a thread of other people's programs, who parse Python as well."""

from __future__ import annotations

import ast
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from otel_specdecode.lint.run import lint_text
from otel_specdecode.lint.settings import Settings

from .conftest import COUNTS_CHUNKS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="each thread counts its own depth there"
)

NUM_FUNCTIONS = 2000
LONG = "\n".join(f"def f{n}(a, b): return [a, b, {n}]" for n in range(NUM_FUNCTIONS))


def _is_in_a_tree() -> bool:
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not ast.parse.__code__:
        frame = frame.f_back
    return frame is not None


class _Interrupting:
    """Has something called, once, in the middle of the next tree of this thread."""

    def __init__(self, calls: list[Callable[[], object]]) -> None:
        self._calls = calls
        self._itself = self  # only the garbage collector finds it

    def __del__(self) -> None:
        if self._calls and _is_in_a_tree():
            self._calls.pop()()


def _interrupt_next_tree(call: Callable[[], object]) -> list[Callable[[], object]]:
    """Return a list that is empty once the call was made."""
    calls = [call]
    for _ in range(2000):
        _Interrupting(calls)
    return calls


def _parsed_deep_in_a_program(text: str, depth: int = 30) -> ast.Module:
    if depth:
        return _parsed_deep_in_a_program(text, depth - 1)
    return ast.parse(text)


def _codes(text: str) -> set[str]:
    report = lint_text(text.encode(), "program.py", Settings())
    return {finding.code for finding in report.findings}


def test_a_program_that_parses_is_not_disturbed() -> None:
    began, ended = threading.Event(), threading.Event()

    def examine() -> set[str]:
        began.wait(10.0)
        try:
            return _codes(COUNTS_CHUNKS)
        finally:
            ended.set()

    def let_it_examine() -> None:
        began.set()
        ended.wait(1.0)

    with ThreadPoolExecutor() as threads:
        found = threads.submit(examine)
        calls = _interrupt_next_tree(let_it_examine)
        tree = _parsed_deep_in_a_program(LONG)
        assert not calls
        assert len(tree.body) == NUM_FUNCTIONS
        assert "SPD001" in found.result()


def test_a_program_that_parses_does_not_disturb_the_engine() -> None:
    def examine() -> set[str]:
        calls = _interrupt_next_tree(lambda: _parsed_deep_in_a_program("x = 1"))
        codes = _codes(f"{LONG}\n{COUNTS_CHUNKS}")
        assert not calls
        return codes

    with ThreadPoolExecutor() as threads:
        assert "SPD001" in threads.submit(examine).result()
