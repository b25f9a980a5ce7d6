"""Builds the Go programs that the collector bundle is tried with, once.

The collector comes from `collector/builder-config.yaml` through the OpenTelemetry
Collector Builder. Prometheus is built inside the same Go module, since the collector
already pins it: almost every dependency is shared. Alertmanager and Jaeger have
modules of their own, and so has what reads the files for Compose and Kubernetes as
those do. Each group goes into a folder of the user's cache whose name
carries a digest of all that decides its content, so that a second run is a look-up:

    ${XDG_CACHE_HOME:-~/.cache}/otel-specdecode/go-<group>-<key>/bin/<program>

`python scripts/collector_build.py` builds what is missing and prints a JSON object of
program to path. `--check` builds nothing and exits 1 when something is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from environments import ROOT, cache_root, locked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MANIFEST = ROOT / "collector" / "builder-config.yaml"
MARKER = "complete.json"

BUILDER = "go.opentelemetry.io/collector/cmd/builder@v0.161.0"
# The version that the prometheus receiver of collector v0.161.0 requires.
PROMETHEUS = "v0.314.0"
# v0.32 and newer need generated web assets that the module does not carry.
ALERTMANAGER = "v0.28.1"
JAEGER = "v1.76.0"
# Reads a compose file as Docker Compose does.
COMPOSE = "v2.16.2"
# Carries the schema of a ServiceMonitor; nothing of it is built.
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
OPERATOR_SCHEMA = (
    "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
)
# Leaves out the clients of every cloud's service discovery: a third of the build.
# static_configs stay. People who run on Kubernetes build without it.
TAGS = "remove_all_sd"
LDFLAGS = "-s -w"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Programs that are built in one Go module.

    Attributes:
        name: part of the folder's name in the cache.
        programs: names of the files under `bin/`, not all of them to be run.
        recipe: everything that decides what is built; digested into the key.
    """

    name: str
    programs: tuple[str, ...]
    recipe: tuple[str, ...]

    def folder(self, cache: Path, go_version: str) -> Path:
        """Where this group's result belongs for that version of Go."""
        text = "\n".join((*self.recipe, go_version))
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        return cache / f"go-{self.name}-{key}"


def groups() -> tuple[Group, ...]:
    """The Go modules, in the order in which they are most needed."""
    return (
        Group(
            name="collector",
            programs=("otelcol-specdecode", "prometheus", "promtool"),
            recipe=(MANIFEST.read_text("utf-8"), BUILDER, PROMETHEUS, TAGS, LDFLAGS),
        ),
        Group(
            name="alertmanager",
            programs=("alertmanager", "amtool"),
            recipe=(ALERTMANAGER, LDFLAGS),
        ),
        Group(name="jaeger", programs=("jaeger",), recipe=(JAEGER, LDFLAGS)),
        Group(
            name="deployment",
            programs=("compose-go", "servicemonitors.yaml"),
            recipe=(COMPOSE, OPERATOR, OPERATOR_SCHEMA, LDFLAGS),
        ),
    )


def find_go() -> str:
    """The Go command: on the path, or where its own installer puts it.

    Raises:
        SystemExit: there is none.
    """
    found = shutil.which("go", path=f"{os.environ.get('PATH', '')}:/usr/local/go/bin")
    if found is None:
        sys.exit("collector_build: expected Go 1.25 or newer on PATH, found none")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """One Go command, and how many packages it may compile at a time."""

    go: str
    jobs: int

    def run(self, *args: str, cwd: Path, env: Mapping[str, str] | None = None) -> None:
        """Runs `go ARGS` with its output on our standard error."""
        self._call((self.go, *args), cwd=cwd, env=env)

    def build(self, package: str, target: Path, *, cwd: Path, tags: str = "") -> None:
        """Compiles one main package into `target`."""
        flags = ["-trimpath", "-p", str(self.jobs), "-ldflags", LDFLAGS]
        if tags:
            flags += ["-tags", tags]
        self.run("build", *flags, "-o", str(target), package, cwd=cwd)

    def version(self) -> str:
        """Version and platform, such as `go1.26.8 linux/amd64`."""
        done = subprocess.run(
            (self.go, "env", "GOVERSION", "GOOS", "GOARCH"),
            capture_output=True,
            text=True,
            check=True,
        )
        return " ".join(done.stdout.split())

    def _call(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None
    ) -> None:
        # The builder starts `go` by name, and needs the folder on its path.
        path = f"{Path(self.go).parent}:{os.environ.get('PATH', '')}"
        full = {**os.environ, "GOFLAGS": "-buildvcs=false", "PATH": path, **(env or {})}
        subprocess.run(command, cwd=cwd, env=full, stdout=sys.stderr, check=True)

    def source_of(self, module: str, *, cwd: Path) -> Path:
        """Where the source of a module was put, after fetching it."""
        done = subprocess.run(
            (self.go, "mod", "download", "-json", module),
            cwd=cwd,
            capture_output=True,
            text=True,
            check=True,
        )
        return Path(json.loads(done.stdout)["Dir"])

    def builder(self, config: Path, *, cwd: Path) -> None:
        """Writes the collector's sources next to `config`, without compiling."""
        self.run("install", BUILDER, cwd=cwd, env={"GOBIN": str(cwd)})
        command = (str(cwd / "builder"), "--skip-compilation", "--config", str(config))
        self._call(command, cwd=cwd, env=None)


