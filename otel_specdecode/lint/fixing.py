"""Apply fixes: to a text, and to a file in one step."""

from __future__ import annotations

import difflib
import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from otel_specdecode.lint._modules import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_specdecode.lint.findings import Edit, Finding
    from otel_specdecode.lint.reading import SourceText


def applicable(findings: Iterable[Finding], *, unsafe: bool) -> list[Finding]:
    """The findings whose fix may be applied."""
    return [
        finding
        for finding in findings
        if finding.fix is not None and (unsafe or finding.fix.is_safe)
    ]


def apply(text: str, findings: Iterable[Finding]) -> tuple[str, list[Finding]]:
    """The text with these fixes made, and the findings that this resolved.

    Of two fixes that touch the same characters the first is made; the other is found
    again by the next run.
    """
    done: list[Finding] = []
    edits: list[Edit] = []
    for finding in findings:
        if finding.fix is None:
            continue
        if any(_overlap(edit, other) for edit in finding.fix.edits for other in edits):
            continue
        edits += finding.fix.edits
        done.append(finding)
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text, done


def _overlap(a: Edit, b: Edit) -> bool:
    if a.start == b.start:
        return True
    return a.start < b.end and b.start < a.end


def leads_back(source: SourceText, data: bytes) -> bool:
    """Whether a text, encoded again, is byte by byte what was read.

    It is not where the file changed meanwhile, or in encodings that write one
    character in several ways: what no fix touches would change.
    """
    try:
        return source.text.encode(source.encoding) == data
    except UnicodeError:
        return False


NOT_THE_SAME = "changed meanwhile, or cannot be encoded again as it is: not fixed"


def write(source: SourceText, text: str) -> None:
    """Replace a file's content: whole or not at all, encoding and mode kept.

    Raises:
        OSError: the file or its directory cannot be written, or is no longer what was
            read; the file is as it was.
    """
    path = Path(source.path)
    target = path.resolve()  # a symbolic link stays one
    status = target.stat()
    if not os.access(target, os.W_OK):  # else replaced all the same
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), source.path)
    if not leads_back(source, target.read_bytes()):
        raise OSError(errno.EILSEQ, NOT_THE_SAME, source.path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".otel-specdecode-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode(source.encoding))
            file.flush()
            os.fsync(file.fileno())
        _keep_owner(temporary, status)
        temporary.chmod(status.st_mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _keep_owner(file: Path, status: os.stat_result) -> None:
    """In a container root runs this on files of others."""
    if hasattr(os, "chown") and os.geteuid() == 0:
        os.chown(file, status.st_uid, status.st_gid)


def diff(path: str, before: str, after: str) -> str:
    """A unified diff that `patch` understands."""
    lines = difflib.unified_diff(
        split_lines(before), split_lines(after), fromfile=path, tofile=path
    )
    return "".join(
        line
        if line.endswith(("\n", "\r"))
        else f"{line}\n\\ No newline at end of file\n"
        for line in lines
    )
