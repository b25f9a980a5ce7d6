"""From bytes to a syntax tree, or to a reason that a reader understands."""

from __future__ import annotations

import io
import stat
import sys
import tokenize
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from otel_specdecode.errors import LintSourceError
from otel_specdecode.lint._modules import Module, split_lines
from otel_specdecode.lint._parsing import parsed
from otel_specdecode.lint.notebooks import CellMap, read_notebook

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

MAX_BYTES = 64_000_000
"""Of a file: notebooks carry their pictures."""
MAX_CHARACTERS = 8_000_000
"""Of its source: a longer one is generated, and would take gigabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """The text of a file.

    Attributes:
        path: as it is reported.
        text: decoded, line ends as they are.
        encoding: to write it back.
        cells: for a notebook, where its lines come from.
    """

    path: str
    text: str
    encoding: str = "utf-8"
    cells: CellMap | None = None


_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
"""The grammar is the running interpreter's: newer syntax needs a newer one."""


class UnreadableError(LintSourceError):
    """A file cannot be read as Python.

    Attributes:
        line: 1-based line of the trouble.
        column: 1-based column.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        UnreadableError: it cannot be opened, or is too large.
    """
    try:
        status = path.stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
            return path.read_bytes()
        with path.open("rb") as file:  # a pipe or device may have no end
            return read_stream(file)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error


def read_stream(stream: BinaryIO) -> bytes:
    """All of a stream, if that is not too much.

    Raises:
        UnreadableError: it is.
    """
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableError(f"larger than {MAX_BYTES // 1_000_000} MB, not read")
    return data


def decode(path: str, data: bytes) -> SourceText:
    """Decode a file by its declaration, as Python does.

    Raises:
        UnreadableError: the declaration is unknown or does not fit the bytes.
    """
    if path.endswith(".ipynb"):
        try:
            text, cells = read_notebook(data)
        except LintSourceError as error:
            raise UnreadableError(str(error)) from error
        return SourceText(path=path, text=text, cells=cells)
    encoding = "utf-8"
    try:
        # The usual case, without looking for a declaration line by line.
        second_end = data.find(b"\n", data.find(b"\n") + 1)
        head = data[: max(second_end, 400)]
        if data.startswith(b"\xef\xbb\xbf") or b"coding" in head:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return SourceText(path=path, text=data.decode(encoding), encoding=encoding)
    except (SyntaxError, LookupError) as error:
        raise UnreadableError(f"unknown encoding: {error}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError(f"not valid {encoding}: {error.reason}", line) from error
    except UnicodeError as error:  # of codecs that say no more, such as `undefined`
        raise UnreadableError(f"not valid {encoding}: {error}") from error


def parse(source: SourceText, name: str = "", *, is_package: bool = False) -> Module:
    """The syntax tree of a source.

    Raises:
        UnreadableError: it is not Python, too large, or nested too deeply.
    """
    if len(source.text) > MAX_CHARACTERS:
        size = f"{MAX_CHARACTERS // 1_000_000} million characters"
        raise UnreadableError(f"larger than {size}, not analysed")
    try:
        tree = parsed(source.text)
    except SyntaxError as error:
        message = f"syntax error: {error.msg} (read as Python {_VERSION})"
        raise UnreadableError(message, error.lineno or 1, error.offset or 1) from error
    except ValueError as error:
        raise UnreadableError(f"not Python source: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableError("nested too deeply to be parsed") from error
    return Module(source.path, tree, source.text, name, is_package)


def without_broken_cells(
    source: SourceText,
) -> tuple[SourceText, list[UnreadableError]]:
    """A notebook with empty lines in place of the cells that are no Python.

    Returns:
        The source, and what is wrong with each of these cells; none where every cell
        is Python by itself or the file is no notebook.
    """
    if source.cells is None:
        return source, []
    lines = split_lines(source.text)
    errors: list[UnreadableError] = []
    for begin, end in source.cells.spans(len(lines)):
        try:
            parse(replace(source, text="".join(lines[begin:end])))
        except UnreadableError as error:
            place = min(begin + error.line, end)
            errors.append(UnreadableError(str(error), place, error.column))
            lines[begin:end] = ["\n"] * (end - begin)
    return replace(source, text="".join(lines)), errors
