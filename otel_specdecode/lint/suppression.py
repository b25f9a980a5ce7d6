"""`# noqa` comments, read as flake8 reads them."""

from __future__ import annotations

import io
import re
import tokenize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_specdecode.lint.findings import Finding

_LINE = re.compile(
    r"#\s*noqa(?::\s?(?P<codes>(?:[A-Z]+[0-9]+[,\s]*)+))?", re.IGNORECASE
)
"""As in flake8, a comment whose codes cannot be read switches everything off."""
_FILE = re.compile(
    r"^\s*#\s*flake8[:=]\s*noqa(?P<codes>:\s?[A-Z]{1,3}[0-9]+(?:[,\s]+[A-Z]{1,3}[0-9]+)*)?"
    r"\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_CODE = re.compile(r"[A-Z]{1,3}[0-9]+", re.IGNORECASE)


def _codes(text: str | None) -> frozenset[str]:
    return frozenset(code.upper() for code in _CODE.findall(text or ""))


class Suppressions:
    """The findings that a file's comments switch off.

    Only files with findings are asked, so the text is tokenized here and not before.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: dict[int, frozenset[str]] | None = None
        self._last: dict[int, int] = {}
        self._of_file: list[frozenset[str]] | None = None

    def covers(self, finding: Finding, line: int) -> bool:
        """Whether a comment switches a finding off.

        Args:
            finding: the finding.
            line: its 1-based line in the whole text.
        """
        if self._of_file is None:
            found = _FILE.finditer(self._text) if "noqa" in self._text.lower() else ()
            self._of_file = [_codes(comment["codes"]) for comment in found]
        if any(not codes or _matches(finding.code, codes) for codes in self._of_file):
            return True
        if self._lines is None:
            self._lines = self._read()
        number = last = line
        while number <= last:
            codes = self._lines.get(number)
            if codes is not None and (not codes or _matches(finding.code, codes)):
                return True
            last = max(last, self._last.get(number, number))
            number += 1
        return False

    def _read(self) -> dict[int, frozenset[str]]:
        """Codes by line, empty for all; and where joined lines end."""
        comments: dict[int, frozenset[str]] = {}
        if "noqa" not in self._text.lower():
            return comments
        try:
            for token in tokenize.generate_tokens(io.StringIO(self._text).readline):
                if token.type == tokenize.COMMENT:
                    found = _LINE.search(token.string)
                    if found is not None:
                        comments[token.start[0]] = _codes(found["codes"])
                elif token.type == tokenize.STRING and token.end[0] > token.start[0]:
                    self._join(token.start[0], token.end[0])
        except (tokenize.TokenError, SyntaxError):
            pass  # what was read until then still counts
        for number, line in enumerate(self._text.split("\n"), start=1):
            if line.rstrip("\r").endswith("\\"):
                self._join(number, number + 1)
        return comments

    def _join(self, first: int, last: int) -> None:
        for number in range(first, last):
            self._last[number] = max(self._last.get(number, number), last)


def _matches(code: str, codes: frozenset[str]) -> bool:
    return any(code.startswith(prefix) for prefix in codes)
