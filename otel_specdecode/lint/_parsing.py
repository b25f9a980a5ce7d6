"""The parser of the running interpreter, without its warnings."""

from __future__ import annotations

import ast
import re
import sys
import time
import warnings
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_PLACE = "<source under otel-specdecode lint>"
_FILTER = ("ignore", None, Warning, re.compile(re.escape(_PLACE)), 0)

_COUNTS_FOR_ALL = sys.version_info < (3, 12)
"""CPython 3.11 counts in one place, for all threads, how deep in a tree it is. Whoever
is interrupted there, by a finaliser in the garbage collector, and meets the count of
another one afterwards, gets a SystemError. The engine also runs in a thread of other
people's programs, which call `ast.parse` as well.
Source: https://github.com/python/cpython/issues/106905
"""

_MOST_TRIES = 5
_LONGEST_WAIT_S = 5.0


def _ignore_warnings() -> None:
    """Keep quiet about invalid escapes in the code under test.

    With a filter of our own, that fits nothing else, and not with `catch_warnings`:
    that swaps the filters of the whole process, and the engine also runs in a thread
    of other people's programs, whose warnings would be lost meanwhile.
    """
    if _FILTER not in warnings.filters:
        warnings.filterwarnings("ignore", module=re.escape(_PLACE))


def parsed(text: str) -> ast.Module:
    """The tree of a source.

    Raises:
        SyntaxError: it is not Python.
        ValueError: it holds what no source may.
        RecursionError: it is nested too deeply, as MemoryError says, too.
    """
    _ignore_warnings()
    try:
        return _tree(text)
    except SyntaxError:
        if _FILTER in warnings.filters:
            raise
    # Another thread took our filter away meanwhile, and warnings are errors here.
    _ignore_warnings()
    return _tree(text)


def _tree(text: str) -> ast.Module:
    if _COUNTS_FOR_ALL:
        _await_others()
        for _ in range(_MOST_TRIES - 1):
            with suppress(SystemError):
                return ast.parse(text, _PLACE)
    return ast.parse(text, _PLACE)


def _await_others() -> None:
    """Wait while another thread is in the middle of a tree; not for ever."""
    until = time.monotonic() + _LONGEST_WAIT_S
    while _others_parse() and time.monotonic() < until:
        time.sleep(0.001)


def _others_parse() -> bool:
    frames = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] (documented)
    frames.pop(get_ident(), None)  # it has another name under gevent
    return any(map(_is_parsing, frames.values()))


def _is_parsing(frame: FrameType | None) -> bool:
    parse = getattr(ast.parse, "__code__", None)
    while frame is not None:
        if frame.f_code is parse:
            return True
        frame = frame.f_back
    return False
