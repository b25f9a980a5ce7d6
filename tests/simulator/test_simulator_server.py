"""The server on a real socket: HTTP as clients write it, and clients that misbehave."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator import (
    Profile,
    Simulator,
    Totals,
    named_profile,
    simulate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FAST = replace(named_profile("mtp"), time_scale=0)


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with simulate(_FAST) as simulator:
        yield simulator


@contextmanager
def _connected(sim: Simulator, *, receive_buffer: int = 0) -> Iterator[socket.socket]:
    where = urlsplit(sim.root_url)
    with socket.socket() as connection:
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(30)
        connection.connect((where.hostname, where.port))
        yield connection


def _post(body: dict[str, object], *headers: str, version: str = "1.1") -> bytes:
    raw = json.dumps(body).encode()
    head = [
        f"POST /v1/chat/completions HTTP/{version}",
        "host: x",
        f"content-length: {len(raw)}",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + raw


def _read_until(connection: socket.socket, end: bytes, times: int = 1) -> bytes:
    data = b""
    while data.count(end) < times:
        block = connection.recv(1 << 20)
        assert block, data
        data += block
    return data


def _read_to_end(connection: socket.socket) -> bytes:
    blocks: list[bytes] = []
    while block := connection.recv(1 << 20):
        blocks.append(block)
    return b"".join(blocks)


def _eventually(condition: Callable[[], bool]) -> bool:
    """Wait for what another thread is about to do; true as soon as it has."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if condition():
            return True
        threading.Event().wait(0.005)
    return False


_STREAM = {"messages": [], "max_tokens": 20, "stream": True}
_WHOLE = {"messages": [], "max_tokens": 20}


