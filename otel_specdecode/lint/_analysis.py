"""Run the analysis of one file to its end."""

from __future__ import annotations

import ast
import sys
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from otel_specdecode.lint import (
    _assignment,
    _calls,
    _expressions,
    _functions,
    _statements,
)
from otel_specdecode.lint._frames import Frame
from otel_specdecode.lint._machine import Machine
from otel_specdecode.lint._relevance import stream_lines
from otel_specdecode.lint.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from otel_specdecode.lint._modules import Module

MAX_ROUNDS = 4
MAX_STATEMENTS = 30_000
"""Statements run in one round, repetitions counted: bounds hostile input."""
MAX_STATEMENTS_OF_IMPORTER = 6_000
"""The same for a file that only imports a stream: many files import one package."""
DEEP = 20_000

_EXPRESSIONS = {**_expressions.EXPRESSIONS, ast.Call: _calls.call}


@contextmanager
def deep_recursion() -> Generator[None]:
    """Let deeply nested source be walked; Python frames cost no C stack.

    The limit is the whole process's, and other code leans on it: so only in the main
    thread, which is the linter's own. A guest in a running program has a thread.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def analyse(
    module: Module,
    find_module: Callable[[Module, str, int], Module | None] | None = None,
    *,
    follow_imports: bool = False,
) -> Facts:
    """What a file does with streamed chunks.

    Args:
        module: the file.
        find_module: resolves an import (module, dotted name, level) to another file
            of the run; `None` leaves all imports unknown.
        follow_imports: follow them even if the file itself has no stream. Otherwise
            that costs time and finds nothing.
    """
    hot_lines = None if follow_imports else stream_lines(module)
    if hot_lines == []:
        return Facts()
    machine = Machine(
        _EXPRESSIONS,
        _statements.STATEMENTS,
        _functions.invoke,
        _functions.run_unknown,
        _assignment.assign,
    )
    if find_module is not None and follow_imports:
        machine.find_module = find_module
    with deep_recursion():
        machine.hot_lines = hot_lines
        budget = MAX_STATEMENTS_OF_IMPORTER if follow_imports else MAX_STATEMENTS
        for _ in range(MAX_ROUNDS):
            machine.begin_round(budget)
            machine.run_module(module)
            machine.run_uncalled(
                module.tree.body, Frame(module, machine.globals_of(module))
            )
            machine.run_imported_classes(module)
            # Without a stream there is nothing that a second round could find.
            if not machine.has_stream:
                break
            if machine.hot_lines is not None:
                machine.hot_lines = None  # what is streamed may be counted anywhere
                machine.changed = True
            if find_module is not None and machine.find_module is not find_module:
                machine.find_module = find_module
            elif not machine.changed:
                break
    return machine.outcome()
