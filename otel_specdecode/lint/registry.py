"""The rules, in the order of their codes.

A rule's module is imported when the rule is first asked for: the check at run time
needs two of them, in programs that never asked for a linter.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from otel_specdecode.lint.findings import Finding
from otel_specdecode.lint.source import Source

CODES = (
    "SPD001", "SPD002", "SPD003", "SPD004", "SPD005", "SPD006",
    "SPD901", "SPD902", "SPD903", "SPD904",
)  # fmt: skip
DOCS = "https://github.com/otel-specdecode/otel-specdecode/blob/main/docs/lint/rules"
_OF_TEXT = ("SPD901",)
UNREADABLE = "SPD000"
"""Code of the finding for a file that is not readable as Python."""

_STREAM_USES = (
    '"stream"', "'stream'", ".stream", ".astream", "iter_lines", "readline",
    "response_gen", "on_llm_new_token", "__anext__", "_sse", ".delta", '"delta"',
    "'delta'", "iter_content", "iter_bytes", "iter_text", "iter_raw", "iter_any",
    "iter_chunk", "[DONE]", "events()", "text_stream", "_stream(", "stream_",
    "get_streaming_",
)  # fmt: skip
_STREAM_USE = re.compile(r"stream(?:\w*\s*[:)\]}]|\s*=\s*[^\s=]|\w*\s+(?:if|for)\b)")
"""An expression that starts with a word is looked for as fast as the word is."""
_STREAM_WORDS = (
    "stream", "iter_", "readline", "response_gen", "on_llm_new_token", "__anext__",
    "_sse", "delta", "[DONE]", "events()",
)  # fmt: skip
_MODEL_WORDS = (
    "completions.create", "completions.stream", "completions.parse",
    "completions.with_", ".completions", "/completions", "ChatCompletion",
    '"choices"', "'choices'", ".choices",
    "openai", "litellm", "langchain", "llama_index", "response_gen", "on_llm_new_token",
    "anthropic", "genai", "responses.create", "responses.stream", "on_token",
    '"messages"', "'messages'", "messages=", '"prompt"', "'prompt'", '"response.',
    "on_chat_model_stream", "pydantic_ai", "dspy", "autogen", "langgraph",
    "tok/s", "okens/s", "_tps", " tps", '"tps', "'tps", "okens_per_s", "ok_per_s",
)  # fmt: skip


def reads_a_stream(text: str) -> bool:
    """Whether a source can hold a stream of an LLM's answer; cheap, no parsing."""
    # Substrings: they are found ten times faster than an expression of alternatives.
    return (
        any(word in text for word in _STREAM_WORDS)
        and any(word in text for word in _MODEL_WORDS)
        and (any(u in text for u in _STREAM_USES) or bool(_STREAM_USE.search(text)))
    )


def measures_text(text: str) -> bool:
    """Whether a source can measure the text that a model wrote."""
    return "len(" in text and any(word in text for word in _MODEL_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the linter.

    Attributes:
        code: such as `SPD001`.
        name: in words, with hyphens.
        summary: one line.
        documentation: Markdown, the page in `docs/lint/rules/`.
        is_default: on unless it is ignored.
        may_apply: tells from a source's text, without parsing, whether the rule can
            find anything in it.
        needs_stream: finds nothing in a file without a stream of chunks.
        check: finds the places the rule objects to.
    """

    code: str
    name: str
    summary: str
    documentation: str
    is_default: bool
    may_apply: Callable[[str], bool]
    needs_stream: bool
    check: Callable[[Source], Iterable[Finding]]

    @property
    def url(self) -> str:
        """The rule's page."""
        return f"{DOCS}/{self.code}.md"


def all_rules() -> tuple[Rule, ...]:
    """Every rule."""
    return tuple(map(_rule, CODES))


def rule_of(code: str) -> Rule | None:
    """The rule of a code; `None` where there is none."""
    return _rule(code) if code in CODES else None


@lru_cache
def _rule(code: str) -> Rule:
    module = import_module(f"otel_specdecode.lint.rules.{code.lower()}")
    name: str = module.NAME
    usually = measures_text if code in _OF_TEXT else reads_a_stream
    may_apply: Callable[[str], bool] = getattr(module, "may_apply", usually)
    summary, _, body = (inspect.getdoc(module) or "").partition("\n")
    return Rule(
        code=code,
        name=name,
        summary=summary.rstrip("."),
        documentation=f"# {summary.rstrip('.')} ({code})\n\n`{name}`\n{body}\n",
        is_default=is_default(code),
        may_apply=may_apply,
        # Text is measured in answers that come whole, too.
        needs_stream=may_apply is not measures_text,
        check=module.check,
    )


def is_default(code: str) -> bool:
    """Whether a rule is on unless it is ignored."""
    return not code.startswith("SPD9")


def known_prefix(code: str) -> bool:
    """Whether an option's value names at least one rule."""
    return any(is_meant(known, code) for known in CODES)


def can_be_ignored(code: str) -> bool:
    """Whether an option's value names a rule, or files that cannot be read."""
    return known_prefix(code) or is_meant(UNREADABLE, code)


def is_meant(code: str, prefix: str) -> bool:
    """Whether a rule is among those that an option's value names."""
    return prefix == "ALL" or code.startswith(prefix)


def selected(
    select: Iterable[str], ignore: Iterable[str], extend: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """The rules that a set of options switches on.

    Args:
        select: codes or their beginnings; empty for the default rules. `ALL` is all.
        ignore: codes or their beginnings; wins over `select` unless it is shorter.
        extend: added to what `select` chose.
    """
    return _selected(tuple(select), tuple(ignore), tuple(extend))


@lru_cache(maxsize=64)
def _selected(
    chosen: tuple[str, ...], dropped: tuple[str, ...], added: tuple[str, ...]
) -> tuple[Rule, ...]:
    def reach(code: str, prefixes: Iterable[str]) -> int:
        lengths = [
            0 if prefix == "ALL" else len(prefix)
            for prefix in prefixes
            if is_meant(code, prefix)
        ]
        return max(lengths, default=-1)

    rules: list[Rule] = []
    for code in CODES:
        wanted = max(reach(code, chosen), reach(code, added))
        if not chosen and is_default(code):
            wanted = max(wanted, 0)
        if wanted > reach(code, dropped):
            rules.append(_rule(code))
    return tuple(rules)
