"""The oldest openai and OpenTelemetry that are declared still work."""

from __future__ import annotations

import matrix

# What differs most between clients: call paths, private names, and how streams end.
REDUCED = (
    "tests/instrumentation/test_call_paths.py",
    "tests/instrumentation/test_endings.py",
    "tests/versions/test_private_names.py",
)
# The others run in `make matrix`.
LONG = "completions or stress or threads"


def test_the_oldest_declared_versions_pass_the_wrappers_tests() -> None:
    ended = matrix.run(
        matrix.corners()[matrix.OLDEST], "-q", "-k", f"not ({LONG})", *REDUCED
    )
    assert ended.returncode == 0, ended.stdout


def test_the_oldest_corner_is_what_the_package_declares() -> None:
    declared = (matrix.ROOT / "pyproject.toml").read_text()
    assert "openai>=1.40,<4" in declared
    assert "opentelemetry-api>=1.30,<2" in declared
    corner = matrix.corners()[matrix.OLDEST]
    assert "openai==1.40.0" in corner.requirements
    assert "opentelemetry-sdk==1.30.0" in corner.requirements


def test_the_newest_corner_is_what_the_development_environment_has() -> None:
    corner = matrix.corners()[matrix.NEWEST]
    names = ("openai", "opentelemetry-sdk", "opentelemetry-instrumentation")
    assert set(matrix.pinned(*names)) <= set(corner.requirements)


def test_the_page_on_versions_has_every_row_that_is_run() -> None:
    page = (matrix.ROOT / "docs" / "versions.md").read_text()
    rows = [matrix.corners()[name].requirements for name in matrix.ROWS]
    for requirements in rows:
        openai, otel = (pin.split("==")[1] for pin in requirements if is_ends(pin))
        assert f"| {openai} | {otel} |" in page


def is_ends(pin: str) -> bool:
    return pin.startswith(("openai==", "opentelemetry-sdk=="))
