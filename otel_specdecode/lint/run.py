"""One run of the linter: files in, findings out."""

from __future__ import annotations

import gc
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from otel_specdecode.lint.discovery import find_files, is_excluded
from otel_specdecode.lint.findings import Finding
from otel_specdecode.lint.project import Project
from otel_specdecode.lint.reading import (
    SourceText,
    UnreadableError,
    decode,
    without_broken_cells,
)
from otel_specdecode.lint.registry import UNREADABLE, Rule, is_meant, selected
from otel_specdecode.lint.source import Source, instruments
from otel_specdecode.lint.suppression import Suppressions

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from otel_specdecode.lint._modules import Module
    from otel_specdecode.lint.settings import Settings

_RATE_NAMES = re.compile(r"[Tt]ok|TOK|tps|TPS|tpot|TPOT|[Tt]hroughput")
"""What a file that turns another file's chunk counts into a rate will mention."""


MAX_HOPS = 3
"""How many imports a stream is followed through, file by file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run found.

    Attributes:
        findings: in the order of files and lines.
        texts: the text of every file with a finding, by path.
        num_files: files looked at.
        num_parsed: files whose text made parsing worthwhile.
        num_suppressed: findings that a comment switched off.
        partial: files with more statements than are run, in order.
    """

    findings: tuple[Finding, ...]
    texts: dict[str, SourceText]
    num_files: int
    num_parsed: int
    num_suppressed: int
    partial: tuple[str, ...] = ()


