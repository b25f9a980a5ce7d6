"""Which servers answered with acceptance, and which without?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.instrumentation.recorders import meterings_in_use
from otel_specdecode.model import AcceptanceState, Outcome
from otel_specdecode.recording import semconv as names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MOST_NAMED = 3
# Of several choices, and of the Responses API, no server says any.
_APPLICABLE = frozenset(AcceptanceState) - {AcceptanceState.NOT_APPLICABLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """One model of one server, and what its whole answers brought.

    Attributes:
        address: host of the base URL; `None` where the base URL has none.
        port: explicit, or that of the scheme; `None` where neither is known.
        model: the one that was asked for; `None` when none was named.
        num_answers: requests that completed and that servers report acceptance for.
        num_with_acceptance: those of them that had it.
    """

    address: str | None
    port: int | None
    model: str | None
    num_answers: int
    num_with_acceptance: int

    def __str__(self) -> str:
        host = "no host" if self.address is None else f"{self.address}:{self.port}"
        return f"{host}, {self.model or 'no model named'}"


def servers_asked() -> tuple[ServerState, ...]:
    """Return every model of every server that answered this process."""
    answers: dict[tuple[object, ...], int] = {}
    present: dict[tuple[object, ...], int] = {}
    for value, attributes in _completed():
        key = tuple(
            attributes.get(name)
            for name in (names.SERVER_ADDRESS, names.SERVER_PORT, names.REQUEST_MODEL)
        )
        answers[key] = answers.get(key, 0) + value
        if attributes.get(names.ACCEPTANCE) == AcceptanceState.PRESENT:
            present[key] = present.get(key, 0) + value
    return tuple(
        ServerState(
            address=address if isinstance(address, str) else None,
            port=port if isinstance(port, int) else None,
            model=model if isinstance(model, str) else None,
            num_answers=number,
            num_with_acceptance=present.get((address, port, model), 0),
        )
        for (address, port, model), number in answers.items()
    )


def without_acceptance(servers: Iterable[ServerState]) -> str | None:
    """Name those that brought none; `None` when all did, or nothing is known."""
    silent = [str(server) for server in servers if not server.num_with_acceptance]
    if not silent:
        return None
    more = len(silent) - _MOST_NAMED
    listed = [*silent[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return "; ".join(listed)


def _completed() -> Iterable[tuple[int, Mapping[str, object]]]:
    for metering in meterings_in_use():
        for value, attributes in metering.read(names.REQUESTS):
            ended = attributes.get(names.OUTCOME) == Outcome.COMPLETED
            if ended and attributes.get(names.ACCEPTANCE) in _APPLICABLE:
                yield value, attributes
