"""At DEBUG, each request says in one line why it has no acceptance."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openai
import pytest

import otel_specdecode
from otel_specdecode.simulator import Profile, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

LOGGER = "otel_specdecode"
PROMPT = "canary-prompt"
KEY = "canary-key"


def lines_of(
    profile: Profile, caplog: pytest.LogCaptureFixture, **more: Any
) -> list[str]:
    """The lines of one streamed request, with its port taken out."""
    caplog.set_level(logging.DEBUG, LOGGER)
    with simulate(replace(profile, time_scale=0)) as sim:
        client = otel_specdecode.wrap(
            openai.OpenAI(base_url=sim.base_url, api_key=KEY, max_retries=0)
        )
        answer = client.chat.completions.create(
            model=sim.model,
            messages=[{"role": "user", "content": PROMPT}],
            **{"stream": True, "max_tokens": 21, **more},
        )
        if isinstance(answer, openai.Stream):
            list(answer)
        port = str(sim.base_url.rpartition(":")[2].partition("/")[0])
    return [
        record.getMessage().replace(port, "PORT")
        for record in caplog.records
        if record.name == LOGGER and record.levelno == logging.DEBUG
    ]


MTP = named_profile("mtp")
NO_USAGE = (
    "engine unknown; acceptance absent:"
    " no usage arrived, and the statistics come with it"
)


@pytest.mark.parametrize(
    ("profile", "usage", "why"),
    [
        (
            MTP,
            "usage forced, output tokens 21",
            "engine vllm; acceptance present: 14 of 14 draft tokens in 7 spec steps",
        ),
        (
            named_profile("plain"),
            "usage forced, output tokens 21",
            (
                "engine unknown; acceptance absent:"
                " the response carries no statistics of a known server"
            ),
        ),
        (replace(MTP, usage="absent"), "usage absent, output tokens unknown", NO_USAGE),
        (
            replace(MTP, simulate="refuse=azure"),
            "usage refused, output tokens unknown",
            NO_USAGE,
        ),
        (
            replace(MTP, payload="none", timing_fields=True),
            "usage forced, output tokens 21",
            (
                "engine vllm; acceptance absent:"
                " vllm reports no speculation for this request"
            ),
        ),
    ],
    ids=["present", "plain", "no usage", "refused", "no flag"],
)
def test_the_line_of_a_stream_says_why(
    profile: Profile, usage: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    (line,) = lines_of(profile, caplog)
    assert line == (
        f"chat spec-demo from 127.0.0.1:PORT: stream, completed; {usage}; {why}"
    )
    assert PROMPT not in caplog.text
    assert KEY not in caplog.text


def test_the_line_of_several_choices_says_that_there_can_be_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (line,) = lines_of(MTP, caplog, n=2, stream=False)
    assert line == (
        "chat spec-demo from 127.0.0.1:PORT: whole answer, completed;"
        " usage requested, output tokens 42; engine unknown;"
        " acceptance not_applicable: servers report none for 2 choices together"
    )


def test_nothing_is_formatted_when_debug_is_off(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caplog, "set_level", lambda *_: None)
    logging.getLogger(LOGGER).setLevel(logging.INFO)
    try:
        assert lines_of(MTP, caplog) == []
    finally:
        logging.getLogger(LOGGER).setLevel(logging.NOTSET)


def test_a_filter_that_raises_costs_neither_the_call_nor_the_record(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: logging.LogRecord) -> bool:
        raise ZeroDivisionError

    logger = logging.getLogger(LOGGER)
    refuse: Callable[[logging.LogRecord], bool] = fail
    logger.addFilter(refuse)
    try:
        with otel_specdecode.capture() as records:
            lines_of(MTP, caplog)
    finally:
        logger.removeFilter(refuse)
    assert [record.num_output_tokens for record in records] == [21]
