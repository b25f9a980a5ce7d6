"""Jupyter notebooks: their code cells as one source, positions kept by cell."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from otel_specdecode.errors import LintSourceError
from otel_specdecode.lint._modules import split_lines

_OTHER_LANGUAGE = re.compile(r"\s*%%(?!time|timeit|capture|prun)\w+")
"""A cell magic whose body is not Python: `%%bash`, `%%html`, `%%writefile`."""
_MAGIC = re.compile(
    r"^(\s*)(?:[%!?]|[\w.\[\]]+\s*=\s*[%!]|[^#'\"]*[^\s#'\"]\?{1,2}\s*$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMap:
    """Which cell a line of the joined source comes from.

    Attributes:
        starts: for each code cell its 1-based number in the notebook and the first
            line it takes in the joined source.
    """

    starts: tuple[tuple[int, int], ...]

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
        cells = document["cells"]
        language = document.get("metadata", {}).get("kernelspec", {}).get("language")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LintSourceError(f"not a Jupyter notebook: {error}") from error
    if not isinstance(cells, list):
        raise LintSourceError("not a Jupyter notebook: `cells` is not a list")
    if language not in {None, "python"}:
        return "", CellMap(starts=())
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    for number, cell in enumerate(cast("list[Any]", cells), start=1):
        text = _code_of(cell)
        if text is None:
            continue
        starts.append((number, len(lines) + 1))
        lines += [_without_magic(line) for line in split_lines(text)] or ["\n"]
        if not lines[-1].endswith(("\n", "\r")):
            lines[-1] += "\n"
    return "".join(lines), CellMap(starts=tuple(starts))


def _code_of(cell: Any) -> str | None:
    """The source of a Python cell; `None` for text and other languages."""
    if not isinstance(cell, dict):
        return None
    fields = cast("dict[str, Any]", cell)
    if fields.get("cell_type") != "code":
        return None
    source = fields.get("source", "")
    if isinstance(source, list):
        source = "".join(str(part) for part in cast("list[Any]", source))
    if not isinstance(source, str) or _OTHER_LANGUAGE.match(source):
        return None
    return source


def _without_magic(line: str) -> str:
    """A statement that does nothing in place of a magic or shell line."""
    found = _MAGIC.match(line)
    if found is None:
        return line
    ending = line[len(line.rstrip("\r\n")) :]
    return f"{found.group(1)}pass{ending}"
