"""The line of the application that made a call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# Whoever stands between the application and the request.
_BETWEEN = ("openai", "otel_specdecode", "opentelemetry", "wrapt", "asyncio")
_MOST_FRAMES = 60


def calling_frame() -> FrameType | None:
    """Return the nearest frame that belongs to none of those in between."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] (inspect is far slower)
    for _ in range(_MOST_FRAMES):
        if frame is None or not _is_between(frame):
            return frame
        frame = frame.f_back
    return None


def _is_between(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    return module.partition(".")[0] in _BETWEEN
