"""Real programs for the tests of the collector bundle, shared by one session."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import collector_programs
import collector_stack
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@pytest.fixture(scope="session")
def binaries() -> Mapping[str, Path]:
    """The built programs; without them CI fails, and a laptop skips."""
    try:
        return collector_stack.binaries()
    except collector_programs.ProgramError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What `auth.yaml` and `auth-backend.yaml` ask for: a token, TLS for loopback."""
    folder = tmp_path_factory.mktemp("credentials")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 "
        f"-keyout {folder}/key.pem -out {folder}/cert.pem"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    token = "made-up-token"
    (folder / "token").write_text(token)
    return {
        "SPECDECODE_TOKEN_FILE": f"{folder}/token",
        "SPECDECODE_TLS_CERT_FILE": f"{folder}/cert.pem",
        "SPECDECODE_TLS_KEY_FILE": f"{folder}/key.pem",
        "SPECDECODE_BACKEND_TOKEN": token,
    }


@pytest.fixture
def stack(
    binaries: Mapping[str, Path], tmp_path: Path
) -> Iterator[collector_stack.Stack]:
    """Starts programs for one test, and stops them."""
    with collector_stack.running(tmp_path / "stack") as started:
        yield started


@pytest.fixture(scope="module")
def module_stack(
    binaries: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[collector_stack.Stack]:
    """As `stack`, for the programs that a whole module shares."""
    with collector_stack.running(tmp_path_factory.mktemp("stack")) as started:
        yield started
