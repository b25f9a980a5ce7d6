"""Streams that no honest server sends, and an oracle that reads them by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

HUGE = 10**400
HOSTILE = [
    None,
    True,
    False,
    -1,
    0,
    1,
    7,
    10**9 + 1,
    HUGE,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "7",
    "stop",
    "x" * 2000,
    [],
    [None],
    [1, 2],
    [[1]],
    {},
    {"a": 1},
    {"content": "x"},
]
hostile = st.sampled_from(HOSTILE)

SPEC: Json = {
    "mean_acceptance_length": 3.0,
    "draft_acceptance_rate": 1.0,
    "acceptance_histogram": [0, 0, 2],
    "num_spec_steps": 2,
    "num_accepted_draft_tokens": 4,
    "num_draft_tokens": 4,
    "num_spec_tokens": 2,
    "per_step_accepted": [2, 2],
    "per_step_drafted": [2, 2],
}
TIMES: Json = {
    "queue_time_ms": 1.0,
    "time_to_first_token_ms": 2.0,
    "generation_time_ms": 3.0,
}


def _bent(base: Json) -> st.SearchStrategy[Json]:
    """The object with some fields exchanged, and some left out."""
    names = st.sampled_from(sorted(base))
    return st.tuples(
        st.dictionaries(names, hostile, max_size=2), st.sets(names, max_size=1)
    ).map(
        lambda change: {
            name: value
            for name, value in {**base, **change[0]}.items()
            if name not in change[1]
        }
    )


_spec = st.just(SPEC) | _bent(SPEC) | hostile
_metrics = st.one_of(
    _spec.map(lambda spec: {"speculative_decoding": spec}),
    st.tuples(_spec, _bent(TIMES)).map(
        lambda both: {"speculative_decoding": both[0], **both[1]}
    ),
    hostile,
)
_usage = st.one_of(
    st.integers(0, 40).map(
        lambda n: {"prompt_tokens": 5, "completion_tokens": n, "total_tokens": 5 + n}
    ),
    _bent({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}),
    hostile,
)
_delta = st.one_of(
    st.sampled_from(
        [
            {"content": "one"},
            {"content": ""},
            {"role": "assistant", "content": ""},
            {"reasoning_content": "why"},
            {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]},
        ]
    ),
    _bent({"role": "assistant", "content": "one", "tool_calls": None}),
    hostile,
)
_choice = st.one_of(
    st.builds(
        lambda delta, finish: {"index": 0, "delta": delta, "finish_reason": finish},
        _delta,
        st.sampled_from([None, None, None, "stop"]),
    ),
    _bent({"index": 0, "delta": {"content": "x"}, "text": "x", "token_ids": [1]}),
    hostile,
)
_chunk_base: Json = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "spec-demo",
}


@st.composite
def chunks(draw: st.DrawFn) -> Any:
    """One event's JSON: a chunk, mostly."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(hostile)
    chunk = dict(_chunk_base) if kind < 8 else draw(_bent(_chunk_base))
    chunk["choices"] = draw(
        st.lists(_choice, max_size=2) if kind < 9 else hostile | st.just([])
    )
    if draw(st.booleans()):
        chunk["usage"] = draw(_usage)
        chunk["metrics"] = draw(_metrics)
    return chunk


def as_event(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


_lines = st.sampled_from(
    [
        b": keep-alive\n\n",
        b"data: {broken\n\n",
        b'data: {"error": {"message": "gone"}}\n\n',
        b'data: "\xff"\n\n',
        b"data: " + b"[" * 20_000 + b"\n\n",
        b"data: [DONE]\n\n",
        b"event: metrics\n",
        b"\n\n",
        b"\r\n",
    ]
)


@st.composite
def bodies(draw: st.DrawFn) -> list[bytes]:
    """A stream's events, one after another; most are JSON."""
    events = draw(
        st.lists(st.one_of(*[chunks().map(as_event)] * 4, _lines), max_size=8)
    )
    return [*events, b"data: [DONE]\n\n"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What stands on the wire, found without any code of the package.

    Attributes:
        num_events: JSON events up to `[DONE]`, an error or what is no JSON.
        output_tokens: every valid count of output tokens, in order.
        read_output_tokens: the same with what the client, and so the caller, takes
            for a count: it reads `true` as 1, and `"7"` as 7.
        statistics: every object of statistics, in order.
    """

    num_events: int
    output_tokens: tuple[int, ...]
    read_output_tokens: tuple[int, ...]
    statistics: tuple[Any, ...]


def _may_carry_statistics(chunk: Json) -> bool:
    """Servers put them beside usage, or on a chunk of their own."""
    return chunk.get("usage") is not None or not chunk.get("choices")


def _is_text_of_a_count(value: Any) -> bool:
    return isinstance(value, str) and value.isdecimal()


def _is_valid(count: int) -> bool:
    return 0 <= count <= 10**9


def truth_of(body: bytes) -> Truth:
    """Read a body as the format says."""
    payloads: list[Any] = []
    for line in body.splitlines():
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data.startswith(b"[DONE]"):
            break
        try:
            payload = json.loads(data.decode())
        except (ValueError, RecursionError):
            break
        if isinstance(payload, dict) and payload.get("error"):
            break
        payloads.append(payload)
    objects = [payload for payload in payloads if isinstance(payload, dict)]
    usages = [one["usage"] for one in objects if isinstance(one.get("usage"), dict)]
    # Of a block of nothing but zeros nothing is known.
    tokens = [
        usage.get("completion_tokens")
        for usage in usages
        if usage.get("completion_tokens") or usage.get("prompt_tokens")
    ]
    metrics = [
        one["metrics"]
        for one in objects
        if isinstance(one.get("metrics"), dict) and _may_carry_statistics(one)
    ]
    read = [int(t) for t in tokens if isinstance(t, int) or _is_text_of_a_count(t)]
    return Truth(
        num_events=len(payloads),
        output_tokens=tuple(t for t in tokens if type(t) is int and _is_valid(t)),
        read_output_tokens=tuple(filter(_is_valid, read)),
        statistics=tuple(
            stats
            for one in metrics
            if (stats := one.get("speculative_decoding")) is not None
        ),
    )
