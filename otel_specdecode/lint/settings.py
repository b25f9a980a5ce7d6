"""What a run looks for and where: options, and `[tool.otel-specdecode.lint]`."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

from otel_specdecode.errors import ConfigError

_NAME = "otel-specdecode"
TABLE = f"tool.{_NAME}.lint"

DEFAULT_EXCLUDE = (
    ".bzr .direnv .eggs .git .hg .ipynb_checkpoints .mypy_cache .nox .pytest_cache "
    ".pytype .ruff_cache .svn .tox .venv __pycache__ _build build dist node_modules "
    "site-packages venv"
).split()  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options of one run.

    Attributes:
        select: codes or beginnings of codes; empty for the default rules.
        ignore: codes or beginnings of codes to leave out.
        extend_select: added to what `select` chose.
        per_file_ignores: pairs of a file pattern and codes to leave out there.
        exclude: names or patterns of directories and files to skip.
        assume_instrumented: usage is asked for by other means, everywhere.
        respect_gitignore: skip what git ignores.
        force_exclude: let `exclude` also apply to files named on the command line.
        root: directory that patterns are relative to.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = tuple(DEFAULT_EXCLUDE)
    assume_instrumented: bool = False
    respect_gitignore: bool = True
    force_exclude: bool = False
    root: Path = Path()

    def ignored_in(self, path: Path) -> tuple[str, ...]:
        """Codes that are left out in one file."""
        return tuple(
            code
            for pattern, codes in self.per_file_ignores
            if matches(path, pattern, self.root)
            for code in codes
        )


def matches(path: Path, pattern: str, root: Path) -> bool:
    """Whether a path is meant by a pattern: a name, or a path from the root.

    `*` stands for any characters, slashes among them, and `**/` also for nothing.
    """
    pattern = pattern.removeprefix("./").rstrip("/")
    if fnmatch(path.name, pattern):
        return True
    name = _from_root(path, root, is_absolute=pattern.startswith("/"))
    return any(
        fnmatch(name, form) or fnmatch(name, f"{form}/*") or fnmatch(name, f"*/{form}")
        for form in {pattern, pattern.replace("**/", "")}
    )


def _from_root(path: Path, root: Path, *, is_absolute: bool) -> str:
    """A path without dots from the root, or from `/`; its links are not followed."""
    plain = Path(os.path.abspath(path))  # noqa: PTH100 (resolve() follows them)
    top = os.path.abspath(root)  # noqa: PTH100
    if is_absolute:
        return plain.as_posix()
    if plain.is_relative_to(top):
        return plain.relative_to(top).as_posix()
    return path.as_posix()


def nearest(start: Path) -> Settings | None:
    """Settings from the nearest `pyproject.toml` upwards that has our table.

    Args:
        start: an absolute path of a directory.

    Raises:
        ConfigError: such a file names this package and cannot be read, or has a key
            or value we do not know.
    """
    for directory in [start, *start.parents]:
        candidate = directory / "pyproject.toml"
        if not candidate.is_file():
            continue
        # Read as TOML only where it is worth it: the table has many spellings.
        text = candidate.read_text(encoding="utf-8", errors="replace")
        table = _table_of(_document(candidate), candidate) if _NAME in text else None
        if table is not None:
            return _settings(table, candidate)
    return None


def load(path: Path) -> Settings:
    """Settings from a TOML file.

    They stand under `[tool.otel-specdecode.lint]`, or at the top of a file that is no
    `pyproject.toml` and has no `[tool]`.

    Raises:
        ConfigError: the file cannot be read, or has a key or value we do not know.
    """
    document = _document(path)
    if path.name == "pyproject.toml" or "tool" in document:
        document = _table_of(document, path) or {}
    return _settings(document, path)


def _document(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _table_of(document: dict[str, Any], path: Path) -> dict[str, Any] | None:
    """Our table of a `pyproject.toml`; `None` if it has none."""
    table: Any = document
    for key in TABLE.split("."):
        if not isinstance(table, dict):
            return None
        table = cast("dict[str, Any]", table).get(key)
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [{TABLE}] must be a table")
    return cast("dict[str, Any] | None", table)


def _settings(table: dict[str, Any], path: Path) -> Settings:
    settings = Settings(root=path.parent)
    # Sorted, since `exclude` replaces what `extend-exclude` adds to.
    for key, value in sorted(table.items()):
        where = f"{path}: [{TABLE}] {key}"
        match key:
            case "ignore" | "extend-ignore":
                added = (*settings.ignore, *_strings(value, where))
                settings = replace(settings, ignore=added)
            case "select" | "extend-select" | "exclude":
                codes = _strings(value, where)
                settings = replace(settings, **{key.replace("-", "_"): codes})
            case "extend-exclude":
                added = (*settings.exclude, *_strings(value, where))
                settings = replace(settings, exclude=added)
            case "per-file-ignores":
                settings = replace(settings, per_file_ignores=_pairs(value, where))
            case "assume-instrumented" | "respect-gitignore" | "force-exclude":
                if not isinstance(value, bool):
                    raise ConfigError(f"{where}: expected true or false, got {value!r}")
                settings = replace(settings, **{key.replace("-", "_"): value})
            case _:
                raise ConfigError(f"{where}: unknown option")
    return settings


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(item, str) for item in cast("list[Any]", value)
    ):
        raise ConfigError(f"{where}: expected a list of strings, got {value!r}")
    return tuple(cast("list[str]", value))


def _pairs(value: Any, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: expected a table of patterns, got {value!r}")
    table = cast("dict[str, Any]", value)
    return tuple(
        (pattern, _strings(codes, f"{where}.{pattern}"))
        for pattern, codes in table.items()
    )
