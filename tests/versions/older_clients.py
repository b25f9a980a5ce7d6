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
import pytest
from openai import _models

if TYPE_CHECKING:
    from collections.abc import Callable


def _uses_httpx() -> bool:
    return "httpx2" not in sys.modules


def _rename() -> None:
    if _uses_httpx():
        # The two have one interface; openai 3 moved from the first to the second.
        import httpx

        sys.modules["httpx2"] = httpx
    if not hasattr(openai, "omit"):
        openai.omit = openai.NOT_GIVEN
    if not hasattr(openai, "Omit"):
        from openai import _types

        openai.Omit = _types.Omit
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


def _needs_dict_arguments() -> bool:
    try:
        _models.construct_type(type_=dict, value={})
    except ValueError:
        return True
    return False


def _parses_after_the_request() -> bool:
    from openai.resources.chat.completions import Completions

    parse = Completions.parse  # an old client's own, from `beta`, by now
    return ".beta." in parse.__module__ and "post_parser" not in getsource(parse)


_HAD_HTTPX = _uses_httpx()

LEFT_OUT: tuple[tuple[str, Callable[[], bool], tuple[str, ...]], ...] = (
    (
        "this client has no Responses API",
        lambda: not hasattr(openai.OpenAI, "responses"),
        (
            "the_responses_api",
            "responses-",
            "-responses",
            "[responses",
            "(note_identity",
            "a_response_that_failed",
            "a_stream_of_events_that_says_so",
        ),
    ),
    (
        "this client hands on the HTTP library's own exception while a stream is read",
        lambda: _HAD_HTTPX,
        (
            *("connection dropped", "read timeout", "disconnect@", "stall@"),
            "breaks_off_is_an_error",
        ),
    ),
    (
        "this client's HTTP library sends nothing to a URL without a host",
        lambda: _HAD_HTTPX,
        ("absent[socket:///v1]",),
    ),
    (
        "the program of the test is written for httpx2",
        lambda: _HAD_HTTPX,
        ("open_when_the_process_ends",),
    ),
    (
        "this client leaves a response open whose stream was not read to its end",
        lambda: "close()" not in getsource(openai.Stream.__stream__),
        (
            *("connection_is_free_again", "connection_given_back"),
            *("loop_that_began_it", "read_on_before_that_is_recorded"),
        ),
    ),
    (
        "this client builds nothing as a dict of nothing in particular",
        _needs_dict_arguments,
        ("-dict0]",),
    ),
    (
        "this client's HTTP library can hang a thread in which a stream is collected",
        lambda: _HAD_HTTPX,
        ("test_a_soak_of",),
    ),
    (
        "this client's HTTP library has each response in a cycle of its own",
        lambda: _HAD_HTTPX,
        ("goes_with_whoever",),
    ),
    (
        "this client parses an answer after its request, and no raw one",
        _parses_after_the_request,
        ("answer_that_does_not_fit", "a_parser_that_is_called_again"),
    ),
    (
        "this client sends no body of bytes",
        lambda: "content" not in signature(openai.OpenAI.post).parameters,
        ("a_body_of_bytes",),
    ),
)

_left_out: dict[str, int] = {}


@pytest.hookimpl(trylast=True)  # what would not run anyway is not counted
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


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = _left_out


@pytest.hookimpl(optionalhook=True)  # there where tests run side by side
def pytest_testnodedown(node: Any) -> None:
    """Hear of what a worker left out: each has the whole collection."""
    _left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    versions = (f"{name} {version(name)}" for name in ("openai", "opentelemetry-sdk"))
    terminalreporter.write_line(", ".join(versions))
    for reason, number in _left_out.items():
        if number:
            terminalreporter.write_line(f"left out: {number}, since {reason}")


_rename()
