"""The clocks: one monotonic for lengths, one of the wall for the span's end."""

from __future__ import annotations

from time import perf_counter as monotonic_s
from time import time_ns as wall_ns

__all__ = ["monotonic_s", "wall_ns"]
