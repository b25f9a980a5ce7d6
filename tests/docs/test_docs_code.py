"""Every line of Python in the documents runs."""

from __future__ import annotations

import doctest
import os
import pkgutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import DOCS, README, ROOT, blocks, documents

import otel_specdecode
from otel_specdecode.simulator import Simulator, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

# A page of interfaces with `...` where a program goes on; and the pages on lint rules,
# whose code is wrong on purpose and is held by the tests of the rules.
NOT_PROGRAMS = (
    DOCS / "simulator.md",
    DOCS / "lint",
    DOCS / "frameworks.md",  # run by `make frameworks`, where each is installed
)
WITH_CODE = [
    path
    for path in documents()
    if blocks(path, "python")
    and not any(path.is_relative_to(page) for page in NOT_PROGRAMS)
]


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
        yield sim


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.name)
def test_the_python_of_a_document_runs_from_top_to_bottom(
    path: Path, simulator: Simulator, tmp_path: Path
) -> None:
    program = tmp_path / f"{path.stem}.py"
    program.write_text("\n".join(blocks(path, "python")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        env={
            **os.environ,
            "OPENAI_BASE_URL": simulator.base_url,
            "OPENAI_API_KEY": "unused",
            # `configure()` is shown, and no collector runs here.
            "OTEL_TRACES_EXPORTER": "none",
            "OTEL_METRICS_EXPORTER": "none",
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_quickstart_of_the_readme_is_the_example() -> None:
    example = (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")
    assert blocks(README, "python")[0] == example
    assert len(example.splitlines()) <= 15


def _modules_with_examples() -> list[str]:
    found = pkgutil.walk_packages(otel_specdecode.__path__, "otel_specdecode.")
    root = Path(otel_specdecode.__path__[0]).parent
    return [module.name for module in found if ">>>" in _source_of(root, module.name)]


def _source_of(root: Path, name: str) -> str:
    path = root.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", _modules_with_examples())
def test_the_examples_of_a_docstring_say_what_happens(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
