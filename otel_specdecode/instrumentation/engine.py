"""The linter's engine, imported where no fork can cut an import in two.

It is imported by a thread of our own, in programs that never asked for it. A child that
is forked meanwhile has half of the module, and a lock that nobody opens any more: its
own import of it, or of whatever of the standard library that one needs, never returns.
So a fork waits until the import is done.
"""

from __future__ import annotations

import os
from threading import Lock, local
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from otel_specdecode.lint.findings import Finding

LONGEST_WAIT_S = 5.0
"""How long a fork waits for an import, at most."""

_importing = Lock()
# Two threads may fork at once.
_forking = local()


def findings_in(paths: Sequence[Path], rules: tuple[str, ...]) -> tuple[Finding, ...]:
    """Lint files with some rules.

    Args:
        paths: of the files.
        rules: their codes.
    """
    with _importing:
        # The engine is imported by the first program that streams, and by no other.
        # `_analysis` is what `run` itself would import later, for a file that needs it.
        from otel_specdecode.lint import _analysis, run, settings  # noqa: PLC0415 # pyright: ignore[reportPrivateUsage]
    del _analysis
    report = run.lint_files(paths, settings.Settings(select=rules))
    return tuple(found for found in report.findings if found.code in rules)


def _before_fork() -> None:
    _forking.waited = _importing.acquire(timeout=LONGEST_WAIT_S)


def _after_in_parent() -> None:
    if _forking.waited:
        _importing.release()


def _after_in_child() -> None:
    global _importing  # noqa: PLW0603 (the child's own)
    _importing = Lock()


if hasattr(os, "register_at_fork"):  # pragma: no branch (not on Windows)
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_in_parent,
        after_in_child=_after_in_child,
    )
