"""Writes `dashboards/*.json`; with `--check` only says whether they are current."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from generator import cost, health, latency, overview, positions, sides, tasks
from generator.dashboard_json import Dashboard, to_json

FOLDER = Path(__file__).resolve().parent / "dashboards"
DASHBOARDS: tuple[Dashboard, ...] = (
    overview.DASHBOARD,
    sides.DASHBOARD,
    tasks.DASHBOARD,
    latency.DASHBOARD,
    positions.DASHBOARD,
    cost.DASHBOARD,
    health.DASHBOARD,
)


def rendered() -> dict[str, str]:
    """File name to text of every dashboard."""
    return {
        f"{dashboard.uid}.json": json.dumps(to_json(dashboard), indent=2) + "\n"
        for dashboard in DASHBOARDS
    }


def differing(folder: Path) -> list[str]:
    """Names of files that are missing, outdated or not ours."""
    wanted = rendered()
    present = {file.name: file.read_text("utf-8") for file in folder.glob("*.json")}
    return sorted(
        name
        for name in wanted.keys() | present.keys()
        if wanted.get(name) != present.get(name)
    )


def main() -> int:
    """Command line entry; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if parser.parse_args().check:
        for name in (stale := differing(FOLDER)):
            print(f"{name}: not what the generator writes", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in rendered().items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
