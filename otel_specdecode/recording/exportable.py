"""What OTLP can hold: text that is UTF-8, and integers of 64 bits.

The exporters throw away the whole batch for one span name that they cannot encode, and
log a traceback at every export for an attribute.
"""

from __future__ import annotations

_LEAST, _MOST = -(2**63), 2**63 - 1


def exportable_text(text: str) -> str:
    """Return text with question marks for halves of surrogate pairs.

    JSON can spell such halves, and a file name that is not UTF-8 is made of them.

    Args:
        text: anything that came from outside.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_exportable_number(value: object) -> bool:
    """Say whether a value is a number that an attribute can hold.

    Args:
        value: anything that came from outside; `True` is no number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return _LEAST <= value <= _MOST
    return isinstance(value, float)
