"""A process that forks while requests are under way: each end is one process's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from callers import Caller, collect
from scripted_wire import Wire, answer

from otel_specdecode import diagnose
from otel_specdecode.instrumentation import abandoned, engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from telemetry import Telemetry

SYNC = Caller("sync")

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="this system does not fork"
)


def in_child(check: Callable[[], object]) -> str:
    """Fork, run a check in the child, and return the text of what it found."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = repr(check())
        except BaseException as error:  # noqa: BLE001
            found = repr(error)
        os.write(writing, found.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


def open_stream(client: Any) -> Any:
    stream = client.chat.completions.create(**SYNC.request(stream=True))
    next(stream)
    return stream


def test_a_parents_open_stream_is_the_parents_to_record(telemetry: Telemetry) -> None:
    held = [open_stream(SYNC.wrapped(Wire(answer), telemetry))]

    def drop() -> object:
        held.clear()
        collect()
        return [span.name for span in telemetry.spans]

    assert in_child(drop) == "[]"
    assert len(list(held[0])) == 3
    assert telemetry.requests() == [("completed", "forced", "present")]


def test_what_a_parent_has_not_recorded_yet_is_not_recorded_twice(
    telemetry: Telemetry,
) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    with abandoned._recording:  # keeps the parent's thread from recording
        held = [open_stream(client)]
        held.clear()
        collect()
        assert in_child(lambda: len(telemetry.spans)) == "0"
    assert telemetry.attributes["specdecode.outcome"] == "abandoned"


def test_a_child_records_its_own_and_starts_at_zero(telemetry: Telemetry) -> None:
    client = SYNC.wrapped(Wire(answer), telemetry)
    client.chat.completions.create(**SYNC.request())
    assert len(telemetry.requests()) == 1

    def own() -> object:
        before = telemetry.requests()
        held = [open_stream(client)]
        held.clear()
        collect()
        return before, telemetry.requests()

    assert in_child(own) == "([], [('abandoned', 'absent', 'absent')])"
    assert telemetry.requests() == [("completed", "requested", "present")]


def test_what_a_parent_holds_open_is_not_under_way_in_its_child(
    telemetry: Telemetry,
) -> None:
    def num_open() -> object:
        return diagnose().num_open

    before = num_open()
    held = open_stream(SYNC.wrapped(Wire(answer), telemetry))
    assert num_open() == before + 1
    assert in_child(num_open) == "0"
    held.close()


def test_a_fork_does_not_wait_for_ever_for_an_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "LONGEST_WAIT_S", 0.01)

    def importing() -> object:
        return engine._importing.locked()

    with engine._importing:
        assert in_child(importing) == "False"
        assert importing()
