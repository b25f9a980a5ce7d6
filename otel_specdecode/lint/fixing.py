"""Apply fixes: to a text, and to a file in one step."""

from __future__ import annotations

import difflib
import errno
import os
import stat
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


def encoded(source: SourceText, text: str, data: bytes) -> bytes:
    """A fixed text, encoded as its file is.

    Args:
        source: what was read.
        text: what it becomes.
        data: the file as it is now: as read, or fixed already by another name.

    Raises:
        OSError: it changed meanwhile, or its encoding writes one character in several
            ways, so that more than the fix would change.
    """
    trouble = OSError(
        errno.EILSEQ, "changed meanwhile, or not encoded again as it was: not fixed"
    )
    try:
        before, after = (part.encode(source.encoding) for part in (source.text, text))
    except UnicodeError as error:
        raise trouble from error
    if data not in (before, after):
        raise trouble
    return after


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
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file: not fixed", source.path)
    data = target.read_bytes()
    new = encoded(source, text, data)
    if new == data:
        return
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".otel-specdecode-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
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
