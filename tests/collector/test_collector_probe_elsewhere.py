"""The probe tells a receiver from what else may stand at its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from loopback import Quiet, serving

from otel_specdecode.collector.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Sequence


def sent_on(status: int, token: str) -> tuple[Sequence[str], list[str]]:
    """What the probe said, and what came to where it was sent on to."""
    came: list[str] = []

    class Login(Quiet):
        def get(self) -> None:
            came.append(self.headers.get("Authorization", ""))
            self.reply()

        def post(self, body: bytes) -> None:
            self.get()

    with serving(Login) as login:

        class Elsewhere(Quiet):
            def post(self, body: bytes) -> None:
                self.redirect(f"{login}/login", status=status)

        with serving(Elsewhere) as url:
            answers = Probe(endpoint=url, token=token).run()
    assert not any(one.passed for one in answers)
    return [one.detail.replace(login, "") for one in answers], came


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_what_was_posted_and_its_token_go_nowhere_else(status: int) -> None:
    said, came = sent_on(status, "made-up")
    assert said == ["refused: sends to /login; is that the receiver's address?"] * 2
    assert came == []


def test_a_page_of_its_own_is_no_receiver() -> None:
    class Page(Quiet):
        def post(self, body: bytes) -> None:
            self.reply(b"<html>Sign in</html>", kind="text/html")

    with serving(Page) as url:
        answers = Probe(endpoint=url).run()
    assert [one.passed for one in answers] == [False, False]
    assert answers[0].detail.startswith("answered, but not as a receiver of OTLP does")
