"""The files of one run, and how they import each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_specdecode.lint.reading import (
    SourceText,
    UnreadableError,
    decode,
    parse,
    read_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from otel_specdecode.lint._modules import Module

MAX_IMPORTED_SIZE = 60_000
"""Characters: a helper that handles counts is smaller; the rest stays unknown."""

MAX_KEPT = 4_000_000
"""Characters of imported files whose trees are kept, some 150 MB of them."""

_HELPS = re.compile(r"/|\byield\b|\bstream|\bawait\b|\+=|append")
"""An imported file without any of these cannot carry a count or make a rate."""


class Project:
    """Files of one run; of those that others import the last ones are kept parsed."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._files = list(files)
        self._by_stem: dict[str, list[Path]] | None = None
        self._texts: dict[Path, SourceText] = {}
        self._modules: dict[Path, Module] = {}
        self._paths: dict[Module, Path] = {}
        self._imported: dict[Path, None] = {}
        self._places: dict[tuple[Path, str, int], Path | None] = {}
        self._unhelpful: set[Path] = set()
        self._unreadable: set[Path] = set()

    def text(self, path: Path) -> SourceText:
        """The decoded text of a file.

        Raises:
            UnreadableError: it cannot be read or decoded.
        """
        known = self._texts.get(path)
        return known if known is not None else decode(str(path), read_bytes(path))

    def keep(self, path: Path, text: SourceText) -> None:
        """Use this text for a file instead of reading it."""
        self._texts[path] = text

    def module(self, path: Path, text: SourceText) -> Module:
        """The parsed file.

        Raises:
            UnreadableError: it is not Python.
        """
        known = self._modules.get(path)
        if known is not None:
            return known
        is_package = path.name == "__init__.py"
        name = path.parent.name if is_package else path.stem
        made = parse(text, name, is_package=is_package)
        self._modules[path] = made
        self._paths[made] = path
        return made

    def tidy(self, path: Path) -> None:
        """Let go of a file whose rules have run: trees are most of the memory.

        Those that others import are kept, without what only the rules need.
        """
        module = self._modules.get(path)
        if module is None:
            return
        if path in self._imported:
            module.forget_nodes()
        else:
            self._drop(path)
        # Not while a file is followed: it must meet each import as one module.
        kept = sum(len(module.text) for module in self._modules.values())
        while kept > MAX_KEPT and self._imported:
            oldest = next(iter(self._imported))
            kept -= self._drop(oldest)

    def _drop(self, path: Path) -> int:
        """Forget a parsed file; its length in characters."""
        self._imported.pop(path, None)
        module = self._modules.pop(path, None)
        if module is None:
            return 0
        del self._paths[module]
        return len(module.text)

    def find(self, importer: Module, name: str, level: int) -> Module | None:
        """The file that an import means, if it is one of the run's and may matter.

        What only declares classes or hands on names is left out: it carries no count.

        Args:
            importer: the file with the import.
            name: dotted name; for a relative import what stands after the dots.
            level: number of dots.
        """
        origin = self._paths.get(importer)
        if origin is None:
            return None
        key = (origin.parent, name, level)
        if key not in self._places:
            self._places[key] = self._resolve(origin, name, level)
        place = self._places[key]
        return None if place is None or place in self._unhelpful else self._load(place)

    def declares(self, importer: Module, name: str, level: int) -> Module | None:
        """The same with files that only declare classes or hand on names."""
        found = self.find(importer, name, level)
        origin = self._paths.get(importer)
        if found is not None or origin is None:
            return found
        place = self._places[origin.parent, name, level]
        if place is None or place in self._unreadable:
            return None
        return self._load(place, needs_help=False)

    def _resolve(self, origin: Path, name: str, level: int) -> Path | None:
        parts = [part for part in name.split(".") if part]
        if level:
            directory = origin.parent
            for _ in range(level - 1):
                directory = directory.parent
            return self._file_at(directory.joinpath(*parts))
        if not parts:
            return None
        candidates = [
            path
            for path in self._named(parts[-1])
            if self._module_parts(path)[-len(parts) :] == parts
        ]
        return max(candidates, key=lambda path: _shared(path, origin), default=None)

    def _file_at(self, place: Path) -> Path | None:
        if not place.name:
            return None  # more dots than directories
        for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
            if path in self._named(place.name):
                return path
        return None

    def _named(self, stem: str) -> list[Path]:
        if self._by_stem is None:
            self._by_stem = {}
            for path in self._files:
                name = path.parent.name if path.name == "__init__.py" else path.stem
                self._by_stem.setdefault(name, []).append(path)
        return self._by_stem.get(stem, [])

    @staticmethod
    def _module_parts(path: Path) -> list[str]:
        parts = [*path.parts[:-1], path.stem]
        return parts[:-1] if parts[-1] == "__init__" else parts

    def _load(self, path: Path, *, needs_help: bool = True) -> Module | None:
        known = self._modules.get(path)
        if known is not None and path in self._imported:
            self._imported[path] = self._imported.pop(path)  # the last one used
            return known
        try:
            text = self.text(path)
            is_wanted = not needs_help or bool(_HELPS.search(text.text))
            if len(text.text) <= MAX_IMPORTED_SIZE and is_wanted:
                self._imported[path] = None
                return self.module(path, text)
        except UnreadableError:
            pass  # reported where the file itself is linted
        (self._unhelpful if needs_help else self._unreadable).add(path)
        return None


def _shared(a: Path, b: Path) -> int:
    """How many leading directories two paths share: the nearest file is meant."""
    count = 0
    for left, right in zip(a.parts, b.parts, strict=False):
        if left != right:
            break
        count += 1
    return count
