"""The flake8 plugin: the same rules under flake8's options and `# noqa`.

flake8 drops suppressed lines itself, and reads only its own configuration files.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, ClassVar

from otel_specdecode.lint._modules import Module
from otel_specdecode.lint.registry import CODES, all_rules, is_default
from otel_specdecode.lint.source import Source

if TYPE_CHECKING:
    import argparse
    import ast
    from collections.abc import Iterator, Sequence

    from flake8.options.manager import OptionManager


def _version() -> str:
    try:
        return version("otel-specdecode")
    except PackageNotFoundError:  # run from a source tree
        return "0"


class Plugin:
    """What flake8 makes for each file."""

    name = "otel-specdecode"
    version = _version()
    assume_instrumented: ClassVar[bool] = False

    def __init__(self, tree: ast.Module, filename: str, lines: Sequence[str]) -> None:
        self._tree = tree
        self._path = filename
        self._text = "".join(lines)

    @classmethod
    def add_options(cls, manager: OptionManager) -> None:
        """Add our option, and switch off what is off by default."""
        manager.extend_default_ignore([code for code in CODES if not is_default(code)])
        manager.add_option(
            "--specdecode-assume-instrumented",
            default=False,
            action="store_true",
            parse_from_config=True,
            help="Usage is asked for by other means: no SPD003.",
        )

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take flake8's options."""
        cls.assume_instrumented = bool(options.specdecode_assume_instrumented)

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Findings as flake8 takes them: line, 0-based column, text, plugin."""
        rules = [rule for rule in all_rules() if rule.may_apply(self._text)]
        if not rules:
            return
        module = Module(self._path, self._tree, self._text)
        source = Source(module, self.assume_instrumented)
        for rule in rules:
            for finding in rule.check(source):
                text = f"{finding.code} {finding.message}"
                yield finding.line, finding.column - 1, text, type(self)