def build_collector(tools: Toolchain, work: Path, target: Path) -> None:
    """Collector, Prometheus and promtool out of one module."""
    config = work / MANIFEST.name
    shutil.copy(MANIFEST, config)
    tools.builder(config, cwd=work)
    module = work / "_build"
    tools.build(".", target / "otelcol-specdecode", cwd=module, tags=TAGS)
    for program in ("prometheus", "promtool"):
        package = f"github.com/prometheus/prometheus/cmd/{program}"
        tools.run("get", "-tool", f"{package}@{PROMETHEUS}", cwd=module)
        tools.build(package, target / program, cwd=module, tags=TAGS)


def build_alertmanager(tools: Toolchain, work: Path, target: Path) -> None:
    """Alertmanager and amtool."""
    _build_in_empty_module(
        tools,
        work,
        target,
        {
            program: f"github.com/prometheus/alertmanager/cmd/{program}@{ALERTMANAGER}"
            for program in ("alertmanager", "amtool")
        },
    )


def build_jaeger(tools: Toolchain, work: Path, target: Path) -> None:
    """Jaeger, the trace store of the end-to-end tests."""
    package = f"github.com/jaegertracing/jaeger/cmd/jaeger@{JAEGER}"
    _build_in_empty_module(tools, work, target, {"jaeger": package})


def build_deployment(tools: Toolchain, work: Path, target: Path) -> None:
    """The reader of compose files, and the schema of a ServiceMonitor."""
    package = f"github.com/compose-spec/compose-go/v2/cmd@{COMPOSE}"
    _build_in_empty_module(tools, work, target, {"compose-go": package})
    schema = tools.source_of(OPERATOR, cwd=work) / OPERATOR_SCHEMA
    shutil.copyfile(schema, target / "servicemonitors.yaml")


def _build_in_empty_module(
    tools: Toolchain, work: Path, target: Path, packages: Mapping[str, str]
) -> None:
    tools.run("mod", "init", "example.com/build", cwd=work)
    for program, package in packages.items():
        tools.run("get", "-tool", package, cwd=work)
        tools.build(package.partition("@")[0], target / program, cwd=work)


BUILDERS = {
    "collector": build_collector,
    "alertmanager": build_alertmanager,
    "jaeger": build_jaeger,
    "deployment": build_deployment,
}


def ensure(group: Group, tools: Toolchain, cache: Path) -> Path:
    """Builds the group unless it is there, and returns its `bin` folder.

    The folder appears under its final name with one rename, and its marker is
    written before that: a run that was killed leaves nothing that looks finished.
    """
    folder = group.folder(cache, tools.version())
    if (folder / MARKER).exists():
        return folder / "bin"
    with locked(folder):
        if not (folder / MARKER).exists():
            _build_into(folder, group, tools)
    return folder / "bin"


def _build_into(folder: Path, group: Group, tools: Toolchain) -> None:
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="build-") as name:
        result, work = Path(name) / "result", Path(name) / "work"
        (result / "bin").mkdir(parents=True)
        work.mkdir()
        print(f"collector_build: building {group.name} ...", file=sys.stderr)
        BUILDERS[group.name](tools, work, result / "bin")
        seconds = round(time.monotonic() - started, 1)
        facts = {"go": tools.version(), "seconds": seconds}
        (result / MARKER).write_text(json.dumps(facts) + "\n", "utf-8")
        result.rename(folder)
    print(f"collector_build: {group.name} took {seconds} s", file=sys.stderr)


def programs(cache: Path, go_version: str) -> dict[str, Path | None]:
    """Each program's path, or `None` where it has not been built."""
    found: dict[str, Path | None] = {}
    for group in groups():
        folder = group.folder(cache, go_version)
        ready = (folder / MARKER).exists()
        for program in group.programs:
            found[program] = folder / "bin" / program if ready else None
    return found


def main() -> int:
    """Command line entry; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="build nothing")
    parser.add_argument(
        "--only", choices=sorted(BUILDERS), action="append", help="these groups alone"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    tools = Toolchain(go=find_go(), jobs=options.jobs)
    if not options.check:
        for group in groups():
            if options.only is None or group.name in options.only:
                ensure(group, tools, cache_root())
    found = programs(cache_root(), tools.version())
    print(json.dumps({k: v and str(v) for k, v in found.items()}, indent=2))
    return 1 if options.check and None in found.values() else 0


if __name__ == "__main__":
    sys.exit(main())
