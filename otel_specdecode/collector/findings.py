"""What a check says: one finding, with its code and its place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a finding makes the check fail."""

    ERROR = "error"
    """It does not work, or does something else than it seems to."""
    WARNING = "warning"
    """It works, and there is a better way or a risk."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """One thing found in a configuration, a rule file or a dashboard.

    Attributes:
        file: the file as it was given.
        line: counted from 1; 0 where the finding is about the whole file.
        code: `C...` for the collector's configuration, `Q...` for queries.
        message: what is wrong, and what to write instead.
        severity: whether it makes the check fail.
    """

    file: str
    line: int
    code: str
    message: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code} {self.severity}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFinding:
    """A finding about one query, whose place the caller knows.

    Attributes:
        code: `Q...`.
        message: what is wrong, and what to write instead.
        severity: whether it makes the check fail.
    """

    code: str
    message: str
    severity: Severity = Severity.ERROR
