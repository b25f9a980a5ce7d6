"""What is under way, for whoever sits at a terminal."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def progress(text: str) -> AbstractContextManager[object]:
    """Say on a terminal what is under way; on standard error, so that pipes stay."""
    from rich.console import Console

    console = Console(stderr=True)
    return console.status(text) if console.is_terminal else nullcontext()
