"""A function that was found to derive a rate from chunks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCountSite:
    """Where a program takes chunks for tokens.

    Attributes:
        rule: code of the lint rule, such as `SPD001`.
        path: the file.
        line: 1-based line of the rate.
        function: qualified name of the function that consumes the stream.
    """

    rule: str
    path: str
    line: int
    function: str
