"""The line of the application that made a call."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# Whoever stands between the application and the request.
_BETWEEN = ("openai", "otel_specdecode", "opentelemetry", "wrapt", "asyncio")
_RUNS_TASKS = "asyncio.events"
_MOST_FRAMES = 60


def calling_frame(num_own: int = 1) -> FrameType | None:
    """Return the nearest frame that belongs to none of those in between.

    `None` where an event loop comes first: it runs a call that was made into a task of
    its own, `wait_for(stream.__anext__(), 5)`, and who started the loop made no call.

    Args:
        num_own: frames of this package that are known to be on top, not looked at.
    """
    frame: FrameType | None = sys._getframe(num_own)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] (inspect is far slower)
    for _ in range(_MOST_FRAMES):
        module = None if frame is None else frame.f_globals.get("__name__")
        if frame is None or not _is_between(module):
            return frame
        if module == _RUNS_TASKS:
            return None
        frame = frame.f_back
    return None


# A request passes ten frames, and always through the same few modules.
@lru_cache(maxsize=256)
def _is_between(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _BETWEEN
