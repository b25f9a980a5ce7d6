"""Every response that was recorded from a real server, and the payloads in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTURES = Path(__file__).resolve().parent.parent / "captures"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One response, and what was sent to get it.

    Attributes:
        server: the server's name and folder.
        name: of the request, unique for a server.
        path: of the endpoint.
        request: the JSON body that was sent; `None` for a GET.
        status: the HTTP status.
        headers: of the response.
        body: its bytes, transfer coding undone.
        num_spec_tokens: k of the server; 0 where speculation was off.
        whole: whether the body was read to its end.
    """

    server: str
    name: str
    path: str
    request: Json | None
    status: int
    headers: dict[str, str]
    body: bytes
    num_spec_tokens: int
    whole: bool

    def __str__(self) -> str:
        return f"{self.server}/{self.name}"

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def payloads(self) -> list[Json]:
        """The JSON objects of the response: one, or one an event."""
        if not self.is_stream:
            return [json.loads(self.body)]
        return list(_events(self.body))


def _events(body: bytes) -> Iterator[Json]:
    # An aborted capture may end inside an event.
    for line in body.split(b"\n")[:-1]:
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))


@cache
def recorded() -> tuple[Recorded, ...]:
    """Return every recorded response of every server."""
    manifests = sorted(CAPTURES.glob("*/manifest.json"))
    assert manifests, f"no captures in {CAPTURES}"
    return tuple(one for manifest in manifests for one in _of_manifest(manifest))


def _of_manifest(manifest: Path) -> Iterator[Recorded]:
    servers: dict[str, Json] = json.loads(manifest.read_text())
    for server, entry in servers.items():
        for response in entry["responses"]:
            yield Recorded(
                server=server,
                name=response["name"],
                path=response["path"],
                request=response["request"],
                status=response["status"],
                headers=response["headers"],
                body=(manifest.parent / response["file"]).read_bytes(),
                num_spec_tokens=entry["num_spec_tokens"],
                whole="aborted_after_bytes" not in response,
            )


def recorded_like(*, stream: bool, path_end: str) -> list[Recorded]:
    """Return the whole, successful responses of one endpoint."""
    return [
        one
        for one in recorded()
        if one.whole
        and one.status == 200
        and one.is_stream == stream
        and one.path.endswith(path_end)
    ]
