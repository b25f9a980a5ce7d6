"""`docs/simulator.md` names what there is, and its forms of use work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator import (
    PROFILES,
    UsagePlacement,
)
from otel_specdecode.simulator.directives import (
    PayloadFault,
    Refusal,
    WireShape,
    parse_directives,
)

_DOCS = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text()


def _known_directives() -> list[str]:
    with pytest.raises(SimulatorError) as caught:
        parse_directives("?")
    return str(caught.value).partition("known are ")[2].split(", ")


@pytest.mark.parametrize("name", _known_directives())
def test_every_directive_is_in_the_docs(name):
    assert f"`{name}" in _DOCS


@pytest.mark.parametrize(
    "value",
    [
        *UsagePlacement,
        *PayloadFault,
        *sorted(set(Refusal) - {Refusal.AZURE, Refusal.ECHO}),
        *sorted(set(WireShape) - {WireShape.CURRENT, WireShape.BEFORE_0_29}),
        *(profile.name for profile in PROFILES),
    ],
)
def test_every_value_is_in_the_docs(value):
    assert f"`{value}`" in _DOCS or f"={value}`" in _DOCS


def test_the_programs_in_the_docs_run(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", _DOCS, flags=re.DOTALL)
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert " s  " in done.stdout
