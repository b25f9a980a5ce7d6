"""Make the development environment: a venv with what the constraints pin.

Run by make; needs nothing but a Python. With `--renew` it writes the constraints
anew, with the newest stable releases.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from environments import ROOT, STABLE

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = ROOT / "pyproject.toml"
CONSTRAINTS = ROOT / "constraints" / "dev.txt"
EXTRA = "all"
GROUP = "dev"
HEADER = """\
# Every package of the development environment. `make constraints` renews this file.
"""


def main() -> None:
    """Do what the command line asks for."""
    if sys.argv[1] == "--renew":
        renew_constraints()
    else:
        print(f"Downloading into {sys.argv[1]}: some 100 packages, once.", flush=True)
        make_venv(ROOT / sys.argv[1])


def make_venv(venv: Path) -> None:
    """Create a venv where there is none, and install into it.

    Args:
        venv: folder of the environment.
    """
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pinned = CONSTRAINTS.read_text().splitlines()
    installer = next(line for line in pinned if line.startswith("uv=="))
    subprocess.run([python, "-m", "pip", "install", "--quiet", installer], check=True)
    subprocess.run(
        [
            *(python, "-m", "uv", "pip", "install", "--quiet", STABLE),
            *("--python", python, "--constraint", CONSTRAINTS),
            *("--editable", f"{ROOT}[{EXTRA}]", "--group", f"{PROJECT}:{GROUP}"),
        ],
        check=True,
    )


def renew_constraints() -> None:
    """Pin the newest stable release of everything, for every platform."""
    compiled = subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", STABLE),
            *("--universal", "--python-version", "3.11", "--upgrade"),
            *("--no-annotate", "--no-header", "--no-emit-index-url"),
            *("--extra", EXTRA, "--group", GROUP, PROJECT),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    CONSTRAINTS.write_text(HEADER + compiled.stdout)


if __name__ == "__main__":
    main()
