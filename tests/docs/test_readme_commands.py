"""Every command of the README does what it is there for."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import metadata
from pathlib import Path

import pytest
from documents import README, ROOT, blocks, rows

from otel_specdecode.simulator import named_profile, simulate

PROGRAM = "otel-specdecode"
FAST = ("--time-scale", "0", "--requests", "1")


def commands(program: str) -> list[list[str]]:
    """The README's command lines that start with a program."""
    lines = [line for code in blocks(README, "bash") for line in code.splitlines()]
    split = [shlex.split(line, comments=True) for line in lines]
    return [words for words in split if words and words[0] == program]


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def installed(program: str) -> str:
    """A program of this environment."""
    found = shutil.which(program, path=Path(sys.executable).parent)
    assert found is not None, f"{program} is not installed beside {sys.executable}"
    return found


def test_every_command_is_one_that_the_tests_below_know() -> None:
    lines = [line for code in blocks(README, "bash") for line in code.splitlines()]
    assert {line.split()[0] for line in lines if line} == {"make", "pip", PROGRAM}


@pytest.mark.parametrize("command", commands("make"), ids=" ".join)
def test_make_has_the_target(command: list[str]) -> None:
    done = run(*command[:1], "--dry-run", *command[1:])
    assert done.returncode == 0, done.stderr


def test_make_demo_calls_the_demo_and_make_test_the_tests() -> None:
    assert f"{PROGRAM} demo" in run("make", "--dry-run", "demo").stdout
    assert "scripts/run_tests.py" in run("make", "--dry-run", "test").stdout


@pytest.mark.parametrize(
    "command", [c for c in commands(PROGRAM) if c[1] == "demo"], ids=" ".join
)
def test_the_demo_runs(command: list[str]) -> None:
    profile = replace(named_profile("ngram"), time_scale=0)
    with simulate(profile) as sim:
        words = [sim.base_url if "://" in word else word for word in command[1:]]
        done = run(installed(PROGRAM), *words, *FAST)
    assert (done.returncode, done.stderr) == (0, "")
    assert "What a chunk counter says, and what is true" in done.stdout


@pytest.mark.parametrize(
    "command", [c for c in commands(PROGRAM) if c[1] == "doctor"], ids=" ".join
)
def test_the_doctor_examines_a_server(command: list[str]) -> None:
    profile = replace(named_profile("mtp"), time_scale=0, timing_fields=True)
    with simulate(profile) as sim:
        words = [sim.base_url if "://" in word else word for word in command[1:]]
        done = run(installed(PROGRAM), *words, OTEL_SPECDECODE_RERAISE="false")
    assert (done.returncode, done.stderr) == (0, "")
    assert "acceptance      streams: summary" in done.stdout


