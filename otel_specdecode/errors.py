"""The exception tree.

* `SpecDecodeError`: the root; catch it to catch all of ours
    * `ConfigError`: an option or variable has a value we do not know
    * `PayloadError`: a server sent statistics that contradict themselves
    * `LintSourceError`: a file given to the linter cannot be read as Python
    * `SimulatorError`: the embedded server was asked for what it cannot do

Beside it, `ChunkCountWarning`: the program takes streamed chunks for tokens.
"""

from __future__ import annotations


class SpecDecodeError(Exception):
    """Root of every exception that this package raises on purpose."""


class ConfigError(SpecDecodeError, ValueError):
    """An option, keyword or environment variable has an unusable value."""


class PayloadError(SpecDecodeError, ValueError):
    """A server's statistics are malformed or contradict themselves.

    Attributes:
        path: dotted path of the field that is wrong, such as
            `metrics.speculative_decoding.num_draft_tokens`.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class LintSourceError(SpecDecodeError):
    """A source given to the linter cannot be read as Python."""


class SimulatorError(SpecDecodeError, ValueError):
    """A simulator profile or request asks for something impossible."""


class ChunkCountWarning(UserWarning):
    """A function that consumes a stream derives a token rate from its chunks."""
