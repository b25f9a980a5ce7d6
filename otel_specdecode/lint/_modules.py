"""One file under analysis."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from otel_specdecode.lint._tree import by_class, parents, walk

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


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
        is_guarded: every `choices[0]` is looked at first; `None` if not yet judged.
        mentioned: expressions already looked for in the text.
    """

    path: str
    tree: ast.Module
    text: str
    name: str = ""
    is_package: bool = False
    evidence: dict[ast.AST, bool] = field(default_factory=dict[ast.AST, bool])
    is_guarded: bool | None = None
    mentioned: dict[re.Pattern[str], bool] = field(
        default_factory=dict[re.Pattern[str], bool]
    )

    def mentions(self, pattern: re.Pattern[str], *words: str) -> bool:
        """Whether the text has a match anywhere; searched once.

        Args:
            pattern: the expression.
            words: every match has one of them: they are found much faster.
        """
        known = self.mentioned.get(pattern)
        if known is None:
            may_match = not words or any(word in self.text for word in words)
            known = may_match and pattern.search(self.text) is not None
            self.mentioned[pattern] = known
        return known

    @cached_property
    def lines(self) -> list[str]:
        """Source lines as Python counts them, line ends kept."""
        return split_lines(self.text)

    @cached_property
    def nodes(self) -> dict[type[ast.AST], list[ast.AST]]:
        """Every node of the tree by its class; walked once for all rules."""
        return by_class(self.tree)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return parents(self.tree)

    @cached_property
    def loops_over(self) -> dict[ast.AST, ast.AST]:
        """The loop in whose iterable a call stands."""
        loops = (*self.nodes.get(ast.For, ()), *self.nodes.get(ast.AsyncFor, ()))
        return {
            node: loop
            for loop in cast("tuple[ast.For | ast.AsyncFor, ...]", loops)
            for node in walk(loop.iter)
            if isinstance(node, ast.Call)
        }

    @cached_property
    def mentions_of(self) -> dict[str, list[int]]:
        """The lines that mention a name: as a variable, attribute, key or parameter."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        nodes = self.nodes
        for node in cast("list[ast.Name]", nodes.get(ast.Name, ())):
            found[node.id].append(node.lineno)
        for node in cast("list[ast.Attribute]", nodes.get(ast.Attribute, ())):
            found[node.attr].append(node.lineno)
        for node in cast("list[ast.Constant]", nodes.get(ast.Constant, ())):
            if node.value.__class__ is str:
                found[cast("str", node.value)].append(node.lineno)
        for node in cast("list[ast.arg]", nodes.get(ast.arg, ())):
            found[node.arg].append(node.lineno)
        return found

    def forget_nodes(self) -> None:
        """Drop the lists of nodes; they are made again if anybody asks."""
        for name in ("nodes", "parents", "loops_over", "mentions_of"):
            self.__dict__.pop(name, None)

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
    return _LINE.findall(text)
