"""Make the development environment: a venv with what the constraints pin.

Run by make; needs nothing but a Python.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints" / "dev.txt"
EXTRAS = "all"


def main() -> None:
    """Create the venv at the path given, and install into it."""
    venv = ROOT / sys.argv[1]
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pinned = [line for line in CONSTRAINTS.read_text().splitlines() if "==" in line]
    installer = next(line for line in pinned if line.startswith("uv=="))
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--upgrade", installer], check=True
    )
    subprocess.run(
        [
            *(venv / "bin" / "uv", "pip", "install", "--quiet", "--python", python),
            *("--constraint", CONSTRAINTS, "--editable", f"{ROOT}[{EXTRAS}]"),
            *("--group", f"{ROOT / 'pyproject.toml'}:dev"),
        ],
        check=True,
    )


if __name__ == "__main__":
    main()
