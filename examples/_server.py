"""The server that the examples ask: yours, or a simulated one that speculates."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.simulator import named_profile, simulate

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where to ask.

    Attributes:
        base_url: ends in `/v1`.
        model: a model that is served there.
        api_key: any word will do where the server wants none.
    """

    base_url: str
    model: str
    api_key: str


@contextmanager
def open_server(profile: str = "mtp") -> Generator[Server]:
    """Give the server of `OPENAI_BASE_URL` and `MODEL`; without, a simulated one."""
    base_url = os.environ.get("OPENAI_BASE_URL")
    api_key = os.environ.get("OPENAI_API_KEY", "unused")
    if base_url:
        model = os.environ.get("MODEL", "spec-demo")
        yield Server(base_url=base_url, model=model, api_key=api_key)
        return
    with simulate(named_profile(profile)) as sim:
        yield Server(base_url=sim.base_url, model=sim.model, api_key=api_key)
