"""Run the suite over old and new versions of openai and OpenTelemetry.

Run by make. Each combination has an environment of its own in the user's cache
folder, made when first needed. `--corner NAME` runs one; what follows `--` goes to
pytest.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints" / "dev.txt"
PLUGIN = ROOT / "tests" / "versions"
STABLE = "--prerelease=if-necessary-or-explicit"

# What depends on neither library, or needs the newest of one, is left to `make test`.
SUITE = (
    "tests/instrumentation",
    "tests/recording",
    "tests/servers",
    "tests/otlp",
    "tests/processes",
    "tests/versions",
)

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

# The test tools, as pinned; whatever openai and OpenTelemetry need is resolved.
TOOLS = (
    *("pytest", "pytest-asyncio", "pytest-xdist", "hypothesis", "inline-snapshot"),
    *("dirty-equals", "uvloop", "httptools", "click", "rich", "prometheus-client"),
    *("requests", "aiohttp", "gunicorn", "uvicorn", "pyyaml"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corner:
    """One combination of versions.

    Attributes:
        name: for the command line and the table.
        requirements: what its environment is made of.
    """

    name: str
    requirements: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its environment is; another one for other requirements."""
        text = "\n".join((sys.version, *self.requirements))
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "otel-specdecode" / "matrix" / key


def corners() -> dict[str, Corner]:
    """Return every combination by its name."""
    pins = dict(
        line.split(" ;")[0].split("==")
        for line in CONSTRAINTS.read_text().splitlines()
        if "==" in line
    )
    tools = tuple(f"{name}=={pins[name]}" for name in TOOLS)
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
    python = corner.folder / "bin" / "python"
    ready = corner.folder / ".ready"
    uv = (sys.executable, "-m", "uv")
    if not ready.exists():
        subprocess.run(
            [
                *uv,
                "venv",
                "--quiet",
                "--clear",
                "--python",
                sys.executable,
                str(corner.folder),
            ],
            check=True,
        )
        install = (*uv, "pip", "install", "--quiet", STABLE, "--python", str(python))
        subprocess.run([*install, *corner.requirements], check=True)
        # Without its dependencies: they are what the corner is about.
        subprocess.run([*install, "--no-deps", "--editable", str(ROOT)], check=True)
        ready.touch()
    return python


def run(corner: Corner, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a corner's environment."""
    python = python_of(corner)
    environment = {
        name: value
        for name, value in os.environ.items()
        # A coverage run is of this environment, and its packages are not there.
        if not name.startswith(("COVERAGE_", "COV_", "PYTEST_"))
    }
    environment["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(PLUGIN)))
    return subprocess.run(
        [
            *(str(python), "-m", "pytest", "-p", "older_clients"),
            *("-p", "no:cacheprovider", "-m", "not e2e and not full", *arguments),
        ],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
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
    arguments = asked.pytest or ["-q", "-n", "auto", *SUITE]
    code = 0
    rows = ["| versions | result |", "| --- | --- |"]
    for name in asked.corner or every:
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
