"""The function that consumes a stream, and whether it takes chunks for tokens.

The first stream of a function has it examined by the linter's engine, in a thread of
our own and once for each (file, first line, qualified name): code objects compare by
value, so they are no key. A generator that hands chunks on is examined with whoever
iterates it. A program whose source cannot be found stays unexamined.
"""

from __future__ import annotations

import atexit
import os
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR
from pathlib import Path
from threading import Lock, Thread
from types import CodeType
from typing import TYPE_CHECKING

from otel_specdecode.errors import ChunkCountWarning
from otel_specdecode.instrumentation._guard import attempt, warn
from otel_specdecode.instrumentation.callsite import calling_frame
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.engine import findings_in
from otel_specdecode.model import ChunkCountSite, RequestRecord
from otel_specdecode.recording import Recorder

if TYPE_CHECKING:
    from otel_specdecode.lint.findings import Finding

_RULES = ("SPD001", "SPD002")
# Frames of their own before Python 3.12; the function around them is what counts.
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_MOST_CONSUMERS = 2000
_LONGEST_WAIT_S = 5.0
_HANDS_ON = CO_GENERATOR | CO_ASYNC_GENERATOR
_MOST_GENERATORS = 6
"""One that feeds another: deeper is a pipeline of the program's own."""
CodeKey = tuple[str, int, str]
ConsumerKey = tuple[CodeKey, ...]


@dataclass(slots=True, kw_only=True)
class Consumer:
    """One function that consumes streams.

    Attributes:
        site: what the engine found; `None` where nothing, or not yet.
        first: the first finished stream whose undercount factor is known, that
            factor, and the recorder; `None` until there is one.
        reported: whether its one warning was given.
        lock: held while one of two threads decides to give it.
    """

    site: ChunkCountSite | None = None
    first: tuple[RequestRecord, float, Recorder] | None = None
    reported: bool = False
    lock: Lock = field(default_factory=Lock)


_consumers: dict[ConsumerKey, Consumer] = {}
_threads: list[Thread] = []
_examining = Lock()


def consumer_here() -> Consumer | None:
    """Return the function that asks for the first chunk; `None` where unknown.

    Call it from the step itself: the function is found on the stack.
    """
    codes = _reading_codes()
    if not codes:
        return None
    key = tuple((c.co_filename, c.co_firstlineno, c.co_qualname) for c in codes)
    consumer = _consumers.get(key)
    if consumer is None:
        if len(_consumers) >= _MOST_CONSUMERS:
            return None
        consumer = _consumers.setdefault(key, Consumer())
        _start_examining(codes, consumer)
    return consumer


def _reading_codes() -> list[CodeType]:
    """Generators that hand the chunks on, innermost first, and who iterates them."""
    codes: list[CodeType] = []
    frame = calling_frame()
    while frame is not None and len(codes) <= _MOST_GENERATORS:
        code = frame.f_code
        if code.co_name not in _COMPREHENSIONS:
            codes.append(code)
            if not code.co_flags & _HANDS_ON:
                break
        frame = frame.f_back
    return codes


def finish(consumer: Consumer, record: RequestRecord, recorder: Recorder) -> None:
    """Note a finished stream of a consumer, and warn if it is the first to tell."""
    factor = record.undercount_factor
    if consumer.first is None and factor is not None:
        consumer.first = record, factor, recorder
    _report(consumer)


