"""What a real vLLM counted: the difference of two readings of ``/metrics``."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Generator

    from vllm_server import Server

_IDLE_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """T, R, D, C and accepted draft tokens by position, in the server's own order.

    ``None`` where the server has no such family, as without speculation.
    """

    output_tokens: int | None
    spec_steps: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    by_position: tuple[int, ...] | None = None

    def __str__(self) -> str:
        text = f"T {self.output_tokens}"
        if self.by_position is None or not self.draft_tokens:
            return text
        share = (self.accepted_tokens or 0) / self.draft_tokens
        return (
            f"{text}, R {self.spec_steps}, D {self.draft_tokens},"
            f" C {self.accepted_tokens} ({share:.1%}), by position {self.by_position}"
        )


@dataclass(slots=True)
class Window:
    """A stretch of time in which this test alone uses the server."""

    counted: Counts | None = None
    finished: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def difference(self) -> Counts:
        """What the server counted between the two readings."""
        assert self.counted is not None, "the window is still open"
        return self.counted


@contextmanager
def window(server: Server) -> Generator[Window]:
    """Read the counters before and after a block, once the server is idle."""
    before = _read(server)
    opened = Window()
    yield opened
    wait_until_idle(server)
    after = _read(server)
    opened.counted = Counts(
        output_tokens=_change(before, after, "vllm:generation_tokens_total"),
        spec_steps=_change(before, after, "vllm:spec_decode_num_drafts_total"),
        draft_tokens=_change(before, after, "vllm:spec_decode_num_draft_tokens_total"),
        accepted_tokens=_change(
            before, after, "vllm:spec_decode_num_accepted_tokens_total"
        ),
        by_position=_change_by_position(before, after),
    )
    opened.finished = {
        dict(labels)["finished_reason"]: int(value - before.get((name, labels), 0))
        for (name, labels), value in after.items()
        if name == "vllm:request_success_total"
    }


def wait_until_idle(server: Server) -> None:
    """Return when no request runs or waits: an aborted one may outlive its client."""
    gives_up_at = time.monotonic() + _IDLE_LIMIT_S
    while time.monotonic() < gives_up_at:
        busy = sum(
            value
            for (name, _), value in _read(server).items()
            if name in {"vllm:num_requests_running", "vllm:num_requests_waiting"}
        )
        if busy == 0:
            return
        time.sleep(0.05)
    raise AssertionError(f"the server was not idle after {_IDLE_LIMIT_S:.0f} s")


_Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def _read(server: Server) -> _Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(server.metrics_text())
        for sample in family.samples
    }


def _change(before: _Samples, after: _Samples, name: str) -> int | None:
    changes = [v - before.get(key, 0) for key, v in after.items() if key[0] == name]
    return int(sum(changes)) if changes else None


def _change_by_position(before: _Samples, after: _Samples) -> tuple[int, ...] | None:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    changes = {
        int(dict(labels)["position"]): int(value - before.get((found, labels), 0))
        for (found, labels), value in after.items()
        if found == name
    }
    return tuple(changes[i] for i in sorted(changes)) or None
