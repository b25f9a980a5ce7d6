"""Run the analysis of one file to its end."""

from __future__ import annotations

import ast
import sys
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, cast

from otel_specdecode.lint import (
    _assignment,
    _calls,
    _comprehensions,
    _expressions,
    _functions,
    _statements,
)
from otel_specdecode.lint._frames import Frame
from otel_specdecode.lint._machine import Machine
from otel_specdecode.lint._reach import carriers, lines_that_mention
from otel_specdecode.lint._relevance import stream_lines, touches
from otel_specdecode.lint._signs import can_stream
from otel_specdecode.lint.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from otel_specdecode.lint._modules import Module

MAX_ROUNDS = 4
LEAST_STATEMENTS = 2_500
LEAST_OF_IMPORTER = 6_000
"""The same for a file whose stream is in another: that one has to be run as well."""
STATEMENTS_PER_LINE = 2
MOST_STATEMENTS = 30_000
"""Statements run in one round, repetitions and imported functions counted.

In proportion to the file, so that no file takes far longer than others of its size;
bounded, because the input may be hostile.
"""
DEEP = 20_000

_EXPRESSIONS = {
    **_expressions.EXPRESSIONS,
    **_comprehensions.COMPREHENSIONS,
    ast.Call: _calls.call,
}


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
    only_streams: bool = False,
) -> Facts:
    """What a file does with streamed chunks.

    Args:
        module: the file.
        find_module: resolves an import (module, dotted name, level) to another file
            of the run; `None` leaves all imports unknown.
        follow_imports: follow them even if the file itself has no stream. Otherwise
            that costs time and finds nothing.
        only_streams: what is found without a stream is of no interest.
    """
    if only_streams and not follow_imports and not can_stream(module):
        return Facts()
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
        lines = module.text.count("\n")
        budget = min(
            max(
                LEAST_OF_IMPORTER if follow_imports else LEAST_STATEMENTS,
                STATEMENTS_PER_LINE * lines,
            ),
            MOST_STATEMENTS,
        )
        for _ in range(MAX_ROUNDS):
            machine.begin_round(budget)
            machine.run_module(module)
            machine.run_uncalled(
                module.tree.body, Frame(module, machine.globals_of(module))
            )
            machine.run_imported_classes(module)
            is_spent = machine.budget <= 0 and budget == MOST_STATEMENTS
            machine.facts.is_partial = is_spent and machine.has_stream
            # Without a stream there is nothing that a second round could find.
            if not machine.has_stream:
                break
            is_wider = _widen(machine, module)
            if find_module is not None and machine.find_module is not find_module:
                machine.find_module = find_module
                if _imports_any(module, find_module):
                    continue
            if not is_wider and machine.is_settled():
                break
    return machine.outcome()


def _imports_any(
    module: Module, find_module: Callable[[Module, str, int], Module | None]
) -> bool:
    """Whether a file imports another of the run."""
    nodes = module.nodes
    for node in cast("list[ast.Import]", nodes.get(ast.Import, ())):
        for alias in node.names:
            bound = alias.name.partition(".")[0]
            name = alias.name if alias.asname else bound
            if find_module(module, name, 0) is not None:
                return True
    for node in cast("list[ast.ImportFrom]", nodes.get(ast.ImportFrom, ())):
        base = node.module or ""
        names = [f"{base}.{alias.name}" if base else alias.name for alias in node.names]
        if any(find_module(module, name, node.level) for name in (*names, base)):
            return True
    return False


def _widen(machine: Machine, module: Module) -> bool:
    """Let code that mentions what streams flow into be run too; true if any is new."""
    if machine.hot_lines is None or not machine.left_out:
        return False
    wider = lines_that_mention(module, carriers(machine)).union(machine.hot_lines)
    machine.hot_lines = sorted(wider)
    return any(touches(node, machine.hot_lines) for node in machine.left_out)
