"""Jupyter notebooks: their code cells as one source, positions kept by cell."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from otel_specdecode.errors import LintSourceError
from otel_specdecode.lint._modules import split_lines
from otel_specdecode.lint._parsing import parsed

_OTHER_LANGUAGE = re.compile(
    r"\s*%%(?!(?:time|timeit|capture|prun|python3?|pypy)\b)\w+"
)
"""A cell magic whose body is not Python: `%%bash`, `%%html`, `%%writefile`."""
_MAGIC = re.compile(
    r"^(\s*)(?:%{1,2}[A-Za-z_]|[!?]|[\w.\[\], ]+\s*=\s*(?:%[A-Za-z_]|!)"
    r"|[^#'\"]*[^\s#'\"]\?{1,2}\s*$)"
)
_PYTHON = frozenset(("python", "python3", "ipython"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMap:
    """Which cell a line of the joined source comes from.

    Attributes:
        starts: for each code cell its 1-based number in the notebook and the first
            line it takes in the joined source.
        shifted: the first lines of cells that stand in an `if` of their own.
    """

    starts: tuple[tuple[int, int], ...]
    shifted: frozenset[int] = frozenset()

    def spans(self, num_lines: int) -> list[tuple[int, int]]:
        """For each cell the slice of the joined source's lines that is its own."""
        begins = [first - 1 - (first in self.shifted) for _, first in self.starts]
        return list(zip(begins, [*begins[1:], num_lines], strict=True))

    def locate(self, line: int) -> tuple[int, int]:
        """Cell and line within it of a 1-based line of the joined source."""
        cell, first = self.starts[0] if self.starts else (1, 1)
        for number, start in self.starts:
            if start > line:
                break
            cell, first = number, start
        return cell, line - first + 1


def read_notebook(data: bytes) -> tuple[str, CellMap]:
    """The Python source of a notebook's code cells, magics blanked out.

    Raises:
        LintSourceError: the file is no notebook.
    """
    try:
        document: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise LintSourceError(f"not a Jupyter notebook: {error}") from error
    cells = _cells_of(document)
    if not _is_python(_field(document, "metadata")):
        return "", CellMap(starts=())
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    shifted: set[int] = set()
    for number, cell in enumerate(cells, start=1):
        text = _code_of(cell)
        if text is None:
            continue
        own = _without_magics(split_lines(text)) or ["\n"]
        if _is_indented(own):
            lines.append("if True:\n")  # IPython takes the indent away: columns shift
            shifted.add(len(lines) + 1)
        starts.append((number, len(lines) + 1))
        lines += own
        if not lines[-1].endswith(("\n", "\r")):
            lines[-1] += "\n"
    cell_map = CellMap(starts=tuple(starts), shifted=frozenset(shifted))
    return "".join(lines), cell_map


def _field(value: Any, key: str) -> Any:
    """A field of a JSON object; `None` of anything else."""
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def _cells_of(document: Any) -> list[Any]:
    """The cells; until version 3 of the format they stood on sheets."""
    cells = _field(document, "cells")
    sheets = _field(document, "worksheets")
    if cells is None and isinstance(sheets, list):
        on_sheets = [_field(sheet, "cells") for sheet in cast("list[Any]", sheets)]
        parts = [cast("list[Any]", p) for p in on_sheets if isinstance(p, list)]
        cells = [cell for part in parts for cell in part]
    if not isinstance(cells, list):
        raise LintSourceError("not a Jupyter notebook: it has no list of `cells`")
    return cast("list[Any]", cells)


def _is_python(metadata: Any) -> bool:
    languages = (
        _field(_field(metadata, "kernelspec"), "language"),
        _field(_field(metadata, "language_info"), "name"),
    )
    return all(
        not isinstance(language, str) or language.lower() in _PYTHON
        for language in languages
    )


def _code_of(cell: Any) -> str | None:
    """The source of a Python cell; `None` for text and other languages."""
    if _field(cell, "cell_type") != "code":
        return None
    source = _field(cell, "source") or _field(cell, "input") or ""
    if isinstance(source, list):
        source = "".join(str(part) for part in cast("list[Any]", source))
    if not isinstance(source, str) or _OTHER_LANGUAGE.match(source):
        return None
    return source


def _without_magics(lines: list[str]) -> list[str]:
    """Statements that do nothing in place of magics and shell lines."""
    if not any(map(_MAGIC.match, lines)) or _is_plain("".join(lines)):
        return lines
    kept: list[str] = []
    goes_on = False
    for line in lines:
        kept.append(_ending(line) if goes_on else _without_magic(line))
        is_magic = goes_on or kept[-1] is not line
        goes_on = is_magic and line.rstrip().endswith("\\")
    return kept


def _is_plain(text: str) -> bool:
    """Whether a cell is Python as it stands: its magics are in strings or brackets."""
    try:
        parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_indented(lines: list[str]) -> bool:
    """Whether a cell begins with an indent, as what is pasted from a function does."""
    code = (line for line in lines if line.strip() and line.lstrip()[0] != "#")
    return next(code, "")[:1] in {" ", "\t"}


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _without_magic(line: str) -> str:
    found = _MAGIC.match(line)
    return line if found is None else f"{found.group(1)}pass{_ending(line)}"
