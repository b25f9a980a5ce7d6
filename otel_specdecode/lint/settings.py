"""What a run looks for and where: options, and `[tool.otel-specdecode.lint]`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

from otel_specdecode.errors import ConfigError

TABLE = "tool.otel-specdecode.lint"

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
    """Whether a path is meant by a pattern: a name, or a path from the root."""
    if fnmatch(path.name, pattern):
        return True
    try:
        relative = path.absolute().relative_to(root.absolute()).as_posix()
    except ValueError:
        relative = path.as_posix()
    pattern = pattern.rstrip("/")
    return (
        fnmatch(relative, pattern)
        or fnmatch(relative, f"{pattern}/*")
        or fnmatch(path.as_posix(), f"*/{pattern}")
    )


def find_config(start: Path) -> Path | None:
    """The nearest `pyproject.toml` upwards that has our table."""
    for directory in [start, *start.parents]:
        candidate = directory / "pyproject.toml"
        if candidate.is_file() and TABLE in candidate.read_text(
            encoding="utf-8", errors="replace"
        ):
            return candidate
    return None


def load(path: Path) -> Settings:
    """Settings from a TOML file.

    A `pyproject.toml` holds them under `[tool.otel-specdecode.lint]`, any other file
    at its top.

    Raises:
        ConfigError: the file cannot be read, or has a key or value we do not know.
    """
    import tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    table: Any = document
    if path.name == "pyproject.toml":
        for key in TABLE.split("."):
            table = cast("dict[str, Any]", table).get(key, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: [{TABLE}] must be a table")
    return _settings(cast("dict[str, Any]", table), path)


def _settings(table: dict[str, Any], path: Path) -> Settings:
    settings = Settings(root=path.parent)
    for key, value in table.items():
        where = f"{path}: [{TABLE}] {key}"
        match key:
            case "select" | "ignore" | "extend-select" | "exclude":
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
