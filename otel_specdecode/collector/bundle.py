"""Where the bundle's files are, and how they get somewhere else.

In a wheel they are package data; in a checkout they are `collector/` beside the
package, and the pages about them are in `docs/`.
"""

from __future__ import annotations

import shutil
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HERE = Path(__file__).resolve().parent
_CANDIDATES = (_HERE / "bundle", _HERE.parent.parent / "collector")
# What a user of the bundle has no use for.
_LEFT_OUT = frozenset({"__pycache__", "_build"})
# Pages that the README and the alerts point at, in a checkout beside `collector/`.
_PAGES = ("docs/collector.md", "docs/runbooks")


def bundle_root() -> Path:
    """The folder that holds `config/`, `prometheus/` and `grafana/`.

    Raises:
        ConfigError: the package was installed without the bundle.
    """
    for candidate in _CANDIDATES:
        if (candidate / "config" / "base.yaml").is_file():
            return candidate
    raise ConfigError(
        f"the collector bundle is missing: expected it at {_CANDIDATES[0]}"
    )


def list_bundle() -> tuple[str, ...]:
    """Every file of the bundle, as a path below its copy, sorted."""
    return tuple(sorted(_sources()))


def _sources() -> dict[str, Path]:
    root = bundle_root()
    files = {str(file.relative_to(root)): file for file in _files_below(root)}
    for page in _PAGES:
        beside = root.parent / page
        if not (root / page).exists() and beside.exists():
            files |= {
                str(file.relative_to(root.parent)): file
                for file in _files_below(beside)
            }
    return files


def _files_below(path: Path) -> Iterator[Path]:
    for file in (path, *path.rglob("*")):
        if file.is_file() and not _LEFT_OUT.intersection(file.parts):
            yield file


def read_file(name: str) -> str:
    """The text of one file of the bundle.

    Raises:
        ConfigError: there is no such file; names those that there are.
    """
    sources = _sources()
    # A bare name is enough where it is the only one, as `base.yaml` is.
    found = [known for known in sources if name in (known, Path(known).name)]
    if len(found) != 1:
        raise ConfigError(
            f"{name}: expected one of the bundle's files; nearest: "
            f"{', '.join(found or _alike(name, sources)) or 'none'}"
        )
    return sources[found[0]].read_text("utf-8")


def _alike(name: str, names: Iterable[str]) -> list[str]:
    """Names with another ending, or a letter or two beside it."""
    forms = {known: {known, Path(known).name, Path(known).stem} for known in names}
    close = set(get_close_matches(name, set[str]().union(*forms.values())))
    return sorted(known for known, its in forms.items() if its & close)


def copy_bundle(target: Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Copies every file below `target`, and returns what was written.

    Args:
        target: a folder, made where it is missing.
        overwrite: replace files that are there. Without it nothing is written when
            one of them is.

    Raises:
        ConfigError: a file is there already and differs, or one cannot be written.
    """
    pairs = [(source, target / name) for name, source in sorted(_sources().items())]
    try:
        if not overwrite:
            for source, copy in pairs:
                if copy.exists() and copy.read_bytes() != source.read_bytes():
                    raise ConfigError(
                        f"{copy}: is there and differs; nothing was written"
                    )
        for source, copy in pairs:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    except OSError as error:
        # Read-only, no space left, or a folder where a file belongs.
        where = error.filename2 or error.filename or target
        raise ConfigError(f"{where}: cannot be written: {error.strerror}") from error
    return tuple(copy for _, copy in pairs)
