"""The parser of the running interpreter, without its warnings."""

from __future__ import annotations

import ast
import re
import warnings

_PLACE = "<source under otel-specdecode lint>"
_FILTER = ("ignore", None, Warning, re.compile(re.escape(_PLACE)), 0)


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
        return ast.parse(text, _PLACE)
    except SyntaxError:
        if _FILTER in warnings.filters:
            raise
    # Another thread took our filter away meanwhile, and warnings are errors here.
    _ignore_warnings()
    return ast.parse(text, _PLACE)
