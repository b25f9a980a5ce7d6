"""Where the hooks are put: on one client, or on the client classes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

from otel_specdecode.errors import ConfigError
from otel_specdecode.instrumentation._guard import failed
from otel_specdecode.instrumentation.context import current_observation
from otel_specdecode.instrumentation.observation import Setting
from otel_specdecode.instrumentation.options import Options
from otel_specdecode.instrumentation.recorders import recorder_for
from otel_specdecode.instrumentation.requests import (
    observed_request,
    observed_request_async,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

Client = TypeVar("Client")

REQUEST = "request"
PREPARE_REQUEST = "_prepare_request"
"""The one private name of openai that we lean on: a callback, made to be overridden,
that the client calls before each attempt. Without it retries are unknown."""
COPIES = ("copy", "with_options")

_MARK = "__otel_specdecode__"


def wrap(
    client: Client,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    **options: object,
) -> Client:
    """Observe one OpenAI client.

    The same object comes back, and clients made from it by `with_options()` or
    `copy()` are observed as well. Wrapping twice does nothing more.

    Args:
        client: `OpenAI`, `AsyncOpenAI`, an Azure client or a subclass.
        tracer_provider: `None` for the global one.
        meter_provider: `None` for the global one.
        options: fields of `Options`; those not given come from
            `OTEL_SPECDECODE_*` variables.

    Raises:
        ConfigError: `client` is no OpenAI client, or an option is not known.
    """
    if isinstance(client, type):
        raise ConfigError(
            f"client: expected an OpenAI client, got the class {client.__name__};"
            " SpecDecodeInstrumentor().instrument() takes all clients"
        )
    missing = [n for n in (REQUEST, "base_url", *COPIES) if not hasattr(client, n)]
    if missing:
        raise ConfigError(
            f"client: expected an OpenAI client, got {type(client).__name__}"
            f" without {', '.join(missing)}"
        )
    chosen = Options.of(options)
    recorder = recorder_for(tracer_provider, meter_provider, chosen.genai_names)
    hook_client(client, Setting(recorder=recorder, options=chosen))
    return client


def is_wrapped(client: object) -> bool:
    """Say whether this very client was given to `wrap`, or made from such a one."""
    return getattr(vars(client).get(REQUEST), _MARK, False)


def hook_client(client: Any, setting: Setting) -> None:
    """Put the hooks on one client, unless they are there."""
    if is_wrapped(client):
        return
    fields = cast("dict[str, Any]", vars(client))
    fields[REQUEST] = request_hook(client.request, client, setting)
    prepare = getattr(client, PREPARE_REQUEST, None)
    if prepare is not None:
        fields[PREPARE_REQUEST] = attempt_hook(prepare)
    for name in COPIES:
        fields[name] = _copy_hook(getattr(client, name), setting)


def request_hook(
    send: Callable[..., Any], client: Any, setting: Setting
) -> Callable[..., Any]:
    """Return an observed form of a client's bound `request`."""
    asynchronous = is_async(client.__class__)
    observed = observed_request_async if asynchronous else observed_request
    hook = functools.partial(observed, setting, send, client)
    functools.update_wrapper(hook, send)
    setattr(hook, _MARK, True)
    return hook


def attempt_hook(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """Return a form of the client's callback that also notes the attempt.

    The async client awaits what it returns, and gets its own coroutine to await.
    """

    @functools.wraps(prepare)
    def noting(*args: Any, **kwargs: Any) -> Any:
        try:
            observation = current_observation()
            if observation is not None:
                observation.note_attempt((*args, *kwargs.values())[-1])
        except Exception as error:  # noqa: BLE001 (never break the caller)
            failed("noting an attempt", error)
        return prepare(*args, **kwargs)

    return noting


def is_async(client_class: type) -> bool:
    """Say whether the `request` of a class of clients is to be awaited."""
    return any(kind.__name__ == "AsyncAPIClient" for kind in client_class.__mro__)


def _copy_hook(copy: Callable[..., Any], setting: Setting) -> Callable[..., Any]:
    @functools.wraps(copy)
    def copy_observed(*args: Any, **kwargs: Any) -> Any:
        made = copy(*args, **kwargs)
        try:
            hook_client(made, setting)
        except Exception as error:  # noqa: BLE001 (never break the caller)
            failed("wrapping a copied client", error)
        return made

    return copy_observed
