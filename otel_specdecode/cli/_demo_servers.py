"""The servers that the demo asks: three simulated ones, or the user's own."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from otel_specdecode.cli._server_address import Address
from otel_specdecode.simulator import Profile, Speculation, named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# vLLM refuses per-request statistics without a speculative method, so the server
# that proves its merging is one that may speculate and finds nothing to draft.
_NOTHING_TO_DRAFT = Profile(
    name="coalescing",
    stream_interval=4,
    speculation=Speculation(
        method="ngram",
        acceptance_by_position=(0.8, 0.7, 0.6, 0.5),
        coverage=0.0,
        min_draft_tokens=2,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One server to ask.

    Attributes:
        name: one word for a column's head.
        description: what it is, in a few words.
        address: for people, and for whatever is printed of it.
        base_url: ends in `/v1`; never shown, since it may hold credentials.
        model: `None` to take the only one that is served.
        api_key: sent as the bearer token; never shown.
        simulated: whether it is ours, on the loopback interface.
    """

    name: str
    description: str
    address: Address
    base_url: str
    model: str | None
    api_key: str
    simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedServer:
    """A profile, and what the demo calls it."""

    profile: Profile
    name: str
    description: str


def simulated_servers(time_scale: float) -> tuple[SimulatedServer, ...]:
    """Return the three servers of the story.

    Args:
        time_scale: factor on every wait; 1 is a server of 49 tokens a second.
    """
    servers = (
        (named_profile("plain"), "plain", "does not speculate"),
        (named_profile("mtp"), "speculating", "MTP, 2 draft tokens a step"),
        (
            _NOTHING_TO_DRAFT,
            "coalescing",
            "n-gram that finds nothing to draft, --stream-interval 4",
        ),
    )
    return tuple(
        SimulatedServer(
            profile=replace(profile, time_scale=time_scale, timing_fields=True),
            name=name,
            description=description,
        )
        for profile, name, description in servers
    )


def start_each(servers: tuple[SimulatedServer, ...]) -> Iterator[Target]:
    """Yield each server while it runs; the one before has stopped by then."""
    for server in servers:
        with _started(server) as target:
            yield target


@contextmanager
def _started(server: SimulatedServer) -> Generator[Target]:
    with simulate(server.profile) as sim:
        yield Target(
            name=server.name,
            description=server.description,
            address=Address.of(sim.base_url, None),
            base_url=sim.base_url,
            model=sim.model,
            api_key="unused",
            simulated=True,
        )


def own_server(
    address: Address, base_url: str, model: str | None, api_key: str | None
) -> Target:
    """Return the user's server."""
    return Target(
        name="your server",
        description=address.shown,
        address=address,
        base_url=base_url,
        model=model,
        # The client insists on a key; servers without one ignore it.
        api_key=api_key or "unused",
        simulated=False,
    )
