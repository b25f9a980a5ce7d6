"""Asking for usage: the one thing that is changed on the wire."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from otel_specdecode.instrumentation.options import (
    Options,
    RawUsagePolicy,
    UsagePolicy,
)
from otel_specdecode.instrumentation.request_view import (
    RequestView,
    given,
    mapping_or_empty,
)


def should_ask(view: RequestView, options: Options) -> bool:
    """Say whether this stream gets `include_usage` that its caller did not ask for."""
    if not given(view.body.get("stream")):
        # A body of bytes, which the client sends as it is; or one that asks for no
        # stream, however the answer is read. Servers refuse the option there.
        return False
    if view.raw_mode == "stream" and options.raw_usage is RawUsagePolicy.NEVER:
        return False
    stream_options = given(view.body.get("stream_options"))
    if stream_options is not None and not isinstance(stream_options, Mapping):
        # Whatever that is, the server shall say so and not we.
        return False
    wish = view.caller_wants_usage
    if options.usage is UsagePolicy.UNSET:
        return wish is None
    return options.usage is UsagePolicy.ALWAYS and not wish


def asking(request_options: Any, view: RequestView, options: Options) -> Any:
    """Return a copy of the client's request options that asks for usage.

    `stream_options` is merged where the caller put it: in `extra_body`, or among
    the arguments. Nothing of the caller's is changed in place.
    """
    callers_own = mapping_or_empty(given(view.body.get("stream_options")))
    merged = {**callers_own, "include_usage": True}
    if options.continuous_usage:
        merged["continuous_usage_stats"] = True
    return _with_field(request_options, "stream_options", merged)


def asking_for_token_ids(request_options: Any, view: RequestView) -> Any:
    """Return a copy that asks vLLM for token ids, unless the caller decided."""
    if "return_token_ids" in view.body:
        return request_options
    return _with_field(request_options, "return_token_ids", value=True)


def with_headers(request_options: Any, headers: Mapping[str, str]) -> Any:
    """Return a copy with headers added to the caller's."""
    edited = copy.copy(request_options)
    edited.headers = {**mapping_or_empty(edited.headers), **headers}
    return edited


def with_parser(request_options: Any, parse: Callable[[Any], Any]) -> Any:
    """Return a copy whose answer is parsed by this for the caller."""
    edited = copy.copy(request_options)
    edited.post_parser = parse
    return edited


def _with_field(request_options: Any, field: str, value: object) -> Any:
    edited = copy.copy(request_options)
    extra = edited.extra_json
    if isinstance(extra, Mapping) and field in extra:
        edited.extra_json = {**extra, field: value}
    else:
        edited.json_data = {**(edited.json_data or {}), field: value}
    return edited
