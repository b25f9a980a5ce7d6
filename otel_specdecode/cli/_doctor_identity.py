"""Which server is this, and what does its `/metrics` page show?

Kinds are told by what only they send: `owned_by` of a model card (vLLM, SGLang,
llama.cpp), the prefix of their metric families, or a header of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from otel_specdecode.cli._doctor_http import Reply

VLLM = "vLLM"
LITELLM = "LiteLLM proxy"
_OWNERS = {"vllm": VLLM, "sglang": "SGLang", "llamacpp": "llama.cpp"}
_PREFIXES = {
    "vllm": VLLM,
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "lmdeploy": "LMDeploy",
    "trtllm": "TensorRT-LLM",
}
_LITELLM_HEADER = "x-litellm-version"
_FAMILY = re.compile(r"^([a-z]+)[:_][a-zA-Z0-9_]+[{ ]", re.MULTILINE)
_DRAFTS = re.compile(
    r"^[a-z]+[:_]spec_decode_num_draft_tokens(?:_total)?(?:\{[^\n]*\})? (\S+)",
    re.MULTILINE,
)
_BUILD = re.compile(
    r'^[a-zA-Z0-9_:]*build_info\{[^\n]*\bversion="([^"\n]{1,60})"', re.MULTILINE
)
_LONGEST_VERSION = 60


class SpecFamilies(StrEnum):
    """What a `/metrics` page says of speculation."""

    PRESENT = "present"
    ABSENT = "absent"
    """The engine's families are there, and none of speculation."""
    DISABLED = "disabled"
    """A page without a family of the engine."""
    NO_PAGE = "no_page"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsPage:
    """What the page shows.

    Attributes:
        speculation: whether draft tokens are counted there.
        num_draft_tokens: all that were, over engines and models; `None` when
            they are not counted.
        why: why there is no page; `None` when there is.
    """

    speculation: SpecFamilies
    num_draft_tokens: int | None = None
    why: str | None = None


def read_metrics(reply: Reply) -> MetricsPage:
    """Read the page of the engine's counters."""
    text = _text(reply)
    if text is None:
        kind = reply.headers.get("content-type", "no content type")
        why = f"answered {reply.status} with {kind}" if reply.status else reply.failure
        return MetricsPage(speculation=SpecFamilies.NO_PAGE, why=why)
    drafts = [_number(found) for found in _DRAFTS.findall(text)]
    counted = [number for number in drafts if number is not None]
    if counted:
        return MetricsPage(
            speculation=SpecFamilies.PRESENT, num_draft_tokens=int(sum(counted))
        )
    known = _prefixes(text) & set(_PREFIXES)
    return MetricsPage(
        speculation=SpecFamilies.ABSENT if known else SpecFamilies.DISABLED
    )


def recognise(
    models: Reply, version: Reply, metrics: Reply
) -> tuple[str | None, str | None]:
    """Return kind and version of a server; `None` for what it does not say."""
    for reply in (models, version, metrics):
        if (litellm := reply.headers.get(_LITELLM_HEADER)) is not None:
            return LITELLM, litellm[:_LONGEST_VERSION]
    page = _text(metrics) or ""
    return _kind(models, page), _version(version) or _build(page)


def models_of(reply: Reply) -> tuple[str, ...] | None:
    """Return the names of the served models; `None` when it is no list of models."""
    cards = _cards(reply)
    if cards is None:
        return None
    names = (card.get("id") for card in cards)
    return tuple(name for name in names if isinstance(name, str))


def _cards(reply: Reply) -> list[Mapping[str, Any]] | None:
    payload = reply.json() if reply.succeeded else None
    if not isinstance(payload, Mapping):
        return None
    data: object = cast("Mapping[str, object]", payload).get("data")
    if not isinstance(data, list):
        return None
    cards = cast("list[object]", data)
    return [cast("Mapping[str, Any]", card) for card in cards if _is_mapping(card)]


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _kind(models: Reply, page: str) -> str | None:
    for card in _cards(models) or ():
        owner = card.get("owned_by")
        if isinstance(owner, str) and owner in _OWNERS:
            return _OWNERS[owner]
    shown = _prefixes(page)
    return next((kind for prefix, kind in _PREFIXES.items() if prefix in shown), None)


def _version(reply: Reply) -> str | None:
    payload = reply.json() if reply.succeeded else None
    if not isinstance(payload, Mapping):
        return None
    version: object = cast("Mapping[str, object]", payload).get("version")
    return version[:_LONGEST_VERSION] if isinstance(version, str) else None


def _build(page: str) -> str | None:
    found = _BUILD.search(page)
    return None if found is None else found[1]


def _prefixes(page: str) -> set[str]:
    return set(_FAMILY.findall(page))


def _text(reply: Reply) -> str | None:
    """Return a page of metrics; HTML and JSON are none."""
    if not reply.succeeded or reply.body.lstrip()[:1] in {b"<", b"{", b"["}:
        return None
    return reply.body.decode(errors="replace")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e18 else None
