"""Which files a run reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from otel_specdecode.errors import ConfigError
from otel_specdecode.lint.settings import matches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pathspec import GitIgnoreSpec

    from otel_specdecode.lint.settings import Settings

SUFFIXES = (".py", ".pyi", ".ipynb")


def find_files(paths: Sequence[Path], settings: Settings) -> list[Path]:
    """Python files and notebooks under the paths, each once, in order.

    A file that is named is read whatever it is called; directories are searched.

    Raises:
        ConfigError: a path does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            for file in _walk(path, settings):
                found.setdefault(file)
        elif path.exists():
            if not (settings.force_exclude and _is_excluded(path, settings)):
                found.setdefault(path)
        else:
            raise ConfigError(f"{path}: no such file or directory")
    return list(found)


def _is_excluded(path: Path, settings: Settings) -> bool:
    return any(
        matches(part, pattern, settings.root)
        for pattern in settings.exclude
        for part in [path, *path.parents]
        if part != Path()
    )


def _walk(top: Path, settings: Settings) -> Iterator[Path]:
    ignore = GitIgnore(top) if settings.respect_gitignore else None
    names = {name for name in settings.exclude if not set(name) & set("*?[/")}
    patterns = [name for name in settings.exclude if name not in names]

    def is_skipped(path: Path, *, is_directory: bool) -> bool:
        if path.name in names:
            return True
        if any(matches(path, pattern, settings.root) for pattern in patterns):
            return True
        return ignore is not None and ignore.covers(path, is_directory=is_directory)

    for directory, subdirectories, files in os.walk(top):
        here = Path(directory)
        if ignore is not None:
            ignore.enter(here)
        subdirectories[:] = sorted(
            name
            for name in subdirectories
            if not is_skipped(here / name, is_directory=True)
        )
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                file = here / name
                if not is_skipped(file, is_directory=False):
                    yield file


class GitIgnore:
    """The `.gitignore` files from the repository's root down."""

    def __init__(self, top: Path) -> None:
        self._specs: dict[Path, GitIgnoreSpec] = {}
        absolute = top.absolute()
        for directory in [absolute, *absolute.parents]:
            self.enter(directory)
            if (directory / ".git").exists():
                break
        else:
            # Outside a repository only the files below `top` count.
            self._specs = {k: v for k, v in self._specs.items() if k == absolute}

    def enter(self, directory: Path) -> None:
        """Read a directory's own `.gitignore`, if it has one."""
        directory = directory.absolute()
        file = directory / ".gitignore"
        if directory in self._specs or not file.is_file():
            return
        from pathspec import GitIgnoreSpec

        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        self._specs[directory] = GitIgnoreSpec.from_lines(lines)

    def covers(self, path: Path, *, is_directory: bool) -> bool:
        """Whether git ignores a path; the nearest file that speaks of it decides."""
        if not self._specs:
            return False
        absolute = path.absolute()
        for directory in absolute.parents:
            spec = self._specs.get(directory)
            if spec is None:
                continue
            name = absolute.relative_to(directory).as_posix()
            result = spec.check_file(f"{name}/" if is_directory else name)
            if result.include is not None:
                return result.include
        return False
