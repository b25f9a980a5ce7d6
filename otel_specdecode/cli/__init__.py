"""The command line: one module a subcommand, imported when it is called.

Editors and hooks start this for one file at a time, so until a subcommand is chosen
nothing is imported that Python has not imported already.
"""

from __future__ import annotations

import sys

_EXTRAS = {
    "click": "cli",
    "pathspec": "cli",
    "rich": "cli",
    "httptools": "simulator",
}
"""Which extra brings a package, where its subcommand does not say so itself."""


def main() -> None:
    """Run the command line; where an extra is missing, say which, and exit with 2."""
    try:
        _run()
    except ModuleNotFoundError as error:
        extra = _extra_with(error.name or "")
        if extra is None:
            raise
        sys.stderr.write(
            f"otel-specdecode needs the package {error.name!r} for this; install it"
            f" with: pip install 'otel-specdecode[{extra}]'\n"
        )
        sys.exit(2)


def _run() -> None:
    if sys.argv[1:2] == ["lint"]:
        # Hooks and editors start this for every file: not even click is imported.
        from otel_specdecode.cli.lint import main as lint

        sys.exit(lint(sys.argv[2:]))
    from otel_specdecode.cli._group import group

    group()


def _extra_with(package: str) -> str | None:
    for known, extra in _EXTRAS.items():
        if package == known or package.startswith(f"{known}."):
            return extra
    return None
