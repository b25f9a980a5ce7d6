"""Which files a run reads."""

from __future__ import annotations

import os
import stat
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
    found: dict[str, Path] = {}
    for path in paths:
        if path.is_dir():
            files = _walk(path, settings)
        elif path.exists():
            is_left_out = settings.force_exclude and is_excluded(path, settings)
            files = () if is_left_out else (path,)
        else:
            raise ConfigError(f"{path}: no such file or directory")
        for file in files:
            found.setdefault(os.path.abspath(file), file)  # noqa: PTH100 (not links)
    return list(found.values())


def is_excluded(path: Path, settings: Settings) -> bool:
    """Whether the options leave a path out, or a directory that it is in."""
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

    closed: list[Path] = []

    def note(error: OSError) -> None:
        closed.append(Path(error.filename))

    for directory, subdirectories, files in os.walk(top, onerror=note):
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
                if not is_skipped(file, is_directory=False) and _can_be_read(file):
                    yield file
    yield from closed  # directories that cannot be listed: reading them tells why


def _can_be_read(file: Path) -> bool:
    """Whether reading ends: a pipe waits for a writer. The missing is told later."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode)


class GitIgnore:
    """The `.gitignore` files from the repository's root down.

    With those of `.git/info/exclude`. Files above a directory that was named count
    only where it is in a repository that does not ignore it itself: who names a
    directory wants it searched.
    """

    def __init__(self, top: Path) -> None:
        self._specs: dict[Path, GitIgnoreSpec] = {}
        absolute = top.absolute()
        above: list[Path] = []
        for directory in [absolute, *absolute.parents]:
            self.enter(directory)
            above.append(directory)
            if (directory / ".git").exists():
                break
        else:
            above = []
        if not above or any(
            self.covers(directory, is_directory=True) for directory in above
        ):
            self._specs = {k: v for k, v in self._specs.items() if k == absolute}

    def enter(self, directory: Path) -> None:
        """Read what a directory says of its own, if anything."""
        directory = directory.absolute()
        if directory in self._specs:
            return
        lines: list[str] = []
        # What stands in a later line wins, as the `.gitignore` does.
        for file in (directory / ".git/info/exclude", directory / ".gitignore"):
            if file.is_file():
                lines += file.read_text("utf-8", errors="replace").splitlines()
        if lines:
            from pathspec import GitIgnoreSpec

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
