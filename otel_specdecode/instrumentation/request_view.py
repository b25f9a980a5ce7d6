"""What a call asks for, read from the client's own request options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from otel_specdecode.recording.exportable import exportable_text

RAW_RESPONSE_HEADER = "x-stainless-raw-response"

# The client's sentinels for "not given": their names, since the classes moved.
_SENTINELS = frozenset({"NotGiven", "Omit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One of the endpoints that are observed.

    Attributes:
        path: how the request's path ends.
        operation: `gen_ai.operation.name`.
        takes_stream_options: whether `include_usage` may be asked for.
        reports_acceptance: whether servers put acceptance into its responses.
    """

    path: str
    operation: str
    takes_stream_options: bool
    reports_acceptance: bool


CHAT = Endpoint(
    path="/chat/completions",
    operation="chat",
    takes_stream_options=True,
    reports_acceptance=True,
)
COMPLETIONS = Endpoint(
    path="/completions",
    operation="text_completion",
    takes_stream_options=True,
    reports_acceptance=True,
)
RESPONSES = Endpoint(
    path="/responses",
    operation="chat",
    takes_stream_options=False,
    reports_acceptance=False,
)
# The first whose path fits; "/chat/completions" ends in "/completions" as well.
ENDPOINTS = (CHAT, COMPLETIONS, RESPONSES)


@lru_cache(maxsize=256)
def endpoint_of(method: str, url: str) -> Endpoint | None:
    """Return the observed endpoint that a request goes to, if any."""
    if method.lower() != "post":
        return None
    path = url.partition("?")[0].rstrip("/")
    return next((e for e in ENDPOINTS if path.endswith(e.path)), None)


# Not frozen, as values are elsewhere: that costs a call a field, in every request.
@dataclass(slots=True, kw_only=True, eq=False)
class RequestView:
    """What one call asks for. Nothing of it changes.

    Attributes:
        endpoint: where it goes.
        streaming: whether the caller asked for a stream.
        raw_mode: `None` for a parsed answer, `true` for `with_raw_response`,
            `stream` for `with_streaming_response`.
        body: the effective request body, `extra_body` merged in as the client
            does; never changed, never recorded.
        model: the model that is asked for; `None` when none is named.
        num_choices: how many choices will be answered: n times the number of prompts.
    """

    endpoint: Endpoint
    streaming: bool
    raw_mode: str | None
    # A prompt has no place in a repr, which tracebacks may show.
    body: Mapping[str, Any] = field(repr=False)
    model: str | None = field(init=False)
    num_choices: int = field(init=False)

    def __post_init__(self) -> None:
        model, n = self.body.get("model"), self.body.get("n")
        self.model = exportable_text(model) if isinstance(model, str) else None
        self.num_choices = n if type(n) is int and n > 0 else 1
        if self.endpoint is COMPLETIONS:
            self.num_choices *= _num_prompts(self.body.get("prompt"))

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """What the answer is to end before, where the caller says so."""
        stop = self.body.get("stop")
        if isinstance(stop, str):
            return (stop,)
        if not isinstance(stop, list):
            return ()
        return tuple(s for s in cast("list[object]", stop) if isinstance(s, str))

    @property
    def has_tools(self) -> bool:
        """Whether a tool parser may hold back text."""
        return bool(self.body.get("tools") or self.body.get("functions"))

    @property
    def caller_wants_usage(self) -> bool | None:
        """The caller's `include_usage`; `None` when unset."""
        wish = given(self._stream_options.get("include_usage"))
        return None if wish is None else bool(wish)

    @property
    def caller_wants_continuous(self) -> bool:
        """Whether the caller asks for usage on every chunk, as vLLM offers it."""
        return bool(given(self._stream_options.get("continuous_usage_stats")))

    @property
    def _stream_options(self) -> Mapping[str, Any]:
        return mapping_or_empty(given(self.body.get("stream_options")))


def view_request(options: Any, *, stream: bool) -> RequestView | None:
    """Read a request that the client is about to send.

    Args:
        options: the client's `FinalRequestOptions`.
        stream: whether the client was asked for a stream.

    Returns:
        `None` when the endpoint is none of those observed.
    """
    endpoint = endpoint_of(options.method, options.url)
    if endpoint is None:
        return None
    body = mapping_or_empty(options.json_data)
    if options.extra_json is not None:
        body = {**body, **mapping_or_empty(options.extra_json)}
    return RequestView(
        endpoint=endpoint,
        streaming=stream,
        raw_mode=header_of(options.headers, RAW_RESPONSE_HEADER),
        body=body,
    )


def _num_prompts(prompt: object) -> int:
    if not isinstance(prompt, list) or not prompt:
        return 1
    prompts = cast("list[object]", prompt)
    # A list of integers is one prompt of token ids.
    return 1 if isinstance(prompts[0], int) else len(prompts)


def mapping_or_empty(value: object) -> Mapping[str, Any]:
    """Return the value where it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def given(value: object) -> object | None:
    """Return the value, or `None` for `None` and the client's sentinels."""
    return None if type(value).__name__ in _SENTINELS else value


def header_of(headers: object, name: str) -> str | None:
    """Look up a request header whatever its case; `None` when it is not there."""
    if not isinstance(headers, Mapping):
        return None
    for key, value in cast("Mapping[object, object]", headers).items():
        if isinstance(key, str) and key.lower() == name and isinstance(value, str):
            return value
    return None


def has_header(headers: object, name: str) -> bool:
    """Say whether a request header is set or, by a sentinel, to be left out."""
    names = mapping_or_empty(headers)
    return any(isinstance(key, str) and key.lower() == name for key in names)  # pyright: ignore[reportUnnecessaryIsInstance] (the caller's)
