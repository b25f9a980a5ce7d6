"""Run the suite over old and new versions of openai and OpenTelemetry.

Run by make. Each combination has an environment of its own in the user's cache
folder, made when first needed. `--corner NAME` runs one; what follows `--` goes to
pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import environments
from environments import ROOT

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

CONSTRAINTS = ROOT / "constraints" / "dev.txt"
PLUGIN = ROOT / "tests" / "versions"

# What depends on neither library, or needs the newest of one, is left to `make test`.
SUITE = (
    "tests/instrumentation",
    "tests/recording",
    "tests/otlp",
    "tests/versions/test_private_names.py",
)
# Forks and workers know OpenTelemetry and the HTTP library, but no call of openai's.
PROCESSES = "tests/processes"

OLD_HTTPX = "httpx<0.28"  # openai before 1.56 passes an argument that 0.28 dropped
OPENAI = {
    "openai-1-oldest": ("openai==1.40.0", OLD_HTTPX),
    "openai-1-last": ("openai==1.109.1",),
    "openai-2-last": ("openai==2.54.0",),
    "openai-3-newest": ("openai==3.57.0",),
}
OTEL = {
    "otel-oldest": ("1.30.0", "0.51b0"),
    "otel-newest": ("1.45.2", "0.66b2"),
}
OLDEST = "openai-1-oldest/otel-oldest"
NEWEST = "openai-3-newest/otel-newest"
"""What `make test` runs with, and so no row of the table by itself."""
WITH_PROCESSES = ("openai-2-last/otel-newest", "openai-3-newest/otel-oldest")
# Each openai with one OpenTelemetry, and the ends of both ranges with each other.
ROWS = (
    OLDEST,
    "openai-1-oldest/otel-newest",
    "openai-1-last/otel-oldest",
    "openai-2-last/otel-newest",
    "openai-3-newest/otel-oldest",
)

# The test tools, as pinned; whatever openai and OpenTelemetry need is resolved.
TOOLS = (
    *("pytest", "pytest-asyncio", "pytest-xdist", "hypothesis", "inline-snapshot"),
    *("dirty-equals", "uvloop", "httptools", "click", "rich", "prometheus-client"),
    *("requests", "aiohttp", "gunicorn", "uvicorn", "gevent", "pyyaml"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corner:
    """One combination of versions.

    Attributes:
        name: for the command line and the table.
        requirements: what its environment is made of.
        family: the folder that it shares with its like.
    """

    name: str
    requirements: tuple[str, ...]
    family: str = "matrix"

    @property
    def folder(self) -> Path:
        """Where its environment is; another one for other requirements."""
        return environments.folder_of(self.family, "\n".join(self.requirements))


def pinned(*names: str) -> tuple[str, ...]:
    """Return distributions of the development environment with their versions."""
    pins = dict(
        line.split(" ;")[0].split("==")
        for line in CONSTRAINTS.read_text().splitlines()
        if "==" in line
    )
    return tuple(f"{name}=={pins[name]}" for name in names)


def corners() -> dict[str, Corner]:
    """Return every combination by its name."""
    tools = pinned(*TOOLS)
    made = {}
    for openai_name, openai in OPENAI.items():
        for otel_name, (stable, beta) in OTEL.items():
            name = f"{openai_name}/{otel_name}"
            otel = (
                f"opentelemetry-sdk=={stable}",
                f"opentelemetry-exporter-otlp=={stable}",
                f"opentelemetry-instrumentation=={beta}",
                f"opentelemetry-distro=={beta}",
            )
            made[name] = Corner(name=name, requirements=(*openai, *otel, *tools))
    return made


def python_of(corner: Corner) -> Path:
    """Return the interpreter of a corner's environment, made where it is missing."""
    return environments.python_in(corner.folder, corner.requirements)


def run(corner: Corner, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a corner's environment."""
    return environments.pytest_in(
        python_of(corner),
        *("-p", "older_clients", "-m", "not e2e and not full", *arguments),
        PYTHONPATH=os.pathsep.join((str(ROOT), str(PLUGIN))),
    )


def summary_of(output: str) -> str:
    """Return pytest's closing line, without its frame."""
    lines = [line for line in output.splitlines() if re.search(r" in [\d.]+s", line)]
    return lines[-1].strip("= ") if lines else "no summary"


def main() -> int:
    """Run the corners asked for; print a table, and the output of what failed."""
    every = corners()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corner", choices=every, action="append")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    asked = parser.parse_args()
    code = 0
    rows = ["| versions | result |", "| --- | --- |"]
    for name in asked.corner or ROWS:
        extra = (PROCESSES,) if name in WITH_PROCESSES else ()
        arguments = asked.pytest or ("-q", "-n", "auto", *SUITE, *extra)
        ended = run(every[name], *arguments)
        rows.append(f"| {name} | {summary_of(ended.stdout)} |")
        print(rows[-1], flush=True)
        left_out = [x for x in ended.stdout.splitlines() if x.startswith("left out")]
        rows += [f"| | {line} |" for line in left_out]
        if ended.returncode:
            print(ended.stdout[-20_000:])
            code = 1
    print("\n".join(("", *rows)))
    return code


if __name__ == "__main__":
    sys.exit(main())
