"""What a span is started with: the request, without its content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.instrumentation.callsite import calling_frame
from otel_specdecode.recording import semconv as names

if TYPE_CHECKING:
    from otel_specdecode.instrumentation.observation import Observation


def start_name(observation: Observation) -> str:
    """Return the span's name: the operation, and the model where one is named."""
    view = observation.view
    operation = view.endpoint.operation
    return operation if view.model is None else f"{operation} {view.model}"


def start_attributes(observation: Observation) -> dict[str, str | int | float]:
    """Return the attributes that are known before the request is sent."""
    view, client = observation.view, observation.client
    provider = observation.setting.options.provider_name or client.provider
    attributes: dict[str, str | int | float] = {
        names.OPERATION_NAME: view.endpoint.operation,
        names.PROVIDER_NAME: provider,
    }
    optional = (
        (names.REQUEST_MODEL, view.model),
        (names.SERVER_ADDRESS, client.address),
        (names.SERVER_PORT, client.port),
    )
    attributes.update((name, value) for name, value in optional if value is not None)
    for parameter, name in names.REQUEST_PARAMETERS.items():
        value = view.body.get(parameter)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            attributes[name] = value
    frame = calling_frame()
    if frame is not None:
        attributes[names.CODE_FILE_PATH] = frame.f_code.co_filename
        attributes[names.CODE_LINE_NUMBER] = frame.f_lineno
        attributes[names.CODE_FUNCTION_NAME] = frame.f_code.co_qualname
    return attributes
