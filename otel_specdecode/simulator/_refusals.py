"""Error answers: vLLM's own, and the forms in which servers refuse an option.

The texts of refusals are those seen in public reports: one-api#1423 (Azure),
new-api#418 (OpenAI), litellm#11696 (pydantic), semantic-kernel#10510 (pointer).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from otel_specdecode.simulator._answer import to_json
from otel_specdecode.simulator.directives import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_specdecode.simulator._request import Body, Refused


def error_body(
    message: str, *, status: int, kind: str, param: str | None = None
) -> bytes:
    """An error object as vLLM writes it: the code is the HTTP status."""
    error = {"message": message, "type": kind, "param": param, "code": status}
    return to_json({"error": error})


def refused_body(refused: Refused) -> bytes:
    """The body for a request that vLLM does not accept."""
    return error_body(
        str(refused), status=refused.status, kind=refused.kind, param=refused.param
    )


def status_body(status: int) -> bytes:
    """The body of an error answer that was asked for by its status."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    kind = phrase.replace(" ", "") + "Error"
    return error_body(f"{phrase} (simulated)", status=status, kind=kind)


def refusal(kind: Refusal, body: Body) -> tuple[int, bytes] | None:
    """Status and body of a refusal; `None` if the request gives no reason for it."""
    if kind is Refusal.ECHO:
        return 422, to_json(_echo(body))
    options: Body | None = body.get("stream_options")
    if options is None:
        return None
    if kind is Refusal.PYDANTIC:
        return 422, to_json(_extra_forbidden(options))
    return 400, to_json(_TEXTS[kind])


def _openai_error(
    message: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
) -> dict[str, Any]:
    error = {"message": message, "type": kind, "param": param, "code": code}
    return {"error": error}


_TEXTS: Mapping[Refusal, dict[str, Any]] = {
    Refusal.AZURE: _openai_error(
        "Unrecognized request argument supplied: stream_options. Please contact us "
        "through an Azure support request if you need it."
    ),
    Refusal.OPENAI: _openai_error(
        "Unknown parameter: 'stream_options'.",
        param="stream_options",
        code="unknown_parameter",
    ),
    # The relay keeps the upstream text, and adds its own type and an id.
    Refusal.ONE_API: _openai_error(
        "Unrecognized request argument supplied: stream_options "
        "(request id: 20240512093011845)",
        kind="one_api_error",
        param="",
    ),
    Refusal.POINTER: {
        "message": "Validation error at #/stream_options: Extra inputs are not "
        "permitted"
    },
}


def _extra_forbidden(options: Body) -> dict[str, Any]:
    field = next(iter(options), "include_usage")
    detail = {
        "type": "extra_forbidden",
        "loc": ["body", "stream_options", field],
        "msg": "Extra inputs are not permitted",
        "input": options.get(field),
    }
    return {"detail": [detail]}


def _echo(body: Body) -> dict[str, Any]:
    """Another field's error, which repeats the whole input with our option in it."""
    detail = {
        "type": "less_than_equal",
        "loc": ["body", "temperature"],
        "msg": "Input should be less than or equal to 2",
        "input": dict(body),
    }
    return {"detail": [detail]}
