"""`make stack` shows live dashboards, and stops all that it started."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from collector_programs import get, wait_until
from collector_stack import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = [pytest.mark.e2e, pytest.mark.full]


def processes_of_group(group: int) -> bool:
    """Whether any process of a group is left."""
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        return True
    return False


def test_it_prints_where_to_look_and_leaves_no_process(
    binaries: Mapping[str, Path],
) -> None:
    script = ROOT / "scripts" / "stack.py"
    process = subprocess.Popen(
        (sys.executable, str(script)),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    try:
        printed: dict[str, str] = {}
        for line in process.stdout:
            if line.startswith("ready"):
                break
            found = re.fullmatch(r"(.+?)\s+(http://\S+)\n", line)
            assert found, line
            printed[found[1]] = found[2]

        def numbers_on_the_page() -> bool:
            page = get(printed["dashboards"], timeout_s=60)
            return bool(re.search(r"<b style=[^>]+>\d", page))

        wait_until("a figure on the page", numbers_on_the_page)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=90)
        process.stdout.close()
    assert code == 0
    assert {"dashboards", "Prometheus", "alerts", "OTLP over HTTP"} <= printed.keys()
    assert not processes_of_group(process.pid)