def test_a_connection_serves_one_request_after_another(sim):
    with _connected(sim) as connection:
        for _ in range(3):
            connection.sendall(_post(_STREAM))
            answer = _read_until(connection, b"0\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"data: [DONE]" in answer


def test_requests_that_are_sent_together_are_answered_in_turn(sim):
    with _connected(sim) as connection:
        connection.sendall(_post(_STREAM) + _post(_WHOLE) + _post(_STREAM))
        answer = _read_until(connection, b"data: [DONE]", times=2)
    first, second, third = answer.split(b"HTTP/1.1 200 OK")[1:]
    assert b"chat.completion.chunk" in first
    assert b'"chat.completion"' in second
    assert b"chat.completion.chunk" in third


def test_any_number_of_requests_may_be_sent_together(sim):
    with _connected(sim) as connection:
        connection.sendall(_post({"messages": [], "max_tokens": 1}) * 1500)
        answer = _read_until(connection, b'"chat.completion"', times=1500)
    assert answer.count(b"HTTP/1.1 200 OK") == 1500


def test_an_old_client_gets_an_answer_that_ends_with_the_connection(sim):
    with _connected(sim) as connection:
        connection.sendall(_post(_STREAM, version="1.0"))
        answer = _read_to_end(connection)
    assert b"transfer-encoding" not in answer
    assert answer.endswith(b"data: [DONE]\n\n")


def test_a_client_that_asks_to_close_is_closed(sim):
    with _connected(sim) as connection:
        connection.sendall(_post(_WHOLE, "connection: close"))
        answer = _read_to_end(connection)
    assert b"connection: close\r\n" in answer
    assert answer.endswith(b"}")


def test_a_body_may_come_in_pieces_and_in_chunks(sim):
    raw = json.dumps(_WHOLE).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
    with _connected(sim) as connection:
        connection.sendall(head + b"transfer-encoding: chunked\r\n\r\n")
        for piece in (raw[:7], raw[7:]):
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")
        assert b" 200 OK" in _read_until(connection, b"}}}")


def test_a_careful_client_is_told_to_go_on(sim):
    request = _post(_WHOLE, "expect: 100-continue")
    head, _, body = request.partition(b"\r\n\r\n")
    with _connected(sim) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert _read_until(connection, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert b" 200 OK" in _read_until(connection, b"}}}")


def test_an_offer_of_another_protocol_is_passed_over(sim):
    upgrade = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\r\n"
    with _connected(sim) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n" + upgrade)
        assert b" 200 OK" in _read_until(connection, b"\r\n\r\n")


def test_what_is_not_http_is_a_bad_request(sim):
    with _connected(sim) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert _read_to_end(connection).startswith(b"HTTP/1.1 400 Bad Request")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /health", b"200 OK"),
        (b"GET /version", b"200 OK"),
        (b"GET /metrics?x=1", b"200 OK"),
        (b"GET /v1/chat/completions", b"405 Method Not Allowed"),
        (b"GET /nowhere", b"404 Not Found"),
    ],
)
def test_routes(sim, request_line, status):
    with _connected(sim) as connection:
        connection.sendall(request_line + b" HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = _read_until(connection, b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"max_tokens": 5}', b""])
def test_a_body_that_cannot_be_read_is_a_bad_request(sim, body):
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
    with _connected(sim) as connection:
        connection.sendall(head + b"content-length: %d\r\n\r\n%b" % (len(body), body))
        answer = _read_until(connection, b"}")
    assert answer.startswith(b"HTTP/1.1 400 Bad Request")
    assert b'"type":"BadRequestError"' in answer


def test_deltas_merge_when_the_client_does_not_keep_up():
    # More than the kernel's own buffers hold.
    num_tokens = 24_000
    body = {"messages": [], "stream": True, "max_tokens": num_tokens}
    with (
        simulate(Profile(time_scale=0)) as sim,
        _connected(sim, receive_buffer=4096) as connection,
    ):
        connection.sendall(_post(body, "connection: close"))
        # Nothing is read until everything is generated.
        assert _eventually(lambda: sim.ledger.totals.num_finished == 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        answer = _read_to_end(connection)
        totals = sim.ledger.totals
    assert totals.num_output_tokens == num_tokens
    assert answer.count(b'"choices":[{') == totals.num_choice_chunks < num_tokens


def test_the_engine_stops_for_a_client_that_left():
    body = {"messages": [], "stream": True, "max_tokens": 10_000}
    with simulate(Profile()) as sim:
        with _connected(sim) as connection:
            connection.sendall(_post(body))
            _read_until(connection, b'"content":"')
        assert _eventually(lambda: len(sim.ledger.entries) == 1)
        (entry,) = sim.ledger.entries
    assert not entry.finished
    assert entry.totals.num_output_tokens < 10_000
    assert 'finished_reason="abort",model_name="spec-demo"} 1.0' in sim.metrics_text()


def test_stopping_drops_streams_that_are_under_way():
    body = {"messages": [], "stream": True, "max_tokens": 10_000}
    with ExitStack() as opened:
        with simulate(Profile()) as sim:
            sockets = [opened.enter_context(_connected(sim)) for _ in range(5)]
            for each in sockets:
                each.sendall(_post(body))
                _read_until(each, b'"content":"')
        for each in sockets:
            assert b"[DONE]" not in _read_to_end(each)
    assert [entry.finished for entry in sim.ledger.entries] == [False] * 5


def test_servers_run_side_by_side_and_leave_no_thread():
    before = threading.active_count()
    with simulate(_FAST) as one, simulate(_FAST) as other:
        with _connected(one) as connection:
            connection.sendall(_post(_WHOLE))
            _read_until(connection, b"}}}")
        assert one.base_url != other.base_url
        assert one.ledger.totals.num_requests == 1
        assert other.ledger.totals == Totals()
    assert threading.active_count() == before


def test_a_port_that_is_taken_is_an_error(sim):
    port = urlsplit(sim.root_url).port
    with (
        pytest.raises(SimulatorError, match=f"cannot bind 127.0.0.1:{port}"),
        simulate(port=port),
    ):
        pass


def test_events_can_be_written_one_by_one():
    with simulate(_FAST, write_each=True) as sim, _connected(sim) as connection:
        connection.sendall(_post(_STREAM))
        answer = _read_until(connection, b"0\r\n\r\n")
        sizes = [line for line in answer.split(b"\r\n") if line.startswith(b"data: ")]
    assert len(sizes) == answer.count(b"data: ")


def test_stopping_twice_is_stopping_once():
    with simulate(_FAST) as sim:
        sim.stop()
    assert sim.ledger.totals == Totals()
