"""Run each framework's programs with and without us, in an environment of its own.

Run by make. The newest release of a framework is resolved together with this package,
as a user's installer would, and installed once into the user's cache folder.
`--framework NAME` runs one, `--no-vllm` leaves the real server out, and what follows
`--` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import environments
import matrix
from environments import ROOT, STABLE, UV

TESTS = ROOT / "tests" / "frameworks"

# What the tests themselves need beside a framework, in whichever version fits.
TOOLS = ("pytest", "pytest-asyncio", "hypothesis", "openai", "prometheus-client")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A row of the table.

    Attributes:
        versions: of the framework's distributions, and of openai.
        summary: pytest's closing line, or why there is none.
        failure: the output that explains; empty where all is well.
    """

    versions: str
    summary: str
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework, and what a user installs for it.

    Attributes:
        name: for the command line, the tests and the table; also the name of its
            module in `tests/frameworks/applications`, with underscores.
        requirements: without versions: the newest is meant.
    """

    name: str
    requirements: tuple[str, ...]


FRAMEWORKS = {
    framework.name: framework
    for framework in (
        Framework(name="langchain-openai", requirements=("langchain-openai",)),
        Framework(
            name="llama-index",
            requirements=("llama-index-llms-openai", "llama-index-llms-openai-like"),
        ),
        Framework(name="litellm", requirements=("litellm",)),
        Framework(
            name="litellm-proxy",
            # The second is what `opentelemetry-instrument` sets the SDK up with.
            requirements=("litellm[proxy]", "opentelemetry-distro"),
        ),
        # `pydantic-ai` is the same code with the clients of every vendor.
        Framework(name="pydantic-ai", requirements=("pydantic-ai-slim[openai]",)),
        Framework(name="instructor", requirements=("instructor",)),
        Framework(name="openai-agents", requirements=("openai-agents",)),
        Framework(name="dspy", requirements=("dspy",)),
        Framework(name="haystack", requirements=("haystack-ai",)),
        Framework(name="smolagents", requirements=("smolagents[openai]",)),
    )
}


class Unresolvable(Exception):  # noqa: N818 - a row of the table, not a failure of ours
    """A framework cannot be installed; the text is the installer's own."""


def resolve(framework: Framework, *, beside_us: bool) -> str:
    """Return every distribution that an installation would take, pinned.

    Raises:
        Unresolvable: there is no such set.
    """
    extras = ("otlp", "simulator")
    ours = ("pyproject.toml", *(f"--extra={extra}" for extra in extras))
    lines = (*framework.requirements, *(TOOLS if beside_us else ()))
    done = subprocess.run(
        [
            *(*UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate"),
            *(STABLE, "--python", sys.executable),
            *(ours if beside_us else ()),
            "-",
        ],
        input="\n".join(lines),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unresolvable(done.stderr.strip())
    return done.stdout


def versions(framework: Framework, resolved: str) -> dict[str, str]:
    """Return the versions of the framework's own distributions, and of openai."""
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", resolved, re.MULTILINE))
    names = (*(re.sub(r"\[.*", "", name) for name in framework.requirements), "openai")
    return {name: pins[name] for name in names if name in pins}


def held_back(framework: Framework, beside_us: str) -> str | None:
    """Return what would be newer without us; `None` when nothing would."""
    alone = versions(framework, resolve(framework, beside_us=False))
    with_us = versions(framework, beside_us)
    older = {name: alone[name] for name in alone if with_us[name] != alone[name]}
    return ", ".join(f"{k} {v}" for k, v in older.items()) or None


def environment_of(framework: Framework, resolved: str) -> Path:
    """Return the interpreter of a framework's environment, made where missing."""
    folder = environments.folder_of("frameworks", resolved, name=framework.name)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.write(resolved)
        pins.flush()
        return environments.python_in(
            folder, ("--no-deps", "--requirements", pins.name)
        )


def run(
    framework: Framework, python: Path, vllm_url: str | None, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run the tests of a framework in its environment."""
    variables = {
        "SPECDECODE_FRAMEWORK": framework.name,
        "PYTHONPATH": str(ROOT),
        # Its list of prices otherwise comes from the network.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    if vllm_url is not None:
        variables["SPECDECODE_VLLM"] = vllm_url
    return environments.pytest_in(
        python,
        # Frameworks use what others deprecate.
        *("-o", "filterwarnings=default", *(arguments or ("-q",)), str(TESTS)),
        # Keys and endpoints are the tests'.
        without=("OPENAI_", "OTEL_"),
        **variables,
    )


def vllm_or_none(stack: ExitStack) -> str | None:
    """Start the real server once for all frameworks; `None` where it is not installed.

    With CI=true it is installed, and what goes wrong is a failure.
    """
    sys.path.insert(0, str(ROOT / "tests" / "e2e" / "vllm"))
    import vllm_env  # noqa: PLC0415 - neither is needed without a server
    import vllm_server  # noqa: PLC0415

    installed = (vllm_env.environment_folder() / "COMPLETE").exists()
    if not installed and not os.environ.get("CI"):
        return None
    log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "vllm.log"
    flags = (
        *("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
        # A model of random weights would write blanks to the end.
        *(
            "--structured-outputs-config",
            '{"backend": "xgrammar", "disable_any_whitespace": true}',
        ),
    )
    server = stack.enter_context(
        vllm_server.serve(vllm_server.METHODS["draft_model"], log, extra_flags=flags)
    )
    return server.url


def result_of(framework: Framework, vllm_url: str | None, *arguments: str) -> Result:
    """Install and run one framework."""
    try:
        resolved = resolve(framework, beside_us=True)
        older = held_back(framework, resolved)
    except Unresolvable as error:
        return Result(versions="none", summary="not installable", failure=str(error))
    named = ", ".join(f"{k} {v}" for k, v in versions(framework, resolved).items())
    if older is not None:
        return Result(versions=named, summary="held back", failure=f"alone: {older}")
    ended = run(framework, environment_of(framework, resolved), vllm_url, *arguments)
    return Result(
        versions=named,
        summary=matrix.summary_of(ended.stdout),
        failure=ended.stdout[-20_000:] if ended.returncode else "",
    )


def main() -> int:
    """Run the frameworks asked for; print a table, and the output of what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=FRAMEWORKS, action="append")
    parser.add_argument("--no-vllm", action="store_true")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    asked = parser.parse_args()
    rows = ["| framework | versions | result |", "| --- | --- | --- |"]
    code = 0
    with ExitStack() as stack:
        vllm_url = None if asked.no_vllm else vllm_or_none(stack)
        print(f"real vLLM: {vllm_url or 'left out'}", flush=True)
        for name in asked.framework or FRAMEWORKS:
            result = result_of(FRAMEWORKS[name], vllm_url, *asked.pytest)
            rows.append(f"| {name} | {result.versions} | {result.summary} |")
            print(rows[-1], flush=True)
            if result.failure:
                print(result.failure)
                code = 1
    print("\n".join(("", *rows)))
    return code


if __name__ == "__main__":
    sys.exit(main())
