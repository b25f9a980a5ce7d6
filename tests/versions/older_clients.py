"""A pytest plugin under which one suite runs with every supported version of openai.

Loaded by `scripts/matrix.py`. It gives older clients the names that the tests use,
and leaves out, by name and with the reason, what an older client cannot do at all.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from inspect import getsource, signature
from typing import TYPE_CHECKING, Any

import openai

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def _uses_httpx() -> bool:
    return "httpx2" not in sys.modules


def _rename() -> None:
    if _uses_httpx():
        # The two have one interface; openai 3 moved from the first to the second.
        import httpx

        sys.modules["httpx2"] = httpx
    if not hasattr(openai, "omit"):
        openai.omit = openai.NOT_GIVEN
    from openai.resources.chat import completions

    if not hasattr(completions.Completions, "stream"):
        from openai.resources.beta.chat import completions as beta

        for name in ("stream", "parse"):
            for kind in ("Completions", "AsyncCompletions"):
                setattr(
                    getattr(completions, kind),
                    name,
                    getattr(getattr(beta, kind), name),
                )


_HAD_HTTPX = _uses_httpx()

LEFT_OUT: tuple[tuple[str, Callable[[], bool], tuple[str, ...]], ...] = (
    (
        "this client has no Responses API",
        lambda: not hasattr(openai.OpenAI, "responses"),
        ("the_responses_api", "responses-", "-responses", "[responses"),
    ),
    (
        "this client hands on the HTTP library's own exception while a stream is read",
        lambda: _HAD_HTTPX,
        ("connection dropped", "read timeout", "disconnect@", "stall@"),
    ),
    (
        "this client leaves a response open whose stream was not read to its end",
        lambda: "close()" not in getsource(openai.Stream.__stream__),
        ("connection_is_free_again", "connection_given_back"),
    ),
    (
        "this client sends no body of bytes",
        lambda: "content" not in signature(openai.OpenAI.post).parameters,
        ("a_body_of_bytes",),
    ),
)

_left_out: dict[str, int] = {}


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    for reason, applies, fragments in LEFT_OUT:
        if not applies():
            continue
        named = [i for i in items if any(part in i.name for part in fragments)]
        _left_out[reason] = len(named)
        config.hook.pytest_deselected(items=named)
        items[:] = [item for item in items if item not in named]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    versions = (f"{name} {version(name)}" for name in ("openai", "opentelemetry-sdk"))
    terminalreporter.write_line(", ".join(versions))
    for reason, number in _left_out.items():
        terminalreporter.write_line(f"left out: {number}, since {reason}")


_rename()
