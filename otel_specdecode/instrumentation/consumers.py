"""The function that consumes a stream, and whether it takes chunks for tokens.

The first stream of a function has it examined by the linter's engine, in a thread of
our own and once for each (file, first line, qualified name): code objects compare by
value, so they are no key. A program whose source cannot be found stays unexamined.
"""

from __future__ import annotations

import atexit
import os
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread
from types import CodeType
from typing import TYPE_CHECKING

from otel_specdecode.errors import ChunkCountWarning
from otel_specdecode.instrumentation._guard import failed, warn
from otel_specdecode.instrumentation.callsite import calling_frame
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.model import ChunkCountSite, RequestRecord
from otel_specdecode.recording import Recorder

if TYPE_CHECKING:
    from otel_specdecode.lint.findings import Finding

_RULES = ("SPD001", "SPD002")
# Frames of their own before Python 3.12; the function around them is what counts.
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_MOST_CONSUMERS = 2000
_LONGEST_WAIT_S = 5.0
ConsumerKey = tuple[str, int, str]


@dataclass(slots=True, kw_only=True)
class Consumer:
    """One function that consumes streams.

    Attributes:
        site: what the engine found; `None` where nothing, or not yet.
        first: the first finished stream whose factor is known, and its recorder.
        reported: whether its one warning was given.
        lock: held while one of two threads decides to give it.
    """

    site: ChunkCountSite | None = None
    first: tuple[RequestRecord, Recorder] | None = None
    reported: bool = False
    lock: Lock = field(default_factory=Lock)


_consumers: dict[ConsumerKey, Consumer] = {}
_threads: list[Thread] = []
_examining = Lock()


def consumer_here() -> Consumer | None:
    """Return the function that asks for the first chunk; `None` where unknown.

    Call it from the step itself: the function is found on the stack.
    """
    frame = calling_frame()
    while frame is not None and frame.f_code.co_name in _COMPREHENSIONS:
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    key = (code.co_filename, code.co_firstlineno, code.co_qualname)
    consumer = _consumers.get(key)
    if consumer is None:
        if len(_consumers) >= _MOST_CONSUMERS:
            return None
        consumer = _consumers.setdefault(key, Consumer())
        _start_examining(code, consumer)
    return consumer


def finish(consumer: Consumer, record: RequestRecord, recorder: Recorder) -> None:
    """Note a finished stream of a consumer, and warn if it is the first to tell."""
    if consumer.first is None and record.undercount_factor is not None:
        consumer.first = record, recorder
    _report(consumer)


def _start_examining(code: CodeType, consumer: Consumer) -> None:
    if not _threads:
        atexit.register(_wait_for_threads)
    thread = Thread(
        target=_examine,
        args=(code, consumer),
        name="otel-specdecode-lint",
        daemon=True,
    )
    _threads.append(thread)
    thread.start()


def _wait_for_threads() -> None:
    """Let a short program hear what was found; never hold it up for long."""
    deadline = monotonic_s() + _LONGEST_WAIT_S
    for thread in _threads:
        thread.join(max(0.0, deadline - monotonic_s()))


def _examine(code: CodeType, consumer: Consumer) -> None:
    try:
        # One at a time: functions of one file share what is found in it.
        with _examining:
            consumer.site = _site_in(code)
    except Exception as error:  # noqa: BLE001 (never break the caller)
        failed("examining a consumer", error)
    _report(consumer)


def _site_in(code: CodeType) -> ChunkCountSite | None:
    lines = _lines_of(code)
    for finding in _findings(code.co_filename):
        if _touches(finding, lines):
            return ChunkCountSite(
                rule=finding.code,
                path=finding.path,
                line=finding.line,
                function=code.co_qualname,
            )
    return None


@lru_cache(maxsize=256)
def _findings(filename: str) -> tuple[Finding, ...]:
    path = Path(filename)
    if not path.is_file():
        return ()
    # The engine is imported by the first program that streams, and by no other.
    from otel_specdecode.lint.run import lint_files  # noqa: PLC0415
    from otel_specdecode.lint.settings import Settings  # noqa: PLC0415

    report = lint_files([path], Settings(select=_RULES))
    return tuple(found for found in report.findings if found.code in _RULES)


def _lines_of(code: CodeType) -> range:
    lines = [line for *_, line in code.co_lines() if line]
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    last = max([code.co_firstlineno, *lines, *(_lines_of(c)[-1] for c in inner)])
    return range(code.co_firstlineno, last + 1)


def _touches(finding: Finding, lines: range) -> bool:
    """Say whether the way from the stream to the rate passes through a function."""
    steps = (step.line for step in finding.steps if step.path == finding.path)
    return finding.line in lines or any(line in lines for line in steps)


def _report(consumer: Consumer) -> None:
    with consumer.lock:
        site, first = consumer.site, consumer.first
        if consumer.reported or site is None or first is None:
            return
        consumer.reported = True
    record, recorder = first
    recorder.count_site(site)
    text = _message(site, record)
    try:
        warnings.warn_explicit(text, ChunkCountWarning, site.path, site.line)
    except Warning:
        # `-W error` is for the program's own warnings, and its call shall go on.
        with suppress(Exception):
            warn("%s:%s: %s", site.path, site.line, text)


def _message(site: ChunkCountSite, record: RequestRecord) -> str:
    factor = record.undercount_factor or 1.0
    return (
        f"{site.function} takes chunks for tokens"
        f" ({site.rule}): {record.num_content_chunks} chunks carried"
        f" {record.num_output_tokens} tokens: this rate is {factor:.2f} times too low."
        f" Use usage.completion_tokens, or otel_specdecode.record_of(stream)."
    )


def _restart_in_child() -> None:
    global _examining  # noqa: PLW0603 (the child's own)
    # The parent may have been examining when it forked, and its threads are gone.
    _examining = Lock()
    _threads.clear()
    _consumers.clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch (not on Windows)
    os.register_at_fork(after_in_child=_restart_in_child)
