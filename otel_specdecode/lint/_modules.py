"""One file under analysis."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

_PLAIN = frozenset((int, str, type(None)))


@dataclass(eq=False)
class Module:
    """A parsed file.

    Attributes:
        path: as it is reported.
        tree: its syntax tree.
        text: its source.
        name: dotted module name, empty when it has none.
        is_package: it is an `__init__`.
        evidence: loops already judged by how they treat their items.
    """

    path: str
    tree: ast.Module
    text: str
    name: str = ""
    is_package: bool = False
    evidence: dict[ast.AST, bool] = field(default_factory=dict[ast.AST, bool])

    @cached_property
    def lines(self) -> list[str]:
        """Source lines as Python counts them, line ends kept."""
        return split_lines(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree, in no particular order; walked once for all."""
        found: list[ast.AST] = [self.tree]
        for node in found:  # grows while it is read
            # The instance's own dict: twice as fast as `_fields` and `getattr`.
            for child in node.__dict__.values():
                if child.__class__ in _PLAIN:
                    continue
                if isinstance(child, list):
                    parts = cast("list[object]", child)
                    found += [part for part in parts if isinstance(part, ast.AST)]
                elif isinstance(child, ast.AST) and child.__dict__:
                    found.append(child)  # without those that only mark a context
        return found

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def line(self, number: int) -> str:
        """The source line with this 1-based number, empty beyond the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def character_column(self, number: int, offset: int) -> int:
        """Turn `ast`'s UTF-8 byte offset into a 0-based character column."""
        line = self.line(number)
        if line.isascii():
            return offset
        return len(line.encode()[:offset].decode(errors="ignore"))

    def index(self, number: int, offset: int) -> int:
        """Index into `text` of `ast`'s line and byte offset."""
        number = min(max(number, 1), len(self._starts))
        return self._starts[number - 1] + self.character_column(number, offset)


def split_lines(text: str) -> list[str]:
    r"""Split at `\n`, `\r\n` and `\r` only, as the tokenizer does.

    `str.splitlines` also breaks at form feeds and Unicode separators.
    """
    lines: list[str] = []
    start = 0
    while start < len(text):
        newline, carriage = text.find("\n", start), text.find("\r", start)
        ends = [position for position in (newline, carriage) if position >= 0]
        if not ends:
            lines.append(text[start:])
            break
        end = min(ends)
        end += 2 if text.startswith("\r\n", end) else 1
        lines.append(text[start:end])
        start = end
    return lines
