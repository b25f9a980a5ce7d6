"""Environments that tests run in beside their own: each made once, and kept.

They are in the user's cache folder, named by what they are made of, so that other
versions mean another folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
UV = (sys.executable, "-m", "uv")
# OpenTelemetry's instrumentation packages have no other releases than betas.
STABLE = "--prerelease=if-necessary-or-explicit"


def cache_root() -> Path:
    """Return the user's cache folder for this project."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "otel-specdecode"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock while a folder is made, so that no other run makes it.

    The lock ends with the process, however that ends. Whoever waits for it says so on
    standard error.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits = f"another process is making {folder}: waiting for it"
            print(waits, file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def folder_of(family: str, contents: str, *, name: str = "") -> Path:
    """Return where an environment is, made or not.

    Args:
        family: the folder that it shares with its like.
        contents: all that it is made of; another text is another environment.
        name: told to whoever looks into the cache.
    """
    key = hashlib.sha256(f"{sys.version}\n{contents}".encode()).hexdigest()[:12]
    return cache_root() / family / f"{name}-{key}".lstrip("-")


def python_in(folder: Path, requirements: Sequence[str]) -> Path:
    """Return an environment's interpreter; made, with this package, where missing.

    Args:
        folder: of the environment.
        requirements: arguments of `uv pip install`, resolved together.
    """
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if not ready.exists():
        with locked(folder):
            if not ready.exists():
                _make(folder, python, requirements)
                ready.touch()
    return python


def _make(folder: Path, python: Path, requirements: Sequence[str]) -> None:
    venv = (*UV, "venv", "--quiet", "--clear", "--python", sys.executable)
    subprocess.run([*venv, str(folder)], check=True)
    install = (*UV, "pip", "install", "--quiet", STABLE, "--python", str(python))
    subprocess.run([*install, *requirements], check=True)
    # Without its dependencies: they are what the environment is about.
    subprocess.run([*install, "--no-deps", "--editable", str(ROOT)], check=True)


def pytest_in(
    python: Path, *arguments: str, without: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest with the interpreter of another environment.

    Args:
        python: the interpreter.
        arguments: for pytest.
        without: prefixes of variables that it shall not inherit.
        variables: set for it.
    """
    # A coverage run is of this environment, and its packages are not there.
    left_out = ("COVERAGE_", "COV_", "PYTEST_", *without)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
    return subprocess.run(
        [str(python), "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=inherited | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
