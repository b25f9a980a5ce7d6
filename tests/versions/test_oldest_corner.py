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
