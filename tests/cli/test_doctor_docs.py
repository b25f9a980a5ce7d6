"""The page on the doctor and the doctor say the same."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from demo_shape import documented_fields, fields_of
from doctor_run import examine

from otel_specdecode.simulator import named_profile, simulate

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "doctor.md"
SOURCES = sorted((ROOT / "otel_specdecode" / "cli").glob("_doctor_*findings.py"))


def section(heading: str) -> str:
    """The text under a heading."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    return rest.partition("\n## ")[0]


def test_every_finding_has_its_row_and_every_row_its_finding() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    lines = re.findall(r"\bcode=([^,]+),", source)
    known = {code for line in lines for code in re.findall(r'"(\w+)"', line)}
    cells = [
        line.split("|")[1] for line in section("Findings").splitlines() if "|" in line
    ]
    documented = {code for cell in cells for code in re.findall(r"`(\w+)`", cell)}
    assert documented == known


def test_the_json_has_exactly_the_documented_fields() -> None:
    with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
        found = examine("--base-url", sim.base_url, OTEL_SPECDECODE_USAGE="never").whole
    # Names of packages are data.
    found["environment"]["packages"] = None
    assert fields_of(found) == documented_fields(section("`--json`"))
