"""What a span is started with: the request, without its content."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from otel_specdecode.instrumentation.callsite import calling_frame
from otel_specdecode.recording import semconv as names
from otel_specdecode.recording.exportable import exportable_text, is_exportable_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_specdecode.instrumentation.observation import Observation

# From `start_attributes` to the hook on the client, at least.
_NUM_OWN_FRAMES = 5
_ORDER = {name: rank for rank, name in enumerate(names.REQUEST_PARAMETERS)}


def start_name(observation: Observation) -> str:
    """Return the span's name: the operation, and the model where one is named."""
    view = observation.view
    operation = view.endpoint.operation
    return operation if view.model is None else f"{operation} {view.model}"


def identity_attributes(observation: Observation) -> Mapping[str, str | int]:
    """Return what is asked of whom: the standard attributes known beforehand."""
    view, client = observation.view, observation.client
    return _identity(
        view.endpoint.operation,
        observation.setting.options.provider_name or client.provider,
        view.model,
        client.address,
        client.port,
    )


def start_attributes(observation: Observation) -> dict[str, str | int | float]:
    """Return the attributes of the span that are known before the request is sent."""
    attributes: dict[str, str | int | float] = {**identity_attributes(observation)}
    body = observation.view.body
    asked = body.keys() & _ORDER.keys()
    # In the table's order: of two names for one attribute, the later one counts.
    for parameter in sorted(asked, key=_ORDER.__getitem__):
        value = body[parameter]
        if is_exportable_number(value):
            attributes[names.REQUEST_PARAMETERS[parameter]] = value
    frame = calling_frame(_NUM_OWN_FRAMES)
    if frame is not None:
        attributes[names.CODE_FILE_PATH] = exportable_text(frame.f_code.co_filename)
        attributes[names.CODE_LINE_NUMBER] = frame.f_lineno
        attributes[names.CODE_FUNCTION_NAME] = frame.f_code.co_qualname
    return attributes


# A program asks the same of the same server over and over.
@lru_cache(maxsize=256)
def _identity(
    operation: str,
    provider: str,
    model: str | None,
    address: str | None,
    port: int | None,
) -> Mapping[str, str | int]:
    attributes: dict[str, str | int | None] = {
        names.OPERATION_NAME: operation,
        names.PROVIDER_NAME: provider,
        names.REQUEST_MODEL: model,
        names.SERVER_ADDRESS: address,
        names.SERVER_PORT: port,
    }
    return {name: value for name, value in attributes.items() if value is not None}
