"""The probe ends in time, and says the same of every receiver that is too slow."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from otel_specdecode.cli.collector import command
from otel_specdecode.collector.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
SLOW: dict[str, tuple[bytes, ...]] = {
    "says nothing": (),
    "stops after its headers": (HEADERS,),
    "never ends": (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1024),
}


@contextmanager
def answering(first: bytes, again: bytes) -> Iterator[str]:
    """A server that sends one thing to whoever comes, and then another for good."""
    end = threading.Event()

    def serve(taken: socket.socket) -> None:
        with taken, suppress(OSError):
            taken.sendall(first)
            while not end.wait(0.01):
                taken.sendall(again)

    def accept() -> None:
        with suppress(OSError):
            while True:
                workers.append(
                    threading.Thread(target=serve, args=(server.accept()[0],))
                )
                workers[-1].start()

    workers: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepting = threading.Thread(target=accept)
        accepting.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        end.set()
        server.shutdown(socket.SHUT_RDWR)
        accepting.join()
    for worker in workers:
        worker.join()


@pytest.mark.parametrize("how", SLOW)
def test_a_receiver_that_is_too_slow_is_told_in_the_same_words_however_it_is(
    how: str,
) -> None:
    first, again = (*SLOW[how], b"", b"")[:2]
    with answering(first, again) as url:
        answers = Probe(endpoint=url, answer_within_s=0.2).run()
    assert [one.detail for one in answers] == ["no answer within 0.2 s"] * 2


def test_a_store_that_never_answers_is_waited_for_no_longer_than_was_said() -> None:
    with answering(b"", b"") as url:
        *_, looked = Probe(
            endpoint="http://127.0.0.1:1",
            traces=url,
            within_s=0.0,
            answer_within_s=0.2,
        ).run()
    assert (looked.passed, looked.detail) == (
        False,
        "nothing within 0 s: no answer within 0.2 s",
    )


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_a_wait_that_would_not_end_is_misuse(seconds: str) -> None:
    done = CliRunner().invoke(command, ["probe", "--within", seconds])
    assert done.exit_code == 2
