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


def identity_attributes(observation: Observation) -> dict[str, str | int]:
    """Return what is asked of whom: the standard attributes known beforehand."""
    view, client = observation.view, observation.client
    attributes: dict[str, str | int] = {
        names.OPERATION_NAME: view.endpoint.operation,
        names.PROVIDER_NAME: observation.setting.options.provider_name
        or client.provider,
    }
    if view.model is not None:
        attributes[names.REQUEST_MODEL] = view.model
    if client.address is not None:
        attributes[names.SERVER_ADDRESS] = client.address
    if client.port is not None:
        attributes[names.SERVER_PORT] = client.port
    return attributes


def start_attributes(observation: Observation) -> dict[str, str | int | float]:
    """Return the attributes of the span that are known before the request is sent."""
    attributes: dict[str, str | int | float] = {**identity_attributes(observation)}
    body = observation.view.body
    for parameter, name in names.REQUEST_PARAMETERS.items():
        if parameter in body:
            value = body[parameter]
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                attributes[name] = value
    frame = calling_frame()
    if frame is not None:
        attributes[names.CODE_FILE_PATH] = frame.f_code.co_filename
        attributes[names.CODE_LINE_NUMBER] = frame.f_lineno
        attributes[names.CODE_FUNCTION_NAME] = frame.f_code.co_qualname
    return attributes
