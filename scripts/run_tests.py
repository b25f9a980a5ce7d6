"""Run the tests that need no real server, in parallel, and hold the coverage.

Run by make. What is left of the command line goes to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys

FULL = ("model", "servers", "recording", "instrumentation")
REST_PERCENT = 95
# Many tests wait for a process or a clock; one worker more than cores uses that time.
NUM_WORKERS = (os.cpu_count() or 1) + 1


def run(*command: str) -> int:
    """Run a module of this environment, and return its exit code."""
    return subprocess.run([sys.executable, "-m", *command], check=False).returncode


def main() -> int:
    """Test, then check the coverage of what must be whole and of the rest."""
    run("coverage", "erase")
    code = run(
        *("coverage", "run", "-m", "pytest", "-m", "not e2e and not full"),
        *("-n", str(NUM_WORKERS), "--dist", "worksteal", *sys.argv[1:]),
    )
    if code or sys.argv[1:]:
        return code
    run("coverage", "combine", "--quiet")
    whole = ",".join(f"otel_specdecode/{name}/*" for name in FULL)
    code = run("coverage", "report", f"--include={whole}", "--fail-under=100")
    rest = run("coverage", "report", f"--omit={whole}", f"--fail-under={REST_PERCENT}")
    return code or rest


if __name__ == "__main__":
    sys.exit(main())