@pytest.mark.parametrize(
    "command", [c for c in commands(PROGRAM) if c[1] == "simulate"], ids=" ".join
)
def test_the_simulator_serves_until_it_is_stopped(command: list[str]) -> None:
    words = [installed(PROGRAM), *command[1:], "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[0]
        done = run(installed(PROGRAM), "demo", "--base-url", url, *FAST)
        process.terminate()
    assert done.returncode == 0, done.stderr


COUNTS_CHUNKS = """
import time
import openai

started_at = time.perf_counter()
tokens = 0
for chunk in openai.OpenAI().chat.completions.create(
    model="m", messages=[], stream=True, stream_options={"include_usage": True}
):
    tokens += 1
print(tokens / (time.perf_counter() - started_at), "tok/s")
"""


@pytest.mark.parametrize(
    "command", [c for c in commands(PROGRAM) if c[1] == "lint"], ids=" ".join
)
def test_the_linter_finds_code_that_counts_chunks(
    command: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / command[-1]
    folder.mkdir()
    (folder / "bench.py").write_text(COUNTS_CHUNKS, encoding="utf-8")
    done = run(installed(PROGRAM), *command[1:-1], str(folder))
    assert done.returncode == 1
    assert "SPD001" in done.stdout


@pytest.mark.parametrize(
    "command", [c for c in commands(PROGRAM) if c[1] == "rule"], ids=" ".join
)
def test_a_rule_is_explained(command: list[str]) -> None:
    done = run(installed(PROGRAM), *command[1:])
    assert done.returncode == 0, done.stderr
    assert command[-1] in done.stdout


def test_the_tests_above_know_every_subcommand_that_is_shown() -> None:
    shown = {command[1] for command in commands(PROGRAM)}
    assert shown == {"demo", "doctor", "simulate", "lint", "rule"}


def test_the_installation_names_an_extra_that_exists() -> None:
    (install,) = commands("pip")
    (requirement,) = install[2:]
    match = re.fullmatch(r"otel-specdecode\[(\w+)\]", requirement)
    assert match is not None
    assert match[1] in (metadata("otel-specdecode").get_all("Provides-Extra") or [])


@pytest.fixture(scope="module")
def wheel_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of its own with our wheel, and the dependencies of this environment.

    Downloading them once more would test the index and not us.
    """
    folder = tmp_path_factory.mktemp("wheel")
    uv = installed("uv")
    built = run(uv, "build", "--quiet", "--wheel", "--out-dir", str(folder))
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    venv = folder / "venv"
    python = venv / "bin" / "python"
    run(uv, "venv", "--quiet", "--python", sys.executable, str(venv))
    done = run(
        uv, "pip", "install", "--quiet", "--no-deps", "-p", str(python), str(wheel)
    )
    assert done.returncode == 0, done.stderr
    return python


def test_the_wheel_holds_everything_and_needs_nothing_to_be_imported(
    wheel_python: Path,
) -> None:
    program = "import otel_specdecode as o; print(o.__file__); o.ConfigError; o.Totals"
    done = run(str(wheel_python), "-I", "-W", "error", "-c", program)
    assert done.returncode == 0, done.stderr
    package = Path(done.stdout.strip()).parent
    assert wheel_python.parent.parent in package.parents
    source = ROOT / "otel_specdecode"
    missing = {
        str(file.relative_to(source))
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    } - {str(file.relative_to(package)) for file in package.rglob("*")}
    assert missing == set()


def test_the_installed_command_says_which_extra_is_missing(wheel_python: Path) -> None:
    done = run(str(wheel_python.parent / PROGRAM), "demo")
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "otel-specdecode needs the package 'click' for this; "
        "install it with: pip install 'otel-specdecode[cli]'"
    )


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("pathspec", ["lint", "examples"], "cli"),
        ("rich", ["doctor"], "cli"),
        ("httptools", ["simulate"], "simulator"),
    ],
)
def test_a_subcommand_without_its_package_names_the_extra(
    package: str, arguments: list[str], extra: str
) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None;"
        f" sys.argv = ['otel-specdecode', *{arguments!r}];"
        " from otel_specdecode.cli import main; main()"
    )
    done = run(sys.executable, "-c", program)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"otel-specdecode needs the package '{package}")
    assert done.stderr.endswith(f"pip install 'otel-specdecode[{extra}]'\n")


def test_a_module_of_no_extra_is_reported_as_it_is() -> None:
    program = (
        "import sys; sys.modules['argparse'] = None; sys.argv = ['otel-specdecode',"
        " 'lint']; from otel_specdecode.cli import main; main()"
    )
    done = run(sys.executable, "-c", program)
    assert "ModuleNotFoundError: import of argparse" in done.stderr


@pytest.mark.parametrize(
    ("program", "extra"),
    [
        ("import otel_specdecode; otel_specdecode.configure()", "otlp"),
        ("import otel_specdecode.simulator", "simulator"),
    ],
)
def test_a_module_without_its_package_names_the_extra(
    wheel_python: Path, program: str, extra: str
) -> None:
    done = run(str(wheel_python), "-c", program)
    assert done.returncode == 1
    assert f"pip install 'otel-specdecode[{extra}]'" in done.stderr


def test_the_installed_command_runs_with_its_dependencies(wheel_python: Path) -> None:
    packages = next(Path(sys.executable).parent.parent.glob("lib/*/site-packages"))
    done = run(
        str(wheel_python.parent / PROGRAM),
        *("demo", *FAST, "--json"),
        PYTHONPATH=str(packages),
    )
    assert done.returncode == 0, done.stderr
    assert '"schema": "otel-specdecode.demo/1"' in done.stdout


def test_the_counts_of_the_readme_are_those_of_the_demo() -> None:
    done = run(
        *(installed(PROGRAM), "demo", "--json"),
        *("--time-scale", "0", "--requests", "3"),
    )
    assert done.returncode == 0, done.stderr
    servers = json.loads(done.stdout)["servers"]
    table = {row.cells[0]: row.cells[1:] for row in rows(README)}
    assert [int(cell) for cell in table["chunks with text"]] == [
        server["chunk_counter"]["num_chunks"] for server in servers
    ]
    assert [int(cell) for cell in table["output tokens"]] == [
        server["truth"]["num_output_tokens"] for server in servers
    ]


def test_what_the_readme_says_of_its_table_follows_from_it() -> None:
    table = {row.cells[0]: row.cells[1:] for row in rows(README)}
    plain, speculating, _ = map(float, table["output tokens per second"])
    seen_plain, seen_speculating, _ = map(float, table['"tok/s" of a chunk counter'])
    chunks, tokens = (
        int(table[name][2]) for name in ("chunks with text", "output tokens")
    )
    text = README.read_text(encoding="utf-8")
    assert f"{speculating / plain:.1f} times faster" in text
    assert f"tokens per chunk ({tokens / chunks:.2f})" in text
    assert seen_speculating < seen_plain, "the chunk counter shows a loss"