@contextmanager
def _paused_gc() -> Generator[None]:
    """Trees are many small objects and no garbage: collecting costs a third.

    Not as a guest in a running program, whose collector is its own affair.
    """
    was_enabled = gc.isenabled() and current_thread() is main_thread()
    if not was_enabled:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Run:
    """A run in progress."""

    def __init__(self, files: Sequence[Path], settings: Settings) -> None:
        self.files = files
        self.settings = settings
        self.project = Project(files)
        self.rules = selected(settings.select, settings.ignore, settings.extend_select)
        self.instrumented = settings.assume_instrumented
        self.findings: dict[tuple[str, int, int, str], Finding] = {}
        self.texts: dict[str, SourceText] = {}
        self.streaming: set[str] = set()
        self.num_parsed = 0
        self.partial: dict[str, None] = {}

    def lint(self) -> None:
        """Lint every file, then those that import what others stream."""
        waiting: list[tuple[Path, SourceText, tuple[Rule, ...]]] = []
        left: list[Path] = []
        for path in self.files:
            text = self._read(path)
            if text is None:
                continue
            self.instrumented = self.instrumented or instruments(text.text)
            rules = self._rules_for(path, text.text)
            if rules:
                waiting.append((path, text, rules))
            else:
                left.append(path)
        for path, text, rules in waiting:
            if not self._lint_file(path, text, rules):
                left.append(path)
        for _ in range(MAX_HOPS):
            importers = self._importers(left)
            self.streaming.clear()
            for path, text in importers.items():
                left.remove(path)
                self._lint_file(path, text, self._chosen_for(path), follow_imports=True)

    def _importers(self, left: Iterable[Path]) -> dict[Path, SourceText]:
        """Files without a stream of their own that import one that has."""
        if not self.streaming or len(self.files) < 2:
            return {}
        names = "|".join(sorted(map(re.escape, self.streaming)))
        imports = re.compile(
            rf"^\s*(?:from\s+[\w.]*\b(?:{names})\s+import|import\s+[\w.]*\b(?:{names})\b"
            rf"|from\s+[\w.]+\s+import\s[^\n]*\b(?:{names})\b)",
            re.MULTILINE,
        )
        found: dict[Path, SourceText] = {}
        for path in left:
            text = self._read(path)
            if text is None or not any(name in text.text for name in self.streaming):
                continue
            if _RATE_NAMES.search(text.text) and imports.search(text.text):
                found[path] = text
        return found

    def _read(self, path: Path) -> SourceText | None:
        try:
            return self.project.text(path)
        except UnreadableError as error:
            self.note_unreadable(str(path), error, None)
            return None

    def _chosen_for(self, path: Path) -> tuple[Rule, ...]:
        ignored = (
            self.settings.ignored_in(path) if self.settings.per_file_ignores else ()
        )
        return tuple(
            rule
            for rule in self.rules
            if not any(is_meant(rule.code, code) for code in ignored)
        )

    def _rules_for(self, path: Path, text: str) -> tuple[Rule, ...]:
        verdicts: dict[object, bool] = {}
        chosen: list[Rule] = []
        for rule in self._chosen_for(path):
            test = rule.may_apply
            if test not in verdicts:
                verdicts[test] = test(text)
            if verdicts[test]:
                chosen.append(rule)
        return tuple(chosen)

    def _lint_file(
        self,
        path: Path,
        text: SourceText,
        rules: Sequence[Rule],
        *,
        follow_imports: bool = False,
    ) -> bool:
        """Check one file; whether it reads a stream."""
        self.num_parsed += 1
        try:
            module = self._module(path, text)
            source = Source(
                module,
                self.instrumented,
                self.project.find,
                follow_imports,
                all(rule.needs_stream for rule in rules),
                self.project.declares,
            )
            for rule in rules:
                for finding in rule.check(source):
                    self._note(finding, text if finding.path == text.path else None)
        except UnreadableError as error:
            self.note_unreadable(str(path), error, text)
            return False
        except RecursionError:
            trouble = UnreadableError("nested too deeply to be analysed")
            self.note_unreadable(str(path), trouble, text)
            return False
        finally:
            self.project.tidy(path)
        if source.has_stream and source.facts.is_partial:
            self.partial.setdefault(str(path))
        if source.has_stream:
            self.streaming.add(module.name)
        return source.has_stream

    def _module(self, path: Path, text: SourceText) -> Module:
        """The parsed file; of a notebook with broken cells, the others."""
        try:
            return self.project.module(path, text)
        except UnreadableError:
            rest, errors = without_broken_cells(text)
            if not errors:
                raise
        for error in errors:
            self.note_unreadable(str(path), error, text)
        return self.project.module(path, rest)

    def _note(self, finding: Finding, text: SourceText | None) -> None:
        if text is None:
            other = Path(finding.path)
            chosen = {rule.code for rule in self._chosen_for(other)}
            if finding.code not in chosen:
                return
            text = self.project.text(other)
        self.texts.setdefault(finding.path, text)
        key = (finding.path, finding.line, finding.column, finding.code)
        self.findings.setdefault(key, finding)

    def note_unreadable(
        self, path: str, error: UnreadableError, text: SourceText | None
    ) -> None:
        """Report a file that cannot be read, unless that is to be ignored."""
        ignored = (*self.settings.ignore, *self.settings.ignored_in(Path(path)))
        if any(is_meant(UNREADABLE, code) for code in ignored):
            return
        finding = Finding(
            code=UNREADABLE,
            message=str(error),
            path=path,
            line=error.line,
            column=error.column,
            end_line=error.line,
            end_column=error.column,
        )
        if text is not None:
            self.texts.setdefault(path, text)
        self.findings.setdefault((path, error.line, error.column, UNREADABLE), finding)

    def report(self) -> Report:
        kept: list[Finding] = []
        suppressed = 0
        comments: dict[str, Suppressions] = {}
        for finding in self.findings.values():
            text = self.texts.get(finding.path)
            if text is not None and finding.code != UNREADABLE:
                known = comments.setdefault(finding.path, Suppressions(text.text))
                if known.covers(finding, finding.line):
                    suppressed += 1
                    continue
            kept.append(_in_cell(finding, text))
        return Report(
            findings=tuple(sorted(kept, key=lambda finding: finding.sort_key)),
            texts=self.texts,
            num_files=len(self.files),
            num_parsed=self.num_parsed,
            num_suppressed=suppressed,
            partial=tuple(self.partial),
        )


def _in_cell(finding: Finding, text: SourceText | None) -> Finding:
    """A notebook's finding, placed in its cell. Notebooks are not fixed."""
    if text is None or text.cells is None or not text.cells.starts:
        return finding
    cell, line = text.cells.locate(finding.line)
    last = text.cells.locate(finding.end_line)[1]
    return replace(finding, cell=cell, line=line, end_line=last, fix=None)


def lint_files(files: Sequence[Path], settings: Settings) -> Report:
    """Lint these files."""
    run = _Run(files, settings)
    with _paused_gc():
        run.lint()
    return run.report()


def lint_paths(paths: Sequence[Path], settings: Settings) -> Report:
    """Lint the Python files and notebooks under these paths.

    Raises:
        ConfigError: a path does not exist.
    """
    return lint_files(find_files(paths, settings), settings)


def lint_text(data: bytes, path: str, settings: Settings) -> Report:
    """Lint source that is not (yet) in a file, such as an editor's buffer.

    Args:
        data: the source, encoded as its declaration says.
        path: the name to report and to match patterns with.
        settings: options of the run.
    """
    file = Path(path)
    if settings.force_exclude and is_excluded(file, settings):
        return _Run([], settings).report()
    run = _Run([file], settings)
    try:
        run.project.keep(file, decode(path, data))
    except UnreadableError as error:
        run.note_unreadable(path, error, None)
        return run.report()
    run.lint()
    return run.report()
