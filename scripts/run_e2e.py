"""Run the tests against real servers; `--full` adds the long ones.

Run by make. What is left of the command line goes to pytest. A server or binary that
is missing is a failure when CI=true, and a skip with its reason otherwise.
"""

from __future__ import annotations

import subprocess
import sys

SHORT = ("e2e and not full", "tests/e2e")
# Their long forms are in the long form, too.
NO_SERVER = ("tests/hostile", "tests/instrumentation", "tests/lint", "tests/processes")
FULL = ("e2e or full", "tests/e2e", *NO_SERVER)


def main() -> int:
    """Run pytest on the end-to-end tests; no test at all is a failure too."""
    rest = [word for word in sys.argv[1:] if word != "--full"]
    chosen = FULL if "--full" in sys.argv[1:] else SHORT
    pytest = (sys.executable, "-m", "pytest", "-m", *chosen, *rest)
    return subprocess.run(pytest, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
