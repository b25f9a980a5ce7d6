"""What a rule reports."""

from __future__ import annotations

from dataclasses import dataclass

from otel_specdecode.lint._values import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A replacement of source text.

    Attributes:
        start: index of the first character replaced, in the file's text.
        end: index after the last one; equal to `start` for an insertion.
        text: what stands there instead.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Edits that resolve a finding.

    Attributes:
        edits: in any order, not overlapping.
        is_safe: applying it cannot make working code fail.
        title: what it does.
    """

    edits: tuple[Edit, ...]
    is_safe: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place that a rule objects to.

    Attributes:
        code: the rule.
        message: one line that names the problem and the way out.
        path: the file.
        line: 1-based line of the expression; within the cell in a notebook.
        column: 1-based column, counted in characters.
        end_line: last line.
        end_column: column after the last character.
        cell: 1-based number of the code cell in a notebook; `None` elsewhere.
        steps: the way from the stream to the rate, first stop first.
        fix: how to change the source; `None` where only a reader can.
    """

    code: str
    message: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None
    steps: tuple[Step, ...] = ()
    fix: Fix | None = None

    @property
    def place(self) -> str:
        """`path:line:column`, with the cell in a notebook."""
        cell = f"cell {self.cell}:" if self.cell is not None else ""
        return f"{self.path}:{cell}{self.line}:{self.column}"

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        """Order by file, position and code."""
        return (self.path, self.cell or 0, self.line, self.column, self.code)