def _start_examining(codes: list[CodeType], consumer: Consumer) -> None:
    if not _threads:
        atexit.register(_wait_for_threads)
    thread = Thread(
        target=attempt,
        args=("examining a consumer", _examine, codes, consumer),
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


def _examine(codes: list[CodeType], consumer: Consumer) -> None:
    # One at a time: functions of one file share what is found in it.
    with _examining:
        consumer.site = _site_in(codes)
    _report(consumer)


def _site_in(codes: list[CodeType]) -> ChunkCountSite | None:
    findings = _findings(tuple(dict.fromkeys(code.co_filename for code in codes)))
    *generators, reader = codes
    for finding in findings:
        named = next((c for c in generators if _is_in(finding, c)), None)
        if named is None and _touches(finding, reader):
            named = reader
        if named is not None and _is_defined_there(named):
            return ChunkCountSite(
                rule=finding.code,
                path=finding.path,
                line=finding.line,
                function=named.co_qualname,
            )
    return None


@lru_cache(maxsize=256)
def _findings(filenames: tuple[str, ...]) -> tuple[Finding, ...]:
    # Not `Path.is_file`, which fails where a name is too long or not to be looked up:
    # code that was compiled from a text may be named in any way.
    paths = [Path(name) for name in filenames if os.path.isfile(name)]  # noqa: PTH113
    if not paths:
        return ()
    return findings_in(paths, _RULES)


def _lines_of(code: CodeType) -> range:
    lines = [line for *_, line in code.co_lines() if line]
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    last = max([code.co_firstlineno, *lines, *(_lines_of(c)[-1] for c in inner)])
    return range(code.co_firstlineno, last + 1)


def _run_by(code: CodeType) -> range | set[int]:
    """Lines that belong to a function; to a module those that no function has."""
    if code.co_name != "<module>":
        return _lines_of(code)
    functions = (
        inner
        for inner in code.co_consts
        if isinstance(inner, CodeType) and inner.co_name not in _COMPREHENSIONS
    )
    return set(_lines_of(code)).difference(*map(_lines_of, functions))


def _is_defined_there(code: CodeType) -> bool:
    """Whether its file still has a function where the running one stands.

    Not if the file was changed meanwhile, nor if other code was run under its name.
    """
    text = Path(code.co_filename).read_text("utf-8", errors="replace")
    lines = text.split("\n")[code.co_firstlineno - 1 : _lines_of(code)[-1]]
    definition = re.compile(rf"\s*(?:async\s+)?def\s+{re.escape(code.co_name)}\b")
    return code.co_name.startswith("<") or any(map(definition.match, lines))


def _is_in(finding: Finding, code: CodeType) -> bool:
    return finding.path == code.co_filename and finding.line in _run_by(code)


def _touches(finding: Finding, code: CodeType) -> bool:
    """Say whether the way from the stream to the rate passes through a function."""
    lines = _run_by(code)
    steps = (step.line for step in finding.steps if step.path == code.co_filename)
    return _is_in(finding, code) or any(line in lines for line in steps)


def _report(consumer: Consumer) -> None:
    with consumer.lock:
        site, first = consumer.site, consumer.first
        if consumer.reported or site is None or first is None:
            return
        consumer.reported = True
    record, factor, recorder = first
    recorder.count_site(site)
    text = _message(site, record, factor)
    try:
        warnings.warn_explicit(text, ChunkCountWarning, site.path, site.line)
    except Warning:
        # `-W error` is for the program's own warnings, and its call shall go on.
        with suppress(Exception):
            warn("%s:%s: %s", site.path, site.line, text)


def _message(site: ChunkCountSite, record: RequestRecord, factor: float) -> str:
    return (
        f"{site.function} takes chunks for tokens"
        f" ({site.rule}): {record.num_content_chunks} chunks carried"
        f" {record.num_output_tokens} tokens: this rate is {_error_of_rate(factor)}."
        f" Use usage.completion_tokens, or otel_specdecode.record_of(stream)."
    )


def _error_of_rate(factor: float) -> str:
    if f"{factor:.2f}" == "1.00":
        return "right on this stream, by chance"
    if factor > 1:
        return f"{factor:.2f} times too low"
    return f"{1 / factor:.2f} times too high"


def _restart_in_child() -> None:
    global _examining  # noqa: PLW0603 (the child's own)
    # The parent may have been examining when it forked, and its threads are gone.
    _examining = Lock()
    _threads.clear()
    _consumers.clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch (not on Windows)
    os.register_at_fork(after_in_child=_restart_in_child)
