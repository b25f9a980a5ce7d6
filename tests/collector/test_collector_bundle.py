"""The command hands out the bundle's files."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from otel_specdecode.cli.collector import command
from otel_specdecode.collector import bundle_root, list_bundle

if TYPE_CHECKING:
    from pathlib import Path


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args)


def test_the_list_has_each_kind_of_file_and_nothing_that_was_built() -> None:
    names = run("list").output.splitlines()
    assert {"config/base.yaml", "prometheus/prometheus.yml", "compose.yaml"} <= set(
        names
    )
    assert not [name for name in names if "__pycache__" in name or "_build" in name]


def test_a_file_is_shown_by_its_bare_name() -> None:
    shown = run("show", "base.yaml")
    assert shown.output == (bundle_root() / "config" / "base.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zzz", "nearest: none"),
        ("debug", "nearest: config/debug.yaml"),
        ("export-trace.yaml", "nearest: config/export-traces.yaml"),
    ],
)
def test_a_file_that_is_not_there_is_misuse_and_its_neighbours_are_named(
    name: str, said: str
) -> None:
    shown = run("show", name)
    assert (shown.exit_code, said in shown.output) == (2, True)


def test_copy_writes_every_file(tmp_path: Path) -> None:
    assert run("copy", str(tmp_path)).exit_code == 0
    copied = {
        str(file.relative_to(tmp_path))
        for file in tmp_path.rglob("*")
        if file.is_file()
    }
    assert copied == set(list_bundle())


def test_a_copy_has_what_its_readme_and_its_alerts_point_at(tmp_path: Path) -> None:
    run("copy", str(tmp_path))
    readme = (tmp_path / "README.md").read_text()
    pointed_at = re.findall(r"`((?:[\w-]+/)+|[\w/-]+\.(?:ya?ml|md))`", readme)
    alerts = (tmp_path / "prometheus/rules/alerts.yml").read_text()
    pointed_at += re.findall(r"runbook_url: \S+/(docs/runbooks/\w+\.md)", alerts)
    assert "docs/runbooks/" in pointed_at
    assert [name for name in pointed_at if not (tmp_path / name).exists()] == []


def test_links_lead_somewhere_in_a_copy(tmp_path: Path) -> None:
    run("copy", str(tmp_path))
    for page in tmp_path.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), (page, link)


def test_a_runbook_is_shown_by_its_bare_name() -> None:
    shown = run("show", "OtelCollectorDown.md")
    assert shown.output.startswith("# OtelCollectorDown\n")


def test_a_wheel_has_each_file_where_an_installed_package_looks() -> None:
    root = bundle_root().parent
    build = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]
    included = build["build"]["targets"]["wheel"]["force-include"]
    installed = "otel_specdecode/collector/bundle"
    for name in list_bundle():
        source = name if name.startswith("docs/") else f"collector/{name}"
        assert any(
            source.replace(there, here, 1) == f"{installed}/{name}"
            for there, here in included.items()
            if source == there or source.startswith(f"{there}/")
        ), name


def test_copy_leaves_a_changed_file_alone_unless_forced(tmp_path: Path) -> None:
    run("copy", str(tmp_path))
    base = tmp_path / "config" / "base.yaml"
    base.write_text("mine")
    refused = run("copy", str(tmp_path))
    assert (refused.exit_code, base.read_text()) == (2, "mine")
    forced = run("copy", str(tmp_path), "--force")
    assert (forced.exit_code, base.read_text() == "mine") == (0, False)


@pytest.mark.parametrize("force", [(), ("--force",)], ids=str)
@pytest.mark.parametrize(
    ("in_the_way", "said"),
    [
        ("target", "Not a directory"),
        ("target/config", "cannot be written: File exists"),
        ("target/config/base.yaml/", "base.yaml: cannot be written: Is a directory"),
    ],
)
def test_copy_says_what_it_cannot_write(
    in_the_way: str, said: str, force: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / in_the_way
    path.parent.mkdir(parents=True, exist_ok=True)
    if in_the_way.endswith("/"):
        path.mkdir()
    else:
        path.touch()
    target = "target/below" if in_the_way == "target" else "target"
    done = run("copy", str(tmp_path / target), *force)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_without_its_packages_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("otel_specdecode.cli.collector.find_spec", lambda _: None)
    done = run("list")
    assert done.exit_code == 2
    assert "pip install 'otel-specdecode[collector]'" in done.output
