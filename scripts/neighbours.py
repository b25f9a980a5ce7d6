"""Run the tests of other instrumentations beside ours, each as it is released.

Run by make. Each neighbour has an environment of its own in the user's cache folder,
made when first needed and named by what it is made of. `--only NAME` runs one, and
what follows `--` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import matrix
from environments import ROOT

TESTS = Path("tests") / "neighbours"

OPENAI = "openai==3.57.0"
SDK = "opentelemetry-sdk==1.45.2"
HTTPX = "opentelemetry-instrumentation-httpx==0.66b2"  # and its twin for httpx2
SIMULATOR = ("httptools", "uvloop")

# The name in the tests, and the release that is tested.
NEIGHBOURS: dict[str, tuple[str, ...]] = {
    "genai": ("opentelemetry-instrumentation-genai-openai==1.3b0", OPENAI),
    "openllmetry": ("opentelemetry-instrumentation-openai==0.62.4", OPENAI),
    "openinference": ("openinference-instrumentation-openai==0.1.66", OPENAI),
    "langfuse": ("langfuse==5.0.4", OPENAI),
    "logfire": ("logfire==5.4.0", OPENAI),
    "httpx2": (HTTPX, OPENAI),
    "httpx": (HTTPX, "openai==2.54.0"),  # openai 3 is on httpx2
    "ddtrace": ("ddtrace==4.16.0", OPENAI),
}


def environment(name: str) -> matrix.Corner:
    """Return what a neighbour's environment is made of."""
    return matrix.Corner(
        name=name,
        requirements=(*NEIGHBOURS[name], SDK, HTTPX, *matrix.pinned(*SIMULATOR)),
        family="neighbours",
    )


def main() -> int:
    """Make the environments, and run the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=NEIGHBOURS, action="append")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    asked = parser.parse_args()
    names = asked.only or list(NEIGHBOURS)
    for name in names:
        print(f"{name}: {matrix.python_of(environment(name))}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "pytest", str(TESTS), *(asked.pytest or ["-q"])],
        cwd=ROOT,
        env={**os.environ, "SPECDECODE_NEIGHBOURS": ",".join(names)},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
