"""Programs are built once, whoever asks, and a broken build leaves nothing behind."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import collector_build
import pytest
from collector_build import Group, Toolchain, ensure, groups, programs

GROUP = Group(name="jaeger", programs=("jaeger",), recipe=("v1",))


class FixedToolchain(Toolchain):
    """A toolchain that needs no Go."""

    def version(self) -> str:
        return "go1.26 linux amd64"


TOOLS = FixedToolchain(go="/nowhere/go", jobs=1)


@dataclass
class Builder:
    """Counts the builds, and fails when it is told to."""

    fails: bool = False
    builds: list[str] = field(default_factory=list)

    def __call__(self, _: Toolchain, work: Path, target: Path) -> None:
        self.builds.append(target.name)
        (target / "jaeger").write_text("program")
        if self.fails:
            raise OSError("no room")


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    one = Builder()
    monkeypatch.setitem(collector_build.BUILDERS, "jaeger", one)
    return one


def test_the_second_time_is_a_look_up(builder: Builder, tmp_path: Path) -> None:
    first, second = (ensure(GROUP, TOOLS, tmp_path) for _ in range(2))
    assert first == second
    assert (first / "jaeger").read_text() == "program"
    assert len(builder.builds) == 1


def test_two_at_once_build_once(builder: Builder, tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=ensure, args=(GROUP, TOOLS, tmp_path)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builder.builds) == 1


def test_a_build_that_fails_leaves_nothing_that_looks_finished(
    builder: Builder, tmp_path: Path
) -> None:
    builder.fails = True
    with pytest.raises(OSError, match="no room"):
        ensure(GROUP, TOOLS, tmp_path)
    assert [one for one in tmp_path.iterdir() if one.is_dir()] == []
    builder.fails = False
    assert (ensure(GROUP, TOOLS, tmp_path) / "jaeger").exists()


def test_a_folder_without_its_marker_is_built_again(
    builder: Builder, tmp_path: Path
) -> None:
    folder = GROUP.folder(tmp_path, TOOLS.version())
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "jaeger").write_text("half")
    assert (ensure(GROUP, TOOLS, tmp_path) / "jaeger").read_text() == "program"


def test_another_recipe_or_another_go_is_another_folder(tmp_path: Path) -> None:
    folders = {
        GROUP.folder(tmp_path, "go1.26"),
        GROUP.folder(tmp_path, "go1.27"),
        replace(GROUP, recipe=("v2",)).folder(tmp_path, "go1.26"),
    }
    assert len(folders) == 3


def test_what_has_not_been_built_is_none(tmp_path: Path) -> None:
    found = programs(tmp_path, TOOLS.version())
    assert set(found) == {name for group in groups() for name in group.programs}
    assert set(found.values()) == {None}


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert collector_build.cache_root() == Path("/elsewhere/otel-specdecode")


def test_the_builder_is_of_the_release_that_it_builds() -> None:
    manifest = collector_build.MANIFEST.read_text()
    release = collector_build.BUILDER.rpartition("@")[2]
    assert f"receiver/otlpreceiver {release}" in manifest
