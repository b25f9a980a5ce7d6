"""All that the doctor saw, judged: what the screen, the JSON and the exit code say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.cli._doctor_findings import Finding, Level, about_server
from otel_specdecode.cli._doctor_process import ProcessReport
from otel_specdecode.cli._doctor_process_findings import about_process
from otel_specdecode.cli._doctor_server import ServerReport

if TYPE_CHECKING:
    from collections.abc import Collection

ALL_THERE, SOMETHING_MISSING, UNREACHABLE = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was seen, and what follows.

    Attributes:
        server: `None` when none was named.
        process: this environment.
        findings: the grave ones first.
    """

    server: ServerReport | None
    process: ProcessReport
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that are more than notes."""
        return tuple(one for one in self.findings if one.level is not Level.NOTE)

    @property
    def exit_code(self) -> int:
        """0 all there, 1 something missing or wrong, 2 the server is out of reach."""
        if any(one.level is Level.UNREACHABLE for one in self.faults):
            return UNREACHABLE
        return SOMETHING_MISSING if self.faults else ALL_THERE


def judge(
    server: ServerReport | None, process: ProcessReport, ignored: Collection[str] = ()
) -> Verdict:
    """Judge what was seen.

    Args:
        server: `None` when none was named.
        process: this environment.
        ignored: codes of findings that are left out.
    """
    found = [
        *(() if server is None else about_server(server)),
        *about_process(process),
    ]
    kept = [one for one in found if one.code not in ignored]
    order = list(Level)
    return Verdict(
        server=server,
        process=process,
        findings=tuple(sorted(kept, key=lambda one: order.index(one.level))),
    )
