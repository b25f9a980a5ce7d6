"""Forks while our thread imports the linter's engine, and imports the same there."""

from __future__ import annotations

import os
import signal
import sys
import time
from threading import Event, current_thread

import traffic

NEEDED = "bisect"
"""Of the standard library, and of the engine's; its thread is to import it anew."""
LONGEST_S = 10


class Slow:
    """Finds nothing, and takes its time where the engine's need is looked up."""

    def __init__(self) -> None:
        self.asked = Event()

    def find_spec(self, name: str, *_: object) -> None:
        if name == NEEDED and current_thread().name == "otel-specdecode-lint":
            self.asked.set()
            time.sleep(0.5)


client = traffic.client()
sys.modules.pop(NEEDED, None)
slow = Slow()
sys.meta_path.insert(0, slow)
traffic.talk(client)
assert slow.asked.wait(60)
child = os.fork()
if child == 0:
    signal.alarm(LONGEST_S)
    __import__(NEEDED)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
