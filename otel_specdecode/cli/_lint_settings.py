"""The options of a `lint` run: those of a file, and the command line over them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from otel_specdecode.errors import ConfigError
from otel_specdecode.lint.registry import can_be_ignored, known_prefix
from otel_specdecode.lint.settings import Settings, load, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_specdecode.cli.lint import Options


def settings_of(options: Options) -> Settings:
    """The configuration file's options, overridden by those of the command line.

    Raises:
        ConfigError: the file cannot be read, or a code or pattern is wrong.
    """
    base = _from_file(options)
    settings = replace(
        base,
        select=_codes(options.select) or base.select,
        extend_select=_codes(options.extend_select) or base.extend_select,
        ignore=(*base.ignore, *_codes(options.ignore)),
        per_file_ignores=(
            *base.per_file_ignores,
            *(_pattern(item) for item in options.per_file_ignores),
        ),
        exclude=(*base.exclude, *options.exclude),
        assume_instrumented=options.assume_instrumented or base.assume_instrumented,
        force_exclude=options.force_exclude or base.force_exclude,
        respect_gitignore=(
            base.respect_gitignore
            if options.respect_gitignore is None
            else options.respect_gitignore
        ),
    )
    _check_codes(settings)
    return settings


def _from_file(options: Options) -> Settings:
    if options.config is not None:
        return load(Path(options.config))
    found = None if options.isolated else nearest(_directory(options))
    return found or Settings(root=Path())


def _directory(options: Options) -> Path:
    """Where the search for a configuration begins: beside the first path."""
    first = options.paths[0] if options.paths[0] != "-" else options.stdin_filename
    path = Path(os.path.abspath(first))  # noqa: PTH100 (resolve() follows links)
    return path if path.is_dir() else path.parent


def _check_codes(settings: Settings) -> None:
    ignored = [codes for _, codes in settings.per_file_ignores]
    for code in (*settings.ignore, *(code for codes in ignored for code in codes)):
        if not can_be_ignored(code):
            raise _unknown(code)
    for code in (*settings.select, *settings.extend_select):
        if not known_prefix(code):
            raise _unknown(code)


def _unknown(code: str) -> ConfigError:
    return ConfigError(f"unknown rule {code!r}; see `otel-specdecode rule --all`")


def _codes(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        code for item in given for code in item.replace(",", " ").split() if code
    )


def _pattern(item: str) -> tuple[str, tuple[str, ...]]:
    pattern, _, codes = item.rpartition(":")
    if not pattern or not codes:
        raise ConfigError(f"--per-file-ignores: expected PATTERN:CODES, got {item!r}")
    return pattern, _codes([codes])
