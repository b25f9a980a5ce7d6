"""The `${env:NAME}` references of a collector's configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE = re.compile(
    r"(?P<dollars>\$+)\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-[^}]*)?\}"
)
_BRACES = re.compile(r"(?<!\$)\$\{env:[^}]*\}?")
_NAKED = re.compile(r"(?<!\$)\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)")
_ESCAPED = re.compile(r"\$\$[{\w]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One reference to a variable.

    Attributes:
        name: of the variable.
        default: the text after `:-`; `None` where there is no default.
    """

    name: str
    default: str | None


def references(text: str) -> tuple[Reference, ...]:
    """The references that the collector will expand, in order."""
    return tuple(
        Reference(name=found["name"], default=_default(found["default"]))
        for found in _REFERENCE.finditer(text)
        # An even number of dollars is so many literal ones.
        if len(found["dollars"]) % 2 == 1
    )


def _default(text: str | None) -> str | None:
    return None if text is None else text.removeprefix(":-")


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text as it is where the variables are those of `environment`.

    A variable that is set to nothing is nothing: unlike in a shell, the default is for
    those that are not set.
    """
    return _REFERENCE.sub(
        lambda found: (
            environment.get(found["name"], _default(found["default"]) or "")
            if len(found["dollars"]) % 2 == 1
            else found[0]
        ),
        text,
    )


def misspelt(text: str) -> tuple[str, ...]:
    """References that no collector reads, such as `${env:NAME:8888}`, as written."""
    return tuple(
        found[0]
        for found in _BRACES.finditer(text)
        if _REFERENCE.fullmatch(found[0]) is None
    )


def naked(text: str) -> tuple[str, ...]:
    """Names after a single `$` without braces, which nothing expands.

    `$1` is a group of a pattern: the collector hands it on as it does `$$1`.
    """
    return tuple(found["name"] for found in _NAKED.finditer(text))


def mixes_escape_and_reference(text: str) -> bool:
    """Whether `$$` and a reference share a scalar.

    Up to 0.160 an escape before a reference kept it from being expanded
    (opentelemetry-collector#15867).
    """
    return bool(_ESCAPED.search(text)) and bool(references(text))
