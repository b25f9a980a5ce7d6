"""Bytecode instructions of some work: repeatable, whatever else the machine does."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def counting_opcodes() -> Generator[list[int]]:
    """Count the bytecode instructions of what is called inside, in this thread.

    Yields:
        One number, which is right when the block has ended.
    """
    count = [0]

    def trace(frame: Any, what: str, _: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count[0] += what == "opcode"
        return trace

    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(None)
