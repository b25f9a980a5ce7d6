"""The routes that do not generate: models, and the simulator's own."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from otel_specdecode.simulator._request import Refused
from otel_specdecode.simulator.ledger import Ledger, Totals

if TYPE_CHECKING:
    from otel_specdecode.simulator.profile import Profile


def models(profile: Profile, created: int) -> dict[str, Any]:
    """What `/v1/models` answers, as vLLM 0.32 does."""
    permission = {
        "id": f"modelperm-{profile.name}",
        "object": "model_permission",
        "created": created,
        "allow_create_engine": False,
        "allow_sampling": True,
        "allow_logprobs": True,
        "allow_search_indices": False,
        "allow_view": True,
        "allow_fine_tuning": False,
        "organization": "*",
        "group": None,
        "is_blocking": False,
    }
    card = {
        "id": profile.model,
        "object": "model",
        "created": created,
        "owned_by": "vllm",
        "root": profile.model,
        "parent": None,
        "max_model_len": profile.max_model_len,
        "permission": [permission],
    }
    return {"object": "list", "data": [card]}


def ledger(account: Ledger) -> dict[str, Any]:
    """The ledger for those who are in another process."""
    return {
        "model": account.model,
        "totals": asdict(account.totals),
        "engines": [asdict(engine) for engine in account.engines],
    }


def foreign_traffic(body: bytes, num_engines: int) -> tuple[int, Totals]:
    """Read `{"engine": 0, "num_output_tokens": 100, ...}`.

    Raises:
        Refused: not an object of the ledger's own counts.
    """
    known = {field.name for field in fields(Totals)}
    try:
        given: dict[str, Any] = json.loads(body)
        engine = int(given.pop("engine", 0))
        by_position = tuple(given.pop("accepted_by_position", ()))
        totals = Totals(**given, accepted_by_position=by_position)
    except (ValueError, TypeError, AttributeError) as error:
        raise Refused(
            f"expected counts among {', '.join(sorted(known))}: {error}"
        ) from error
    if not 0 <= engine < num_engines:
        raise Refused(f"engine: expected 0..{num_engines - 1}, got {engine}")
    return engine, totals


def no_route(*, known: bool) -> Refused:
    """The answer to a path, or a method, that is not served."""
    if known:
        return Refused("Method Not Allowed", status=405, kind="Method Not Allowed")
    return Refused("Not Found", status=404, kind="Not Found")
