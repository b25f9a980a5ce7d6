"""What a program gave as text, so that two runs of it can be compared."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

_UNIQUE = re.compile(
    r"(chatcmpl|cmpl|resp|msg|call|run|lc_run-|req)[-_]+[0-9a-f]{6,}[\w-]*"
    r"|resp_[\w+/=-]{20,}"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|0x[0-9a-f]+"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.+:Z]*"
)
_OF_ONE_RUN = re.compile(
    r"(created|created_at|timestamp|date|_?hidden_params|_response_ms|duration\w*"
    r"|start_time|end_time|received_at|completion_start_time|timing|timings"
    r"|\w+_ms|tokens_per_second"
    # vLLM puts it on the chunk that is hidden: docs/servers.md.
    r"|system_fingerprint)$"
)


def comparable(value: Any) -> str:
    """A value as text, less ids and times, which differ from run to run."""
    text = json.dumps(_plain(value, set()), indent=1, sort_keys=True, default=repr)
    return _UNIQUE.sub("<unique>", text)


def _plain(value: Any, above: set[int]) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if id(value) in above:
        return "<above>"
    above = above | {id(value)}
    members = _members(value)
    if members is not None:
        return {
            str(name): _plain(each, above)
            for name, each in members.items()
            if not _OF_ONE_RUN.match(str(name))
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, above) for each in value]
    return repr(value)


def _members(value: Any) -> Mapping[Any, Any] | None:
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value) if each.repr]
        return {name: getattr(value, name) for name in names}
    if hasattr(type(value), "model_fields"):
        # Not `model_dump`: a framework's own may leave out what it shows its callers.
        return {**dict(value), **(getattr(value, "__pydantic_extra__", None) or {})}
    return None
